"""Dispatch: what is answered, what is closed, and what a failed handler looks like to a client."""

from __future__ import annotations

import json
import random
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.api.all import load
from kafka_zk.api.dispatch import Dispatcher
from kafka_zk.api.error_form import NO_FORM, UNSERVED
from kafka_zk.api.registry import REGISTRY, ApiRegistry, api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.services import Services
from kafka_zk.clock import SimClock
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network.answer_queue import Deferred
from kafka_zk.network.connection import Connection
from kafka_zk.network.errors import CloseConnection
from kafka_zk.network.frames import BufferPool
from kafka_zk.network.parts import Parts
from kafka_zk.network.pending import Pending
from kafka_zk.network.request_metrics import RequestMetrics
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.errors import CoordinatorNotAvailable, ErrorCode
from kafka_zk.protocol.header import encode_request_header
from kafka_zk.protocol.messages.api_versions import API_VERSIONS_REQUEST, API_VERSIONS_RESPONSE, ApiVersionsRequest
from kafka_zk.protocol.messages.heartbeat import (
    HEARTBEAT_REQUEST,
    HEARTBEAT_RESPONSE,
    HeartbeatRequest,
    HeartbeatResponse,
)
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PRODUCE_RESPONSE,
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

GOLDEN_REQUESTS = Path(__file__).parents[2] / "golden" / "error-forms" / "error-forms.jsonl"

HEARTBEAT = 12
PRODUCE = 0


class Host:
    """What a connection reads of its listener when it is made."""

    buffers = BufferPool()
    max_request_bytes = 1000
    listener_name = "PLAINTEXT"
    security_protocol = "PLAINTEXT"
    unsent_limit = 1 << 20


@pytest.fixture
def connection() -> Iterator[Connection]:
    host: Any = Host()
    with socket.socket() as ours:
        yield Connection(ours, "127.0.0.1", 4711, host, 0)


def given(
    handler: Callable[[Any, RequestContext], Any], key: int = HEARTBEAT, **services: Any
) -> tuple[Dispatcher, MetricsRegistry]:
    registry = ApiRegistry()
    served = load().get(key)
    assert served is not None
    registry.add(replace(served, handler=handler))
    if key != 18:
        api(API_VERSIONS_REQUEST, API_VERSIONS_RESPONSE, registry=registry)(handler)
    metrics = MetricsRegistry(SimClock())
    return Dispatcher(Services(**services), registry, RequestMetrics(metrics)), metrics


def frame(key: int, version: int, body: bytes, correlation_id: int = 77) -> memoryview:
    return memoryview(bytearray(encode_request_header(key, version, correlation_id, "client") + body))


def heartbeat(version: int = 4) -> memoryview:
    return frame(HEARTBEAT, version, HEARTBEAT_REQUEST.encode(HeartbeatRequest(group_id="g", member_id="m"), version))


def produce(acks: int) -> memoryview:
    request = ProduceRequest(
        acks=acks,
        topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(index=3, records=b"batch")])],
    )
    return frame(PRODUCE, 9, PRODUCE_REQUEST.encode(request, 9))


def body_of(parts: Parts | Deferred, *, flexible: bool) -> bytes:
    """Check size and correlation id; the encoded response."""
    assert isinstance(parts, list)
    data = b"".join(part for part in parts if isinstance(part, bytes))
    size, correlation_id = struct.unpack_from(">ii", data)
    assert (size, correlation_id) == (len(data) - 4, 77)
    return data[9:] if flexible else data[8:]


def test_an_answer_carries_the_correlation_id_and_the_form_of_its_version(connection: Connection) -> None:
    dispatcher, _ = given(lambda request, ctx: HeartbeatResponse(error_code=0))
    for version in range(5):
        body = body_of(dispatcher.handle(heartbeat(version), connection), flexible=version >= 4)
        assert HEARTBEAT_RESPONSE.decode(body, version) == HeartbeatResponse()


def test_a_handler_learns_who_asks_and_how(connection: Connection) -> None:
    seen: list[tuple[Any, ...]] = []

    def handler(request: Any, ctx: RequestContext) -> HeartbeatResponse:
        seen.append(
            (request.group_id, ctx.api_version, ctx.client_id, ctx.client_host, ctx.listener_name, ctx.principal)
        )
        return HeartbeatResponse()

    given(handler)[0].handle(heartbeat(3), connection)
    assert seen == [("g", 3, "client", "127.0.0.1", "PLAINTEXT", "User:ANONYMOUS")]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (frame(HEARTBEAT, 5, b""), "unsupported version 5"),
        (frame(HEARTBEAT, -1, b""), "unsupported version -1"),
        (frame(21, 0, b""), "not enabled"),
        (memoryview(struct.pack(">hhih", 999, 0, 1, -1)), "Unknown API key 999"),
        (memoryview(b""), "Error parsing request header"),
        (memoryview(b"\0\x0c\0"), "Error parsing request header"),
        (frame(HEARTBEAT, 4, b"\x02"), "Error getting request for apiKey: Heartbeat, apiVersion: 4"),
    ],
)
def test_what_cannot_be_understood_ends_the_connection(connection: Connection, bad: memoryview, reason: str) -> None:
    dispatcher, _ = given(lambda request, ctx: pytest.fail("handled"))
    with pytest.raises(CloseConnection, match=reason):
        dispatcher.handle(bad, connection)


