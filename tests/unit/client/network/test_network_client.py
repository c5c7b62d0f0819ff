"""Requests by node id, on connections that come and go."""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_zk.client.addresses import Address, resolve
from kafka_zk.client.errors import DisconnectException, TimeoutException
from kafka_zk.client.network.backoff import ExponentialBackoff
from kafka_zk.client.network.cluster_snapshot import Node
from kafka_zk.client.network.metadata import ClusterMetadata, MetadataSettings
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.client.network.node_connection import State
from kafka_zk.client.network.settings import NetworkSettings
from kafka_zk.clock import Clock, SimClock, SystemClock
from kafka_zk.protocol.errors import UnsupportedVersion
from kafka_zk.protocol.messages.list_groups import (
    LIST_GROUPS_REQUEST,
    LIST_GROUPS_RESPONSE,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kafka_zk.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, ScriptedBroker

METADATA_KEY = 3
LIST_GROUPS_KEY = 16
VERSIONS = {METADATA_KEY: (0, 12), API_VERSIONS_KEY: (0, 4), LIST_GROUPS_KEY: (0, 4)}
PATIENCE_S = 20


def backoff(first_ms: int = 1, longest_ms: int = 1) -> ExponentialBackoff:
    return ExponentialBackoff(first_ms, longest_ms, lambda: 0.5)


def settings(**changes: Any) -> NetworkSettings:
    values: dict[str, Any] = {
        "client_id": "test",
        "log_prefix": "Test clientId=test",
        "request_timeout_ms": 20_000,
        "max_idle_ms": 600_000,
        "reconnect_backoff": backoff(),
        "setup_timeout": backoff(20_000, 20_000),
    }
    return NetworkSettings(**{**values, **changes})


class Calls:
    """What became of the requests of a test."""

    def __init__(self, client: NetworkClient) -> None:
        self.client = client
        self.outcomes: list[Any] = []

    def list_groups(self, node_id: int, **options: Any) -> None:
        self.client.send(
            node_id,
            LIST_GROUPS_REQUEST,
            LIST_GROUPS_RESPONSE,
            lambda version: ListGroupsRequest(),
            self.outcomes.append,
            self.outcomes.append,
            **options,
        )

    def wait_for(self, count: int) -> list[Any]:
        poll_until(self.client, lambda: len(self.outcomes) >= count)
        return self.outcomes


def poll_until(client: NetworkClient, condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, f"not in time: {client}"
        client.poll(1)


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker({LIST_GROUPS_KEY: lambda *_: ListGroupsResponse()}, versions=VERSIONS) as broker:
        broker.handlers[METADATA_KEY] = lambda *_: MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=1, host=broker.host, port=broker.port)], controller_id=1
        )
        yield broker


def client_of(*addresses: Address, clock: Clock | None = None, **changes: Any) -> NetworkClient:
    metadata = ClusterMetadata(addresses, MetadataSettings(300_000, backoff()))
    return NetworkClient(settings(**changes), metadata, clock=clock)


@pytest.fixture
def client(broker: ScriptedBroker) -> Iterator[NetworkClient]:
    client = client_of(Address(broker.host, broker.port))
    yield client
    client.close()


def test_polling_learns_the_brokers_from_a_bootstrap_server(client: NetworkClient, broker: ScriptedBroker) -> None:
    poll_until(client, lambda: client.metadata.has_answer)
    assert list(client.metadata.snapshot.nodes) == [1]
    assert client.metadata.snapshot.controller_id == 1


def test_a_request_connects_and_is_answered(client: NetworkClient, broker: ScriptedBroker) -> None:
    poll_until(client, lambda: client.metadata.has_answer)
    calls = Calls(client)
    calls.list_groups(1)
    assert calls.wait_for(1) == [ListGroupsResponse()]
    assert broker.seen[-1] == (LIST_GROUPS_KEY, 4)


def test_answers_come_in_the_order_of_the_requests(client: NetworkClient, broker: ScriptedBroker) -> None:
    poll_until(client, lambda: client.metadata.has_answer)
    codes = iter(range(20))
    broker.handlers[LIST_GROUPS_KEY] = lambda *_: ListGroupsResponse(error_code=next(codes))
    calls = Calls(client)
    for _ in range(20):
        calls.list_groups(1)
    assert [answer.error_code for answer in calls.wait_for(20)] == list(range(20))
    assert client.in_flight_count() == 0


