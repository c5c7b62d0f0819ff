"""Saves this broker's ZooKeeper session, so that the next start can close it after a kill.

Role        Acts on one small file in the first log directory. A broker that was killed leaves its session behind, and
            with it /brokers/ids/N until the session times out; the next start on the same directory, which holds the
            directory's lock by then, ends that session itself instead of refusing to start or waiting.
Invariants  The file is readable by its owner only: the password lets anyone end the session.
Source      Ours. Apache Kafka refuses to start until the old session has timed out (KAFKA-7165).
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

from kafka_zk.zk.errors import ConnectionTimeout
from kafka_zk.zk.identity import ZkIdentity
from kafka_zk.zk.session import ZkClient, close_session

NAME = ".kafka_zk_session"

log = logging.getLogger("kafka.server.KafkaServer")


class SessionFile:
    """The file in `log_dir`."""

    def __init__(self, log_dir: Path) -> None:
        self._path = log_dir / NAME
        self._written: str | None = None

    def remember(self, zk: ZkClient) -> None:
        """Save the current session of `zk`.

        A failed directory must not keep the broker out of the cluster: without the file a successor only waits.
        """
        session = json.dumps({"session_id": zk.session_id, "password": zk.session_password.hex()})
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(session)
            self._written = session
        except OSError as error:
            log.warning("Cannot save the ZooKeeper session; after a kill it lasts until it times out: %s", error)

    def forget(self) -> None:
        """Delete the file after a clean close. A file already written by a successor stays."""
        try:
            if self._written is not None and self._path.read_text() == self._written:
                self._path.unlink()
        except OSError as error:
            log.warning("Cannot remove %s: %s", self._path, error)

    def end_previous(self, connect: str, identity: ZkIdentity) -> None:
        """Blocks. Close the session of a killed predecessor, if there is one."""
        try:
            session = json.loads(self._path.read_text())
            session_id, password = int(session["session_id"]), bytes.fromhex(session["password"])
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("Cannot read %s; the session of an earlier run lasts until it times out: %s", self._path, error)
            return
        log.info("Closing ZooKeeper session 0x%x, left behind by an earlier run of this broker", session_id)
        try:
            close_session(connect, session_id, password, identity=identity)
        except ConnectionTimeout as error:
            log.warning("Could not close the earlier session: %s", error)
