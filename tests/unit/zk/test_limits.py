"""Writes that ZooKeeper does not take: refused before they are sent, or given up after three connections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import gevent
import pytest

from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.zk import entity_configs
from kafka_zk.zk.errors import GivenUp, TooLarge
from kafka_zk.zk.limits import max_request_bytes, request_bytes, room_for_data
from kafka_zk.zk.operations import Check, Create, Delete, Operation, SetData
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import ControllerRegistration, ControllerZNode
from tests.simulation.model_kazoo import ModelKazoo, zk_client
from tests.simulation.model_zookeeper import Cut, ModelZooKeeper

MAX_BYTES = 100_000


@pytest.fixture
def server() -> ModelZooKeeper:
    made = ModelZooKeeper().with_kafka_paths()
    made.ensure("/controller", ControllerZNode.encode(ControllerRegistration(1, 0)))
    made.ensure("/n", b"old")
    return made


@pytest.fixture
def client(server: ModelZooKeeper, monkeypatch: pytest.MonkeyPatch) -> Iterator[ZkClient]:
    made = zk_client(server, monkeypatch, max_request_bytes=MAX_BYTES)
    yield made
    made.close()


def kazoo_of(client: ZkClient) -> ModelKazoo:
    found: ModelKazoo = client._kazoo
    return found


def refuses(limit_bytes: int) -> object:
    """An ensemble that closes the connection of whoever sends more."""

    def cut(operations: Sequence[Operation]) -> Cut | None:
        return Cut.BEFORE if request_bytes(operations) > limit_bytes else None

    return cut


def test_a_value_that_zookeeper_cannot_take_is_refused_in_words_and_not_sent(client: ZkClient) -> None:
    large = b"x" * MAX_BYTES
    for write in (
        lambda: client.create("/m", large),
        lambda: client.set("/n", large, 0),
        lambda: client.multi([Check("/n", 0), SetData("/n", large)]),
        lambda: client.multi_many([[SetData("/n", b"small")], [Delete("/n"), Create("/m", large)]]),
    ):
        with pytest.raises(TooLarge, match=r"/[nm] is too large for ZooKeeper: writing it takes 100\d+ bytes") as error:
            write()
        assert error.value.code is ErrorCode.INVALID_REQUEST
    assert all(sum(len(getattr(o, "data", None) or b"") for o in sent) < 10 for sent in kazoo_of(client).sent)
    assert kazoo_of(client).connection_count == 1


def test_what_just_fits_is_sent(client: ZkClient) -> None:
    data = b"x" * room_for_data("/n", max_bytes=MAX_BYTES)
    assert client.set("/n", data).version == 1
    assert isinstance(client.multi([Check("/n", 1), SetData("/n", data)])[0], bool)


def test_configs_that_are_too_large_are_refused_and_the_others_stay(client: ZkClient) -> None:
    with pytest.raises(TooLarge, match="/config/topics/t"):
        entity_configs.change_entity_config(client, "topics/t", lambda found: {"a": "x" * MAX_BYTES})
    entity_configs.change_entity_config(client, "topics/t", lambda found: {"a": "b"})
    assert entity_configs.entity_config(client, "topics/t") == {"a": "b"}


def test_a_large_write_that_took_three_connections_is_given_up(server: ModelZooKeeper, client: ZkClient) -> None:
    server.cut = refuses(50_000)  # type: ignore[assignment]
    zk_version = client.get("/n")[1].version
    with pytest.raises(GivenUp, match="closed 3 connections on the write of /n, 6"):
        client.set("/n", b"x" * 60_000, zk_version)
    assert kazoo_of(client).connection_count == 4
    assert len(kazoo_of(client).sent) == 3
    assert client.get("/n")[0] == b"old"


def test_what_is_on_its_way_beside_it_is_not_given_up(server: ModelZooKeeper, client: ZkClient) -> None:
    server.cut = refuses(50_000)  # type: ignore[assignment]
    large = [gevent.spawn(client.create, f"/large{number}", b"x" * 60_000) for number in range(3)]
    fitting = [gevent.spawn(client.create, f"/fits{number}", b"x" * 30_000) for number in range(3)]
    small = [gevent.spawn(client.create, f"/small{number}", b"x") for number in range(20)]
    gevent.joinall([*large, *fitting, *small], timeout=20)
    assert [type(greenlet.exception) for greenlet in large] == [GivenUp] * 3
    assert [greenlet.value for greenlet in fitting] == [f"/fits{number}" for number in range(3)]
    assert [greenlet.value for greenlet in small] == [f"/small{number}" for number in range(20)]


def test_a_small_write_is_tried_for_ever(server: ModelZooKeeper, client: ZkClient) -> None:
    losses = iter([Cut.BEFORE] * 7)
    server.cut = lambda operations: next(losses, None)
    zk_version = client.get("/n")[1].version
    assert client.set("/n", b"new", zk_version).version == 1
    assert kazoo_of(client).connection_count == 8


@pytest.mark.parametrize(
    ("options", "bytes_"),
    [
        ("", 1_048_575),
        ("-Xmx1g -Djute.maxbuffer=4194304", 4_194_304),
        ("-Djute.maxbuffer=0x400000 -Da=b", 4_194_304),
        ("-Djute.maxbuffer=1 -Djute.maxbuffer=2097152", 2_097_152),
        ("-Djute.maxbuffer=many", 1_048_575),
    ],
)
def test_the_ensembles_limit_is_told_as_to_apaches_programs(options: str, bytes_: int) -> None:
    assert max_request_bytes({"KAFKA_OPTS": options}) == bytes_
