"""Closes the ZooKeeper session at once when this broker is killed, instead of after the timeout.

Role        The broker's side of a pipe to a helper process (session_end.py), which gets each new session.
Invariants  The broker does not depend on the helper; without it a killed broker's session times out, as with Apache's.
Source      Ours; Apache Kafka waits for zookeeper.session.timeout.ms.

The helper is the child, not the parent: the broker keeps the process id, the signals and the exit code that an
operator, systemd or a container sees.
"""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
from pathlib import Path

from kafka_zk.broker.membership.session_end import TLS
from kafka_zk.zk.identity import ANONYMOUS, ZkIdentity

HELPER = Path(__file__).with_name("session_end.py")

log = logging.getLogger("kafka.server.KafkaServer")


class SessionWatch:
    """The helper process, started on construction."""

    def __init__(self, connect: str, *, session_timeout_ms: int, identity: ZkIdentity = ANONYMOUS) -> None:
        """Start the helper. If it cannot be started, log a warning.

        It needs no login: whoever has a session's password may close it. Over TLS it gets the settings of the
        stores through the pipe, and more modules than it has otherwise.
        """
        hosts = connect.partition("/")[0]
        settings = identity.tls_settings
        options = ["-I", "-S"] if settings is None else ["-I"]
        command = [sys.executable, *options, str(HELPER), hosts, str(session_timeout_ms)]
        if settings is not None:
            command += [TLS, *dict.fromkeys(sys.path)]
        self._helper: subprocess.Popen[bytes] | None = None
        try:
            # Detached from the terminal and our output: it must not get a Ctrl-C, nor keep a reader's pipe open.
            self._helper = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            log.warning(
                "Cannot start the session helper; after a kill the ZooKeeper session lasts until it times out: %s",
                error,
            )
        if settings is not None:
            self._tell(f"{pickle.dumps(settings).hex()}\n")

    def guard(self, session_id: int, password: bytes) -> None:
        """Close this session, instead of the previous one, when the broker dies."""
        self._tell(f"{session_id} {password.hex()}\n")

    def release(self) -> None:
        """End the helper after a clean close of the session."""
        self._tell("\n")
        helper, self._helper = self._helper, None
        if helper is None or helper.stdin is None:
            return
        helper.stdin.close()
        try:
            helper.wait(timeout=1)
        except subprocess.TimeoutExpired:
            helper.kill()
            helper.wait()

    def _tell(self, line: str) -> None:
        if self._helper is None or self._helper.stdin is None:
            return
        try:
            self._helper.stdin.write(line.encode())
        except OSError as error:
            log.warning(
                "Lost the session helper; after a kill the ZooKeeper session lasts until it times out: %s", error
            )
            self._helper = None