def test_rule_83_an_unknown_version_of_api_versions_is_told_the_known_ones(connection: Connection) -> None:
    dispatcher, _ = given(lambda request, ctx: pytest.fail("handled"))
    body = body_of(dispatcher.handle(frame(18, 99, b"\x05whatever"), connection), flexible=False)
    assert body == struct.pack(">hihhh", ErrorCode.UNSUPPORTED_VERSION, 1, 18, 0, 4)


def test_a_broker_error_becomes_the_error_form(connection: Connection) -> None:
    def handler(request: Any, ctx: RequestContext) -> HeartbeatResponse:
        raise CoordinatorNotAvailable

    body = body_of(given(handler)[0].handle(heartbeat(), connection), flexible=True)
    assert HEARTBEAT_RESPONSE.decode(body, 4).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_bug_becomes_code_minus_one_and_leaves_a_trace(
    connection: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    body = body_of(given(lambda request, ctx: 1 // 0)[0].handle(heartbeat(), connection), flexible=True)
    assert HEARTBEAT_RESPONSE.decode(body, 4).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert "ZeroDivisionError" in caplog.text


def test_a_response_that_cannot_be_encoded_is_a_bug_like_any_other(connection: Connection) -> None:
    dispatcher, _ = given(lambda request, ctx: HeartbeatResponse(error_code=1 << 20))
    body = body_of(dispatcher.handle(heartbeat(), connection), flexible=True)
    assert HEARTBEAT_RESPONSE.decode(body, 4).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_failed_produce_without_acks_ends_the_connection(connection: Connection) -> None:
    def handler(request: Any, ctx: RequestContext) -> ProduceResponse:
        raise CoordinatorNotAvailable

    dispatcher, _ = given(handler, PRODUCE)
    with pytest.raises(CloseConnection, match="correlation id 77 from client id client with ack=0"):
        dispatcher.handle(produce(acks=0), connection)
    body = body_of(dispatcher.handle(produce(acks=1), connection), flexible=True)
    (topic,) = PRODUCE_RESPONSE.decode(body, 9).responses
    (partition,) = topic.partition_responses
    assert (topic.name, partition.index, partition.error_code) == ("t", 3, ErrorCode.COORDINATOR_NOT_AVAILABLE)


def test_a_handler_without_an_answer_sends_nothing(connection: Connection) -> None:
    assert given(lambda request, ctx: None, PRODUCE)[0].handle(produce(acks=0), connection) == []


def test_a_pending_answer_is_encoded_when_it_comes(connection: Connection) -> None:
    pending: Pending[HeartbeatResponse] = Pending()
    answer = given(lambda request, ctx: pending)[0].handle(heartbeat(), connection)
    assert isinstance(answer, Deferred)
    assert not answer.is_done
    assert not answer.lets_next_start
    pending.complete(HeartbeatResponse(error_code=27))
    assert HEARTBEAT_RESPONSE.decode(body_of(answer.value, flexible=True), 4).error_code == 27


def test_a_pending_that_fails_becomes_the_error_form(connection: Connection) -> None:
    pending: Pending[HeartbeatResponse] = Pending()
    answer = given(lambda request, ctx: pending)[0].handle(heartbeat(), connection)
    assert isinstance(answer, Deferred)
    pending.fail(CoordinatorNotAvailable())
    code = HEARTBEAT_RESPONSE.decode(body_of(answer.value, flexible=True), 4).error_code
    assert code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_an_unanswered_produce_lets_the_next_request_start_and_drops_its_records(connection: Connection) -> None:
    requests: list[Any] = []
    pending: Pending[ProduceResponse] = Pending()

    def handler(request: Any, ctx: RequestContext) -> Pending[ProduceResponse]:
        requests.append(request)
        assert bytes(request.topic_data[0].partition_data[0].records) == b"batch"
        return pending

    answer = given(handler, PRODUCE)[0].handle(produce(acks=-1), connection)
    assert isinstance(answer, Deferred)
    assert answer.lets_next_start
    assert requests[0].topic_data[0].partition_data[0].records is None


def test_a_quota_puts_its_delay_into_the_answer(connection: Connection) -> None:
    class Quota:
        def throttle_ms(self, *asked: Any) -> int:
            return 250

    dispatcher, _ = given(lambda request, ctx: HeartbeatResponse(), quotas=Quota())
    body = body_of(dispatcher.handle(heartbeat(), connection), flexible=True)
    assert HEARTBEAT_RESPONSE.decode(body, 4).throttle_time_ms == 250


def test_a_bug_in_a_late_answer_ends_its_connection_and_spares_whoever_settled(connection: Connection) -> None:
    class Quota:
        def throttle_ms(self, *asked: Any) -> int:
            raise RuntimeError("a bug in the quotas")

    pending: Pending[HeartbeatResponse] = Pending()
    answer = given(lambda request, ctx: pending, quotas=Quota())[0].handle(heartbeat(), connection)
    assert isinstance(answer, Deferred)
    pending.complete(HeartbeatResponse())
    assert isinstance(answer.error, RuntimeError)


def test_damaged_requests_are_answered_or_end_their_connection_and_nothing_else(
    connection: Connection, chance: random.Random
) -> None:
    """Every API fails, so every request that can still be read must find its error form."""

    def refuse(request: Any, ctx: RequestContext) -> Any:
        raise CoordinatorNotAvailable

    registry = ApiRegistry()
    for known in API_TABLE.values():
        served = load().get(known.key)
        forms = UNSERVED.get(known.key, NO_FORM) if served is None else served.errors
        api(known.request, known.response, errors=forms, registry=registry)(refuse)
    dispatcher = Dispatcher(Services(), registry)
    outcomes = {"answered": 0, "closed": 0}
    for line in GOLDEN_REQUESTS.read_text().splitlines():
        row = json.loads(line)
        good = bytes(frame(row["api_key"], row["version"], bytes.fromhex(row["request"])))
        for _ in range(10):
            damaged = bytearray(good)
            for _ in range(chance.randrange(4)):
                damaged[chance.randrange(len(damaged))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            del damaged[chance.choice((len(damaged), chance.randrange(len(damaged) + 1))) :]
            try:
                assert isinstance(dispatcher.handle(memoryview(damaged), connection), list)
                outcomes["answered"] += 1
            except CloseConnection:
                outcomes["closed"] += 1
    assert min(outcomes.values()) > 1000, outcomes


def test_nobody_gets_past_a_listener_that_cannot_authenticate(connection: Connection) -> None:
    connection.must_authenticate = True
    dispatcher, _ = given(lambda request, ctx: pytest.fail("handled"))
    for version in (4, 99):
        with pytest.raises(CloseConnection):
            dispatcher.handle(frame(18, version, b"\1\1\0"), connection)


def test_requests_and_their_codes_are_counted(connection: Connection) -> None:
    dispatcher, metrics = given(lambda request, ctx: HeartbeatResponse(error_code=25))
    dispatcher.handle(heartbeat(2), connection)
    dispatcher.handle(heartbeat(4), connection)
    connection.sent_stamp[:] = [1, 1]
    metrics.fold()
    requests = metrics.find("kafka.network:type=RequestMetrics,name=RequestsPerSec", request="Heartbeat", version=2)
    errors = metrics.find(
        "kafka.network:type=RequestMetrics,name=ErrorsPerSec", request="Heartbeat", error="UNKNOWN_MEMBER_ID"
    )
    assert requests is not None and requests.attributes()["Count"] == 1
    assert errors is not None and errors.attributes()["Count"] == 2


@pytest.mark.parametrize(
    ("name", "version", "code"),
    [
        ("apache-kafka-java", "3.9.1", ErrorCode.NONE),
        ("x", "1", ErrorCode.NONE),
        ("", "1", ErrorCode.INVALID_REQUEST),
        ("-starts-badly", "1", ErrorCode.INVALID_REQUEST),
        ("good", "ends badly.", ErrorCode.INVALID_REQUEST),
        ("with\nline", "1", ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_client_that_cannot_name_itself_gets_no_list(
    connection: Connection, name: str, version: str, code: ErrorCode
) -> None:
    dispatcher = Dispatcher(Services(), REGISTRY)
    request = ApiVersionsRequest(client_software_name=name, client_software_version=version)
    body = body_of(dispatcher.handle(frame(18, 4, API_VERSIONS_REQUEST.encode(request, 4)), connection), flexible=False)
    response = API_VERSIONS_RESPONSE.decode(body, 4)
    assert response.error_code == code
    assert bool(response.api_keys) == (code is ErrorCode.NONE)
    assert (connection.client_software_name == name) == (code is ErrorCode.NONE)
    # The only tagged field that a plain ZooKeeper-mode broker sends, and only when all is well.
    assert response.finalized_features_epoch == (0 if code is ErrorCode.NONE else -1)
