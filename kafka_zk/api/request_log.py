"""Kafka's request log: a line for each answered request, at DEBUG of kafka.request.logger.

Requests in versions that Kafka 4 no longer serves have theirs at INFO (KIP-896).

Role        Acts: writes to the logger. Dispatch has a request described before its handler may change it, and tells of
            the answer; a line is written once the answer was sent, for it holds how long that took.
            While the log is off dispatch has none, and pays nothing.
Invariants  Secrets are hidden: values of configs whose key is secret or unknown, salts and salted passwords, HMACs of
            delegation tokens, what SASL clients send.
            Lines that wait for their answers to be sent take MOST_WAITING_BYTES at most; further ones are lost, and
            counted.
Differs from Kafka: it shows HMACs, salted passwords and the bytes of SaslAuthenticate; temporaryMemoryBytes and
            messageConversionsTime are not here, where a batch has them and not a request. A request that ends
            its connection, and ApiVersions in an unknown version, have no line.
Source      RequestChannel.Request (loggableRequest, updateRequestMetrics), RequestConvertToJson in Kafka 3.9.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafka_zk.admin.config_rules import ConfigResourceType
from kafka_zk.config.describe import is_secret_broker_key
from kafka_zk.config.tables.topic import TOPIC_KEYS
from kafka_zk.network.request_metrics import Row
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.header import RequestHeader
from kafka_zk.protocol.json_form import HIDDEN, JsonForm, json_text
from kafka_zk.protocol.message import Message

if TYPE_CHECKING:
    from kafka_zk.network.connection import Connection

MOST_WAITING_BYTES: Final = 32 << 20

HIDDEN_FIELDS: Final = {
    "SaslAuthenticateRequest": ("auth_bytes",),
    "SaslAuthenticateResponse": ("auth_bytes",),
    "AlterUserScramCredentialsRequest": ("salt", "salted_password"),
    "CreateDelegationTokenResponse": ("hmac",),
    "RenewDelegationTokenRequest": ("hmac",),
    "ExpireDelegationTokenRequest": ("hmac",),
    "DescribeDelegationTokenResponse": ("hmac",),
}
DEPRECATED_BELOW: Final = {
    0: 3,
    1: 4,
    2: 1,
    8: 2,
    9: 1,
    11: 2,
    19: 2,
    20: 1,
    23: 2,
    29: 1,
    30: 1,
    31: 1,
    32: 1,
    34: 1,
    35: 1,
    38: 1,
    39: 1,
    40: 1,
    41: 1,
}
"""By API key the first version that Kafka 3.9 does not call deprecated."""
CONFIG_CHANGES: Final = ("AlterConfigsRequest", "IncrementalAlterConfigsRequest")

CLIENT_METRICS_KEYS: Final = ("interval.ms", "match", "metrics")

log = logging.getLogger("kafka.request.logger")

Pause = Callable[[], object]


class Described(NamedTuple):
    """What of a line is known when a request comes: its level, the JSON up to the request's, and other parts."""

    level: int
    request: str
    connection: str
    client: str