def test_an_unknown_node_fails_at_the_next_poll(client: NetworkClient) -> None:
    calls = Calls(client)
    calls.list_groups(77)
    assert calls.outcomes == []
    client.poll(0)
    (error,) = calls.outcomes
    assert isinstance(error, DisconnectException)
    assert str(error) == "Node 77 is not known"


def test_a_node_of_ones_own_has_its_own_connection(client: NetworkClient, broker: ScriptedBroker) -> None:
    client.add_node(Node(2**31 - 2, Address(broker.host, broker.port)))
    calls = Calls(client)
    calls.list_groups(2**31 - 2)
    assert calls.wait_for(1) == [ListGroupsResponse()]


def test_an_api_that_the_broker_has_not_is_an_error_of_the_request_alone(broker: ScriptedBroker) -> None:
    versions = {key: range_ for key, range_ in VERSIONS.items() if key != LIST_GROUPS_KEY}
    with ScriptedBroker(broker.handlers, versions=versions) as old:
        client = client_of(Address(old.host, old.port))
        calls = Calls(client)
        calls.list_groups(-1)
        (error,) = calls.wait_for(1)
        assert isinstance(error, UnsupportedVersion)
        assert str(error) == "The node does not support LIST_GROUPS"
        client.close()


def test_a_broker_too_old_for_our_api_versions_is_asked_again(broker: ScriptedBroker) -> None:
    with ScriptedBroker(broker.handlers, versions={**VERSIONS, API_VERSIONS_KEY: (0, 0)}) as old:
        client = client_of(Address(old.host, old.port))
        calls = Calls(client)
        calls.list_groups(-1)
        assert calls.wait_for(1) == [ListGroupsResponse()]
        assert old.seen[:2] == [(API_VERSIONS_KEY, 4), (API_VERSIONS_KEY, 0)]
        client.close()


def test_a_lost_connection_fails_what_was_given_to_it_and_the_next_request_connects_anew(
    client: NetworkClient, broker: ScriptedBroker
) -> None:
    poll_until(client, lambda: client.metadata.has_answer)
    broker.handlers[LIST_GROUPS_KEY] = lambda *_: None
    calls = Calls(client)
    calls.list_groups(1)
    calls.list_groups(1)
    assert [type(error) for error in calls.wait_for(2)] == [DisconnectException] * 2
    broker.handlers[LIST_GROUPS_KEY] = lambda *_: ListGroupsResponse()
    calls.list_groups(1)
    assert calls.wait_for(3)[2] == ListGroupsResponse()


def test_a_lost_connection_makes_the_metadata_be_asked_for_again(client: NetworkClient, broker: ScriptedBroker) -> None:
    poll_until(client, lambda: client.metadata.has_answer)
    broker.handlers[LIST_GROUPS_KEY] = lambda *_: None
    before = client.metadata.update_count
    Calls(client).list_groups(1)
    poll_until(client, lambda: client.metadata.update_count > before)


def test_a_broker_that_does_not_answer_in_time_is_left(client: NetworkClient, broker: ScriptedBroker) -> None:
    poll_until(client, lambda: client.metadata.has_answer)
    go_on = threading.Event()

    def stall(*_: Any) -> ListGroupsResponse:
        go_on.wait(PATIENCE_S)
        return ListGroupsResponse()

    broker.handlers[LIST_GROUPS_KEY] = stall
    calls = Calls(client)
    calls.list_groups(1, timeout_ms=300)
    calls.list_groups(1)
    first, second = calls.wait_for(2)
    go_on.set()
    assert [type(first), type(second)] == [TimeoutException] * 2
    assert str(first) == "Disconnected from node 1 due to timeout"


