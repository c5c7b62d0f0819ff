"""The request log: a line for each request once its answer was sent, without what is secret."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kafka_zk.api.all import load
from kafka_zk.api.dispatch import Dispatcher
from kafka_zk.api.registry import ApiRegistry
from kafka_zk.api.request_log import HIDDEN_FIELDS, MOST_WAITING_BYTES, RequestLog
from kafka_zk.api.services import Services
from kafka_zk.clock import SimClock
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network.answer_queue import Deferred
from kafka_zk.network.connection import Connection
from kafka_zk.network.pending import Pending
from kafka_zk.network.request_metrics import RequestMetrics
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.header import RequestHeader, encode_request_header
from kafka_zk.protocol.messages.heartbeat import HEARTBEAT_REQUEST, HeartbeatRequest, HeartbeatResponse
from kafka_zk.protocol.messages.produce import PRODUCE_REQUEST, ProduceRequest
from tests.unit.api.test_dispatch import Host, frame

LOGGER = "kafka.request.logger"
SECRET = b"pl4nted"


@pytest.fixture
def connection() -> Iterator[Connection]:
    host: Any = Host()
    with socket.socket() as ours:
        yield Connection(ours, "127.0.0.1", 4711, host, 0)


class Logging:
    """A dispatcher of one API with a request log, and the lines so far."""

    def __init__(self, handler: Any, caplog: pytest.LogCaptureFixture, key: int = 12) -> None:
        registry = ApiRegistry()
        served = load().get(key)
        assert served is not None
        registry.add(replace(served, handler=handler))
        self.dispatcher = Dispatcher(Services(), registry, RequestMetrics(MetricsRegistry(SimClock())))
        self.log = self.dispatcher.request_log = RequestLog()
        self._caplog = caplog

    def handle(self, frame: memoryview, connection: Connection) -> Any:
        return self.dispatcher.handle(frame, connection)

    def lines(self) -> list[tuple[str, dict[str, Any]]]:
        self.log.write(0)
        found = [(record.levelname, record.getMessage()) for record in self._caplog.records if record.name == LOGGER]
        return [(level, json.loads(text.removeprefix("Completed request:"))) for level, text in found]


def heartbeat(version: int = 4) -> memoryview:
    return frame(12, version, HEARTBEAT_REQUEST.encode(HeartbeatRequest(group_id="g", member_id="m"), version))


def sent(connection: Connection) -> None:
    connection.sent_stamp[:] = [3_000_000, 3_500_000]


def test_a_line_is_written_once_its_answer_was_sent(connection: Connection, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, LOGGER)
    logging_one = Logging(lambda request, ctx: HeartbeatResponse(error_code=25), caplog)
    connection.received_ns = 1_000_000
    logging_one.handle(heartbeat(), connection)
    assert logging_one.lines() == []
    sent(connection)
    ((level, line),) = logging_one.lines()
    assert level == "DEBUG"
    assert list(line) == [
        *("isForwarded", "requestHeader", "request", "response", "connection", "totalTimeMs", "requestQueueTimeMs"),
        *("localTimeMs", "remoteTimeMs", "throttleTimeMs", "responseQueueTimeMs", "sendTimeMs", "securityProtocol"),
        *("principal", "listener", "clientInformation"),
    ]
    assert line["requestHeader"] == {
        "requestApiKey": 12,
        "requestApiVersion": 4,
        "correlationId": 77,
        "clientId": "client",
        "requestApiKeyName": "HEARTBEAT",
    }
    assert line["request"] == {"groupId": "g", "generationId": 0, "memberId": "m", "groupInstanceId": None}
    assert line["response"] == {"throttleTimeMs": 0, "errorCode": 25}
    assert (line["totalTimeMs"], line["sendTimeMs"], line["throttleTimeMs"]) == (2.5, 0.5, 0)
    assert line["clientInformation"] == {"softwareName": "unknown", "softwareVersion": "unknown"}
    assert logging_one.log._waiting == []


def test_a_request_is_shown_as_it_came(connection: Connection, caplog: pytest.LogCaptureFixture) -> None:
    """Handlers may change it, and a produce that waits drops its records."""
    caplog.set_level(logging.DEBUG, LOGGER)
    pending: Pending[HeartbeatResponse] = Pending()

    def handler(request: Any, ctx: Any) -> Any:
        request.group_id = "changed"
        return pending

    logging_one = Logging(handler, caplog)
    assert isinstance(logging_one.handle(heartbeat(), connection), Deferred)
    pending.complete(HeartbeatResponse())
    sent(connection)
    ((_, line),) = logging_one.lines()
    assert line["request"]["groupId"] == "g"


def test_a_request_without_an_answer_shows_an_empty_one(
    connection: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, LOGGER)
    logging_one = Logging(lambda request, ctx: None, caplog, key=0)
    logging_one.handle(frame(0, 9, PRODUCE_REQUEST.encode(ProduceRequest(acks=0), 9)), connection)
    ((_, line),) = logging_one.lines()
    assert line["response"] == ""


def test_at_info_only_what_kafka_4_no_longer_serves_has_a_line(
    connection: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    logging_one = Logging(lambda request, ctx: None, caplog, key=0)
    for version in (2, 3):
        body = bytes(PRODUCE_REQUEST.encode(ProduceRequest(acks=0), version))
        head = encode_request_header(0, version, 77, "client")
        logging_one.handle(memoryview(bytearray(head + body)), connection)
    ((level, line),) = logging_one.lines()
    assert level == "INFO"
    assert line["requestHeader"]["requestApiVersion"] == 2
    assert line["requestHeader"]["requestApiVersionDeprecated"] is True


def test_what_nobody_reads_is_not_described(connection: Connection, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, LOGGER)
    log = RequestLog()
    assert not log.is_on
    header = RequestHeader(12, 4, 7, "client")
    assert log.describe(header, HEARTBEAT_REQUEST, HeartbeatRequest(), connection, lambda: None) is None


def test_lines_that_wait_take_bounded_memory(connection: Connection, caplog: pytest.LogCaptureFixture) -> None:
    """A client that does not read keeps its answers, and their lines, waiting."""
    caplog.set_level(logging.DEBUG, LOGGER)
    log = RequestLog()
    header, request = RequestHeader(12, 4, 7, "client"), HeartbeatRequest(group_id="g" * (1 << 20))
    row: Any = (4, 1, 1, 1, 1, 1, 0, [0, 0])
    for _ in range(40):
        described = log.describe(header, HEARTBEAT_REQUEST, request, connection, lambda: None)
        assert described is not None
        log.answered(described, API_TABLE[12].response, HeartbeatResponse(), row, None)
    assert log._waiting_bytes <= MOST_WAITING_BYTES
    row[7][:] = [1, 1]
    log.write(0)
    messages = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    assert messages[-1] == f"{40 - (len(messages) - 1)} requests are not here: their lines took too much memory"


def filled(struct: Any, hidden: tuple[str, ...]) -> Any:
    """An object with SECRET in each hidden field, and one element in each list."""
    value = struct.value_class()
    for field in struct.fields:
        inner = field.struct
        if field.name in hidden:
            setattr(value, field.name, SECRET)
        elif inner is not None:
            setattr(value, field.name, [filled(inner, hidden)] if field.is_list else filled(inner, hidden))
    return value


@pytest.mark.parametrize("name", HIDDEN_FIELDS)
def test_secret_fields_are_hidden(name: str) -> None:
    (message,) = [
        message for api in API_TABLE.values() for message in (api.request, api.response) if message.name == name
    ]
    value = filled(message.struct, HIDDEN_FIELDS[name])
    for version in range(message.min_version, message.max_version + 1):
        text = RequestLog()._text(message, value, version, lambda: None)
        assert "[hidden]" in text
        assert "cGw0bnRlZA" not in text


@pytest.mark.parametrize(
    ("resource_type", "name", "is_shown"),
    [
        (4, "log.cleaner.threads", True),
        (4, "ssl.keystore.password", False),
        (4, "listener.name.x.ssl.keystore.password", False),
        (4, "listener.name.x.plain.sasl.jaas.config", False),
        (4, "nobody.knows", False),
        (2, "retention.ms", True),
        (2, "nobody.knows", False),
        (8, "kafka.server", True),
        (16, "interval.ms", True),
        (16, "nobody.knows", False),
        (32, "a", False),
    ],
)
@pytest.mark.parametrize("key", [33, 44])
def test_secret_and_unknown_configs_are_hidden(key: int, resource_type: int, name: str, is_shown: bool) -> None:
    message = API_TABLE[key].request
    config = message.class_of("AlterableConfig")(name=name, value="pl4nted")
    resource = message.class_of("AlterConfigsResource")(resource_type=resource_type, configs=[config])
    request = message.value_class(resources=[resource])
    shown = json.loads(RequestLog()._text(message, request, 1, lambda: None))
    assert shown["resources"][0]["configs"][0]["value"] == ("pl4nted" if is_shown else "[hidden]")
    assert config.value == "pl4nted", "the request itself stays"
