"""Reads of many znodes: with few requests where the server knows how, one by one where it does not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import gevent
import pytest
from gevent.event import AsyncResult

from kafka_zk import giving_way
from kafka_zk.zk.errors import NoAuth, NoNode
from kafka_zk.zk.operations import Stat
from kafka_zk.zk.session import ZkClient
from tests.simulation.model_kazoo import ModelKazoo, zk_client
from tests.simulation.model_zookeeper import ModelZooKeeper

COUNT = 100
PATHS = [f"/n/{number}" for number in range(COUNT)]


@pytest.fixture
def server() -> ModelZooKeeper:
    made = ModelZooKeeper()
    for path in PATHS:
        made.ensure(path, path.encode())
    return made


@pytest.fixture
def client(server: ModelZooKeeper, monkeypatch: pytest.MonkeyPatch) -> Iterator[ZkClient]:
    made = zk_client(server, monkeypatch)
    yield made
    made.close()


def kazoo_of(client: ZkClient) -> ModelKazoo:
    found: ModelKazoo = client._kazoo
    return found


def data_of(client: ZkClient, paths: list[str]) -> list[bytes | None]:
    return [None if isinstance(found, Exception) else found[0] for found in client.get_many(paths)]


ALL = [path.encode() for path in PATHS]


def test_many_are_read_with_few_requests_of_which_the_first_is_small(client: ZkClient) -> None:
    assert data_of(client, PATHS) == ALL
    assert kazoo_of(client).asked == [PATHS[0], PATHS[16]]


def test_few_are_read_one_by_one(client: ZkClient) -> None:
    assert data_of(client, PATHS[:31]) == ALL[:31]
    assert kazoo_of(client).asked == PATHS[:31]


def test_large_znodes_are_asked_for_few_at_a_time(server: ModelZooKeeper, client: ZkClient) -> None:
    for path in PATHS:
        server.nodes[path].data = b"x" * 40_000
    assert data_of(client, PATHS) == [b"x" * 40_000] * COUNT
    assert kazoo_of(client).asked == [PATHS[0], *PATHS[16::3]]


def test_a_znode_that_cannot_be_read_has_its_own_error(server: ModelZooKeeper, client: ZkClient) -> None:
    server.hidden.add("/n/7")
    found = client.get_many([*PATHS, "/missing"])
    assert isinstance(found[7], NoAuth)
    assert found[7].path == "/n/7"
    assert isinstance(found[-1], NoNode)
    assert str(found[-1]) == "KeeperErrorCode = NoNode for /missing"
    assert [each[0] for each in found if not isinstance(each, Exception)] == ALL[:7] + ALL[8:]
    data, stat = client.get("/n/0")
    assert found[0] == (data, stat)
    assert isinstance(stat, Stat)


def test_the_children_of_many_are_read_with_few_requests(server: ModelZooKeeper, client: ZkClient) -> None:
    server.ensure("/n/0/b")
    server.ensure("/n/0/a")
    found = client.children_many([*PATHS, "/missing"])
    assert found[0] == ["a", "b"]
    assert found[1:-1] == [[]] * (COUNT - 1)
    assert isinstance(found[-1], NoNode)
    assert kazoo_of(client).asked == ["/n/0", "/n/16"]


def test_others_have_turns_while_many_names_are_decoded(client: ZkClient, monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[int] = []

    def work() -> None:
        while True:
            turns.append(1)
            gevent.sleep(0)

    monkeypatch.setattr(giving_way, "SLICE_S", -math.inf)
    other = gevent.spawn(work)
    assert sorted(client.children("/n")) == sorted(str(number) for number in range(COUNT))
    other.kill()
    assert len(turns) > COUNT // 2


@pytest.mark.parametrize("kind", ["data", "children"])
def test_where_one_is_watched_each_is_read_on_its_own(kind: str, server: ModelZooKeeper, client: ZkClient) -> None:
    told: list[str] = []
    client.watch(PATHS[50], kind, lambda: told.append("changed"))  # type: ignore[arg-type]
    read = client.get_many if kind == "data" else client.children_many
    read(PATHS)
    assert kazoo_of(client).asked == PATHS
    server.ensure(f"{PATHS[50]}/child") if kind == "children" else client.set(PATHS[50], b"new")
    assert told == ["changed"]


def test_an_old_server_is_asked_once_only(server: ModelZooKeeper, client: ZkClient) -> None:
    server.knows_multi_read = False
    assert data_of(client, PATHS) == ALL
    assert kazoo_of(client).asked == PATHS
    assert kazoo_of(client).connection_count == 2
    assert client.children_many(PATHS) == [[]] * COUNT
    assert kazoo_of(client).connection_count == 2


def test_a_request_that_is_lost_again_and_again_is_given_up(server: ModelZooKeeper, client: ZkClient) -> None:
    cuts: list[str] = []

    def cut(path: str) -> bool:
        # An old server's answer may be lost with the connection that it closes.
        is_multi = kazoo_of(client).asked.count(path) <= 3 and path == PATHS[0]
        cuts.extend([path] * is_multi)
        return is_multi

    server.cut_read = cut
    assert data_of(client, PATHS) == ALL
    assert len(cuts) == 3
    before = len(kazoo_of(client).asked)
    assert data_of(client, PATHS) == ALL
    assert kazoo_of(client).asked[before:] == PATHS


def test_what_is_lost_with_one_connection_is_read_again_together(server: ModelZooKeeper, client: ZkClient) -> None:
    lost = iter([PATHS[16]])
    server.cut_read = lambda path: path == PATHS[16] and next(lost, None) is not None
    assert data_of(client, PATHS) == ALL
    assert kazoo_of(client).asked == [PATHS[0], PATHS[16], PATHS[16]]


def test_a_known_server_that_loses_one_request_is_asked_for_many_again(
    server: ModelZooKeeper, client: ZkClient
) -> None:
    server.cut_read = lambda path: path == PATHS[16] and kazoo_of(client).asked.count(path) <= 3
    assert data_of(client, PATHS) == ALL
    server.cut_read = lambda path: False
    before = len(kazoo_of(client).asked)
    assert data_of(client, PATHS) == ALL
    assert kazoo_of(client).asked[before:] == [PATHS[0], PATHS[16]]


def test_the_first_such_request_over_each_connection_has_it_to_itself(
    server: ModelZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZooKeeper 3.5 refuses it before it answers what came earlier, and kazoo's session ends."""
    client = zk_client(server, monkeypatch, max_in_flight=2 * COUNT)
    kazoo = kazoo_of(client)
    at_once_exists, at_once_call = kazoo.exists_async, kazoo._call
    under_way: list[str] = []
    met: list[int] = []

    def exists_later(path: str, watch: Any) -> AsyncResult:
        later = AsyncResult()
        under_way.append(path)

        def answer() -> None:
            under_way.remove(path)
            later.set(at_once_exists(path, watch).get())

        gevent.spawn(answer)
        return later

    def call(request: Any, answer: AsyncResult) -> None:
        met.append(len(under_way))
        at_once_call(request, answer)

    monkeypatch.setattr(kazoo, "exists_async", exists_later)
    monkeypatch.setattr(kazoo, "_call", call)
    for _ in range(2):
        other = gevent.spawn(client.exists_many, PATHS)
        gevent.sleep(0)
        assert under_way
        assert data_of(client, PATHS) == ALL
        assert met[0] == 0
        met.clear()
        other.get()
        kazoo.lose_connection(AsyncResult())
        gevent.sleep(0)
