"""A ZooKeeper that is older than what we ask of newer ones."""

from __future__ import annotations

from pathlib import Path

import gevent
import gevent.event

from kafka_zk.zk.operations import Create
from kafka_zk.zk.session import ZkClient
from tests.support.maven import ZOOKEEPER_3_5, jars
from tests.support.zookeeper import EmbeddedZooKeeper

COUNT = 2_000
PATHS = [f"/n{number}" for number in range(COUNT)]


def test_zookeeper_3_5_is_asked_once_for_many_znodes_and_the_session_stays(tmp_path: Path) -> None:
    """It refuses before it answers what came earlier: nothing else may be under way then."""
    server = EmbeddedZooKeeper(tmp_path, home=jars(ZOOKEEPER_3_5).parent)
    server.start()
    client = ZkClient(f"{server.connect}/old", session_timeout_ms=10_000, connection_timeout_ms=30_000)
    states: list[str] = []
    try:
        client.start()
        client.multi_many([Create(path, path.encode())] for path in PATHS)
        client.on_state_change(states.append)
        is_over = gevent.event.Event()

        def ask_for_ever() -> None:
            while not is_over.is_set():
                assert None not in client.exists_many(PATHS[:50])

        others = [gevent.spawn(ask_for_ever) for _ in range(4)]
        gevent.sleep(0)
        for _ in range(3):
            found = client.get_many(PATHS)
            assert [answer[0] for answer in found if isinstance(answer, tuple)] == [path.encode() for path in PATHS]
        assert client.children_many(PATHS) == [[]] * COUNT
        is_over.set()
        gevent.joinall(others, raise_error=True)
        assert states == ["DISCONNECTED", "CONNECTED"]
        assert client.generation == 1
    finally:
        client.close()
        server.stop()