class RequestLog:
    """The lines of one broker."""

    def __init__(self) -> None:
        self._forms: dict[str, JsonForm] = {}
        self._waiting: list[tuple[Described, str, Row]] = []
        self._waiting_bytes = 0
        self._lost_count = 0

    @property
    def is_on(self) -> bool:
        """Whether there may be a line."""
        return log.isEnabledFor(logging.INFO)

    def describe(
        self, header: RequestHeader, message: Message[Any], request: Any, connection: Connection, pause: Pause
    ) -> Described | None:
        """None for a request that has no line. Blocks as `pause` does."""
        api_key, api_version = header.api_key, header.api_version
        is_deprecated = api_version < DEPRECATED_BELOW.get(api_key, 0)
        level = logging.INFO if is_deprecated else logging.DEBUG
        if not log.isEnabledFor(level):
            return None
        told: dict[str, object] = {
            "requestApiKey": api_key,
            "requestApiVersion": api_version,
            "correlationId": header.correlation_id,
            "clientId": header.client_id,
            "requestApiKeyName": API_TABLE[api_key].enum_name,
        }
        if is_deprecated:
            told["requestApiVersionDeprecated"] = True
        body = self._text(message, request, api_version, pause)
        return Described(
            level,
            f'{{"isForwarded":false,"requestHeader":{json_text(told)},"request":{body}',
            json_text(connection.connection_id),
            f'"securityProtocol":{json_text(connection.security_protocol)},'
            f'"principal":{json_text(connection.principal)},"listener":{json_text(connection.listener_name)},'
            f'"clientInformation":{{"softwareName":{json_text(connection.client_software_name)},'
            f'"softwareVersion":{json_text(connection.client_software_version)}}}',
        )

    def answered(
        self, described: Described, message: Message[Any], response: Any, row: Row, pause: Pause | None
    ) -> None:
        """Note the answer of a request; None if it has none. Blocks as `pause` does."""
        text = '""' if response is None else self._text(message, response, row[0], pause or _at_once)
        size_bytes = len(described.request) + len(text)
        if self._waiting_bytes + size_bytes > MOST_WAITING_BYTES:
            self._lost_count += 1
            return
        self._waiting_bytes += size_bytes
        self._waiting.append((described, text, row))

    def write(self, now_ms: int) -> bool:
        """Write the lines whose answers were sent. For `MetricsRegistry.on_gather`: the metrics wait for the same."""
        if not self._waiting:
            return False
        waiting, self._waiting = self._waiting, []
        self._waiting_bytes = 0
        for described, response, row in waiting:
            if not row[7][1]:
                self._waiting.append((described, response, row))
                self._waiting_bytes += len(described.request) + len(response)
            else:
                log.log(described.level, "%s", _line(described, response, row))
        if self._lost_count:
            log.info("%d requests are not here: their lines took too much memory", self._lost_count)
            self._lost_count = 0
        return False

    def _text(self, message: Message[Any], value: Any, api_version: int, pause: Pause) -> str:
        form = self._forms.get(message.name)
        if form is None:
            form = self._forms[message.name] = JsonForm(message.struct, HIDDEN_FIELDS.get(message.name, ()))
        if message.name in CONFIG_CHANGES:
            value = _without_secrets(value)
        return form.text(value, api_version, pause)


def _at_once() -> None:
    """For what may not block."""


def _without_secrets(request: Any) -> Any:
    """A request that changes configs, with HIDDEN for what is secret. The request stays as it is."""
    resources = [
        _changed(
            resource,
            configs=[
                _changed(config, value=HIDDEN) if _is_secret(resource.resource_type, config.name) else config
                for config in resource.configs
            ],
        )
        for resource in request.resources
    ]
    return _changed(request, resources=resources)


def _changed(whole: Any, /, **fields: Any) -> Any:
    return type(whole)(**{name: getattr(whole, name) for name in whole.__slots__} | fields)


def _is_secret(resource_type: int, name: str) -> bool:
    match resource_type:
        case ConfigResourceType.BROKER:
            return is_secret_broker_key(name)
        case ConfigResourceType.TOPIC:
            return name not in TOPIC_KEYS
        case ConfigResourceType.CLIENT_METRICS:
            return name not in CLIENT_METRICS_KEYS
        case ConfigResourceType.BROKER_LOGGER:
            return False
    return True


def _line(described: Described, response: str, row: Row) -> str:
    _, _, received_ns, started_ns, handled_ns, completed_ns, throttle_ms, (sending_ns, sent_ns) = row
    return (
        f'Completed request:{described.request},"response":{response},"connection":{described.connection},'
        f'"totalTimeMs":{_ms(sent_ns - received_ns)},"requestQueueTimeMs":{_ms(started_ns - received_ns)},'
        f'"localTimeMs":{_ms(handled_ns - started_ns)},"remoteTimeMs":{_ms(completed_ns - handled_ns)},'
        f'"throttleTimeMs":{throttle_ms},"responseQueueTimeMs":{_ms(sending_ns - completed_ns)},'
        f'"sendTimeMs":{_ms(sent_ns - sending_ns)},{described.client}}}'
    )


def _ms(duration_ns: int) -> float:
    """With microseconds; an answer that waited behind another may seem sent before it was complete."""
    return max(0, duration_ns) // 1000 / 1000
