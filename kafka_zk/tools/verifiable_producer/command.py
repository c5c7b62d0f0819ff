"""One run of kafka-verifiable-producer.sh: sends numbers, and prints the result of each."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_zk.client.errors import java_name
from kafka_zk.standard_streams import nobody_reads
from kafka_zk.tools.common.argparse4j import (
    INTEGER,
    LONG,
    Argument,
    ArgumentError,
    ArgumentParser,
    run_parsed,
)
from kafka_zk.tools.common.command_config import read_command_config
from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.java_format import ratio
from kafka_zk.tools.common.java_output import JavaError, show_warnings
from kafka_zk.tools.common.program import Shutdown
from kafka_zk.tools.common.throughput import Throttle
from kafka_zk.tools.common.verifiable_events import EventPrinter

if TYPE_CHECKING:
    from kafka_zk.client.producer.futures import RecordMetadata
    from kafka_zk.client.producer.kafka_producer import KafkaProducer

PARSER = ArgumentParser(
    "verifiable-producer",
    (
        Argument("--topic", required=True),
        Argument("--bootstrap-server", group="connection"),
        Argument("--broker-list", group="connection"),
        Argument("--max-messages", INTEGER, default=-1),
        Argument("--throughput", INTEGER, default=-1),
        Argument("--acks", INTEGER, default=-1, choices=(0, 1, -1)),
        Argument("--producer.config"),
        Argument("--message-create-time", LONG, default=-1),
        Argument("--value-prefix", INTEGER),
        Argument("--repeating-keys", INTEGER),
    ),
    "verifiable_producer",
)
GRACE_S = 10.0
"""How long a signal waits for a send that blocks."""


def work(arguments: Sequence[str], shutdown: Shutdown) -> int:
    return run_parsed(PARSER, arguments, lambda values: _produce(values, shutdown))


def _produce(values: Mapping[str, Any], shutdown: Shutdown) -> None:
    properties = producer_properties(values)
    show_warnings()
    from kafka_zk.client.producer.kafka_producer import KafkaProducer

    serializers = dict.fromkeys(("key.serializer", "value.serializer"), "StringSerializer")
    tool = VerifiableProducer(KafkaProducer({**properties, **serializers}), values)
    shutdown.add(tool.finish)
    tool.run()


def producer_properties(values: Mapping[str, Any]) -> dict[str, str]:
    """The file's properties override the options. Raises ArgumentError for a file that cannot be read."""
    given = {
        "bootstrap.servers": values["bootstrap-server"] or values["broker-list"],
        "acks": str(values["acks"]),
        "retries": "0",
    }
    try:
        return {**given, **read_command_config(values["producer.config"])}
    except JavaError as error:
        raise ArgumentError(str(error)) from None


def values_of(prefix: int | None) -> Callable[[int], str]:
    """From a record's number to its value: the number, after the prefix and a dot, if there is one."""
    return str if prefix is None else lambda number: f"{prefix}.{number}"


class VerifiableProducer:
    """One run: what was sent, what was acknowledged."""

    def __init__(self, producer: KafkaProducer, values: Mapping[str, Any]) -> None:
        self._producer = producer
        self._topic: str = values["topic"]
        self._limit: int = values["max-messages"]
        self._throughput: int = values["throughput"]
        self._value_of = values_of(values["value-prefix"])
        self._key_count: int | None = values["repeating-keys"]
        self._create_time_ms: int = values["message-create-time"]
        self._start_ms = _now_ms()
        self._throttle = Throttle(self._throughput, self._start_ms)
        self._tell = EventPrinter()
        self._is_stopping = False
        self._over = threading.Event()
        self._sent = 0
        self._acked = 0

    def run(self) -> None:
        """Blocks until all is sent, or `finish` is called from another thread."""
        try:
            self._tell("startup_complete")
            for number in itertools.count() if self._limit < 0 else range(self._limit):
                if self._is_stopping or nobody_reads():
                    break
                start_ms = _now_ms()
                self._send(None if self._key_count is None else str(number % self._key_count), self._value_of(number))
                if self._throttle.is_due(number, start_ms):
                    self._throttle.wait()
        finally:
            self._over.set()

    def finish(self) -> None:
        """Blocks. Send what is left, and report the result."""
        self._is_stopping = True
        self._throttle.stop()
        if self._over.wait(GRACE_S):
            self._producer.close()
        else:
            self._producer.close(0)
        self._tell("shutdown_complete")
        self._tell(
            "tool_data",
            sent=self._sent,
            acked=self._acked,
            target_throughput=self._throughput,
            avg_throughput=1000 * ratio(self._acked, _now_ms() - self._start_ms),
        )

    def _send(self, key: str | None, value: str) -> None:
        timestamp_ms = None
        if self._create_time_ms != -1:
            timestamp_ms = self._create_time_ms
            self._create_time_ms += _now_ms() - self._start_ms
        self._sent += 1

        def outcome(metadata: RecordMetadata, error: Exception | None) -> None:
            if error is None:
                self._acked += 1
                self._tell(
                    "producer_send_success",
                    key=key,
                    value=value,
                    offset=metadata.offset,
                    topic=metadata.topic,
                    partition=metadata.partition,
                )
            else:
                self._tell_failure(key, value, error)

        try:
            self._producer.send(self._topic, value, key=key, timestamp_ms=timestamp_ms, callback=outcome)
        except FAILURES as error:
            self._tell_failure(key, value, error)

    def _tell_failure(self, key: str | None, value: str, error: Exception) -> None:
        self._tell(
            "producer_send_error",
            key=key,
            value=value,
            exception=f"class {java_name(error)}",
            message=str(error) if error.args else None,
            topic=self._topic,
        )


def _now_ms() -> int:
    return int(time.time() * 1000)
