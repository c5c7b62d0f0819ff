"""Brokers that systemd runs: packaging/systemd/kafka-zk@.service, one unit for each id.

Role        Acts, through systemctl.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable

from kafka_zk.tools.common.failures import Refused
from kafka_zk.tools.common.local_cluster.arguments import say


def active(broker_ids: Iterable[int]) -> list[int]:
    """Blocks. Those of the brokers whose units are active. Raises OSError where there is no systemctl."""
    return [each for each in broker_ids if _systemctl("is-active", each).returncode == 0]


def restart(broker_id: int) -> None:
    """Blocks until the broker serves again: the unit's start is over then. Raises Refused, OSError."""
    say(f"Restart {unit(broker_id)}")
    ended = _systemctl("restart", broker_id)
    if ended.returncode != 0:
        raise Refused(f"systemctl restart {unit(broker_id)} failed: {ended.stderr.strip()}")


def unit(broker_id: int) -> str:
    return f"kafka-zk@{broker_id}.service"


def _systemctl(what: str, broker_id: int) -> subprocess.CompletedProcess[str]:
    # In a session of its own: a Ctrl-C must not end it while a broker is stopped.
    command = ["systemctl", what, unit(broker_id)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, start_new_session=True)