def test_an_answer_that_waited_for_a_slow_program_is_not_overdue(broker: ScriptedBroker) -> None:
    clock = SimClock()
    client = client_of(Address(broker.host, broker.port), clock=clock)
    poll_until(client, lambda: client.metadata.has_answer)
    go_on = threading.Event()

    def stall(*_: Any) -> ListGroupsResponse:
        go_on.wait(PATIENCE_S)
        return ListGroupsResponse()

    broker.handlers[LIST_GROUPS_KEY] = stall
    calls = Calls(client)
    calls.list_groups(1)
    deadline_s = time.monotonic() + PATIENCE_S
    while (LIST_GROUPS_KEY, 4) not in broker.seen:
        assert time.monotonic() < deadline_s
        client.poll(0.01)
    go_on.set()
    assert client._selector.select(PATIENCE_S), "the answer is there, and nobody has looked at it"
    clock.advance(60_000)
    client.poll(0)
    assert calls.outcomes == [ListGroupsResponse()]
    client.close()


def test_values_that_cannot_be_written_are_an_error_of_the_request_alone(client: NetworkClient) -> None:
    poll_until(client, lambda: client.metadata.has_answer)
    calls = Calls(client)

    def build(_: int) -> ListGroupsRequest:
        raise ValueError("no such value")

    client.send(1, LIST_GROUPS_REQUEST, LIST_GROUPS_RESPONSE, build, calls.outcomes.append, calls.outcomes.append)
    calls.list_groups(1)
    error, answer = calls.wait_for(2)
    assert (str(error), answer) == ("no such value", ListGroupsResponse())


def test_while_no_known_broker_can_be_reached_a_poll_waits(broker: ScriptedBroker) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and listens not
        gone = MetadataResponseBroker(node_id=2, host="127.0.0.1", port=nobody.getsockname()[1])
        broker.handlers[METADATA_KEY] = lambda *_: MetadataResponse(brokers=[gone])
        client = client_of(Address(broker.host, broker.port), reconnect_backoff=backoff(60_000, 60_000))
        poll_until(client, lambda: client.metadata.has_answer)
        calls = Calls(client)
        calls.list_groups(2)
        calls.wait_for(1)
        while client.metadata.ms_until_update(SystemClock().monotonic_ms()) > 0:
            time.sleep(0.001)
        began_s = time.monotonic()
        client.poll(0.1)  # the connection to the bootstrap server is no reason to come back at once
        assert time.monotonic() - began_s >= 0.09
        client.close()


def test_nobody_there_fails_and_is_left_alone_for_the_backoff() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    client = client_of(Address("127.0.0.1", port), reconnect_backoff=backoff(60_000, 60_000))
    calls = Calls(client)
    calls.list_groups(-1)
    (error,) = calls.wait_for(1)
    assert isinstance(error, DisconnectException)
    assert client.is_unavailable(-1)
    assert not client.ready(-1)
    assert client.least_loaded_node() is None
    client.close()


def test_no_more_requests_are_under_way_than_allowed(broker: ScriptedBroker) -> None:
    client = client_of(Address(broker.host, broker.port), max_in_flight=1)
    go_on = threading.Event()

    def stall(*_: Any) -> ListGroupsResponse:
        go_on.wait(PATIENCE_S)
        return ListGroupsResponse()

    broker.handlers[LIST_GROUPS_KEY] = stall
    poll_until(client, lambda: client.ready(1) if client.metadata.has_answer else False)
    calls = Calls(client)
    calls.list_groups(1)
    assert not client.ready(1)
    calls.list_groups(1)
    assert client.in_flight_count(1) == 2
    go_on.set()
    assert len(calls.wait_for(2)) == 2
    assert client.ready(1)
    client.close()


def test_wakeup_ends_a_poll_from_another_thread_and_the_next_poll_waits_again(client: NetworkClient) -> None:
    poll_until(client, lambda: client.metadata.has_answer)
    for _ in range(3):
        threading.Timer(0.01, client.wakeup).start()
        began_s = time.monotonic()
        client.poll(PATIENCE_S)
        assert time.monotonic() - began_s < PATIENCE_S / 2


def test_a_wakeup_before_the_poll_is_not_lost(client: NetworkClient) -> None:
    poll_until(client, lambda: client.metadata.has_answer)
    client.wakeup()
    client.wakeup()
    began_s = time.monotonic()
    client.poll(PATIENCE_S)
    assert time.monotonic() - began_s < PATIENCE_S / 2


