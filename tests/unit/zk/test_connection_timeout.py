"""How long a client waits for its first connection: as long as it was told, whatever the thread did before."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import gevent
import pytest

from kafka_zk.zk.errors import ConnectionTimeout
from kafka_zk.zk.session import ZkClient

TIMEOUT_MS = 300


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that accepts connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def a_late_loop() -> None:
    """The loop had its last turn longer ago than the time-out is, as in a thread that worked on something else."""
    gevent.sleep(0.01)  # Not 0: a timer that starts in the turn of callbacks looks at the clock by itself.
    time.sleep(2 * TIMEOUT_MS / 1000)


def test_a_start_waits_as_long_as_it_was_told(silent: str, a_late_loop: None) -> None:
    client = ZkClient(silent, session_timeout_ms=1000, connection_timeout_ms=TIMEOUT_MS)
    began_s = time.monotonic()
    with pytest.raises(ConnectionTimeout):
        client.start()
    assert time.monotonic() - began_s >= TIMEOUT_MS / 1000
