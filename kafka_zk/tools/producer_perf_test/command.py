"""One run of kafka-producer-perf-test.sh: produces, and reports how fast."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_zk.tools.common.argparse4j import ArgumentError, run_parsed
from kafka_zk.tools.common.command_config import read_command_config
from kafka_zk.tools.common.java_output import show_warnings, stack_trace
from kafka_zk.tools.common.program import Shutdown
from kafka_zk.tools.common.throughput import Throttle
from kafka_zk.tools.producer_perf_test import payloads
from kafka_zk.tools.producer_perf_test.options import PARSER, producer_properties
from kafka_zk.tools.producer_perf_test.statistics import Statistics
from kafka_zk.tools.producer_perf_test.transactions import TimedTransactions

if TYPE_CHECKING:
    from kafka_zk.client.producer.kafka_producer import KafkaProducer

INTERVAL_MS = 5000


def work(arguments: Sequence[str], shutdown: Shutdown) -> int:
    return run_parsed(PARSER, arguments, _measure)


def _measure(values: Mapping[str, Any]) -> None:
    if values["producer-props"] is None and values["producer.config"] is None:
        raise ArgumentError("Either --producer-props or --producer.config must be specified.")
    from_payload_file = _payload_of_file(values)
    properties = producer_properties(values, read_command_config(values["producer.config"]))
    show_warnings()
    from kafka_zk.client.producer.kafka_producer import KafkaProducer

    serializers = dict.fromkeys(("key.serializer", "value.serializer"), "ByteArraySerializer")
    producer = KafkaProducer({**properties, **serializers})
    payload = from_payload_file or _payload(values)
    statistics = Statistics(values["num-records"], interval_ms=INTERVAL_MS, now_ms=_now_ms(), report=_say)
    _send_all(producer, values, payload, statistics)
    if values["print-metrics"]:
        producer.flush()
        _say(statistics.total_text(_now_ms()))
        from kafka_zk.tools.common.metrics_table import metrics_table

        _say(metrics_table(producer.metrics()))
        producer.close()
    else:
        producer.close()
        _say(statistics.total_text(_now_ms()))


def _payload_of_file(values: Mapping[str, Any]) -> payloads.Payload | None:
    path, delimiter = values["payload-file"], values["payload-delimiter"]
    return None if path is None else payloads.of_file(path, "\n" if delimiter == "\\n" else delimiter)


def _payload(values: Mapping[str, Any]) -> payloads.Payload:
    size_bytes = values["record-size"]
    return payloads.monotonic() if size_bytes is None else payloads.random_letters(size_bytes)


def _send_all(
    producer: KafkaProducer, values: Mapping[str, Any], payload: payloads.Payload, statistics: Statistics
) -> None:
    topic, throughput, duration_ms = values["topic"], values["throughput"], values["transaction-duration-ms"]
    transactions = TimedTransactions(producer, duration_ms) if duration_ms > 0 else None
    send, is_due, wait = producer.send, None, None
    if throughput >= 0:
        throttle = Throttle(throughput, _now_ms())
        is_due, wait = throttle.is_due, throttle.wait
    for number in range(values["num-records"]):
        value = payload(number)
        start_ms = _now_ms()
        if transactions is not None:
            transactions.before(start_ms)
        send(topic, value, callback=_counting(statistics, start_ms, len(value)))
        if transactions is not None:
            transactions.after(start_ms)
        if is_due is not None and wait is not None and is_due(number, start_ms):
            wait()
    if transactions is not None:
        transactions.end()


def _counting(statistics: Statistics, start_ms: int, size_bytes: int) -> Callable[[object, Exception | None], None]:
    def count(_: object, error: Exception | None) -> None:
        if error is None:
            now_ms = _now_ms()
            statistics.record(now_ms - start_ms, size_bytes, now_ms)
        else:
            print(stack_trace(error), end="", file=sys.stderr)

    return count


def _say(text: str) -> None:
    print(text, flush=True)


def _now_ms() -> int:
    return int(time.time() * 1000)