def test_closing_gives_every_request_its_outcome_and_warns_of_nothing(
    client: NetworkClient, broker: ScriptedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    calls = Calls(client)
    calls.list_groups(-1)
    client.close()
    assert [str(error) for error in calls.outcomes] == ["The client was closed."]
    assert "could not be established" not in caplog.text
    calls.list_groups(-1)
    client.close()


def test_an_unused_connection_is_closed_after_its_time(broker: ScriptedBroker) -> None:
    client = client_of(Address(broker.host, broker.port), max_idle_ms=50)
    calls = Calls(client)
    calls.list_groups(-1)
    calls.wait_for(1)
    deadline_s = time.monotonic() + PATIENCE_S
    while "READY" in repr(client) or " ready " in repr(client):
        assert time.monotonic() < deadline_s
        client.poll(0.05)
    client.close()


def test_a_pause_is_not_shortened_by_a_later_answer(broker: ScriptedBroker) -> None:
    client = client_of(Address(broker.host, broker.port), clock=SimClock())
    poll_until(client, lambda: client.metadata.has_answer)
    pauses = iter([5000, 100])
    broker.handlers[LIST_GROUPS_KEY] = lambda *_: ListGroupsResponse(throttle_time_ms=next(pauses))
    calls = Calls(client)
    for _ in range(2):
        calls.list_groups(1)
    calls.wait_for(2)
    assert client.retry_wait_ms(1) == 5000
    client.close()


def test_a_connection_that_was_made_while_the_program_was_away_is_used(broker: ScriptedBroker) -> None:
    """It was there in time; nobody looked. ApiVersions is asked from then on, and has a request's time."""
    clock = SimClock()
    client = client_of(Address(broker.host, broker.port), clock=clock)
    assert not client.ready(-1)
    assert client._selector.select(PATIENCE_S), "the connection is there"
    clock.advance(20_001)
    client.poll(0)
    assert client.connection_count() == 1
    poll_until(client, lambda: client.ready(-1))
    client.close()


def test_a_connection_that_is_not_ready_in_time_is_given_up() -> None:
    clock = SimClock()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = client_of(Address("127.0.0.1", silent.getsockname()[1]), clock=clock)
        calls = Calls(client)
        calls.list_groups(-1, timeout_ms=100_000)
        poll_until(client, lambda: client._connections[-1].state is State.CHECKING_API_VERSIONS)
        clock.advance(20_000)
        client.poll(0)
        assert [str(each) for each in calls.outcomes] == ["Disconnected from node -1 due to socket setup timeout"]
        client.close()


def test_a_host_is_looked_up_again_when_a_connection_to_it_was_lost(
    client: NetworkClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have moved: the addresses that were found with the last one are not trusted."""
    asked: list[Address] = []

    def found(address: Address) -> list[Any]:
        asked.append(address)
        return resolve(address) * 3

    monkeypatch.setattr("kafka_zk.client.network.node_connection.resolve", found)
    poll_until(client, lambda: client.metadata.has_answer)
    for times in (1, 2):
        asked.clear()
        calls = Calls(client)
        calls.list_groups(1)
        assert calls.wait_for(1) == [ListGroupsResponse()]
        assert len(asked) == 1, times
        client.disconnect(1)


def test_who_cannot_look_a_host_up_tells_the_request_and_serves_the_others(
    client: NetworkClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a free descriptor the resolver cannot read its files, and says so with the error of the system."""
    poll_until(client, lambda: client.metadata.has_answer)
    calls = Calls(client)
    calls.list_groups(1)
    assert calls.wait_for(1) == [ListGroupsResponse()]
    monkeypatch.setattr(socket, "getaddrinfo", no_descriptor)
    client.add_node(Node(9, Address("elsewhere", 1)))
    calls.list_groups(9)
    calls.list_groups(1)
    lost, answered = calls.wait_for(3)[1:]
    assert isinstance(lost, DisconnectException)
    assert answered == ListGroupsResponse()


def no_descriptor(*_: Any, **__: Any) -> Any:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


@pytest.mark.parametrize("host", ["a..b", "x" * 64, "a\0b"])
def test_what_cannot_be_a_name_does_not_resolve(host: str) -> None:
    assert resolve(Address(host, 1)) == []
