"""kafka-e2e-latency.sh: measures the time from producer to consumer, record by record.

Source      org.apache.kafka.tools.EndToEndLatency.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.command_config import read_command_config
from kafka_zk.tools.common.endings import exit_code_of, run_as_program
from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.java_format import fixed, ratio
from kafka_zk.tools.common.java_output import JavaError, awaited, execution_error, illegal_argument, show_warnings
from kafka_zk.tools.common.java_values import java_integer

if TYPE_CHECKING:
    from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
    from kafka_zk.client.producer.kafka_producer import KafkaProducer

USAGE = (
    "USAGE: java org.apache.kafka.tools.EndToEndLatency broker_list topic num_messages producer_acks "
    "message_size_bytes [optional] properties_file"
)
POLL_TIMEOUT_MS = 60_000
REPORTED_EVERY = 1000
MAX_BLOCK_MS = 365 * 24 * 3_600_000
"""Practically for ever, and within the limits of a wait."""
ARGUMENT_COUNTS = (5, 6)
BYTE_ARRAYS = {
    f"{part}.{kind}": f"ByteArray{kind.capitalize()}"
    for part in ("key", "value")
    for kind in ("serializer", "deserializer")
}


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) not in ARGUMENT_COUNTS:
        print(USAGE, file=sys.stderr)
        return 1
    return exit_code_of(lambda: _run(*words), tool="e2e_latency")


def _run(brokers: str, topic: str, count_text: str, acks: str, size_text: str, properties_file: str = "") -> None:
    count = _integer(count_text)
    size_bytes = _integer(size_text)
    if acks not in ("1", "all"):
        raise illegal_argument("Latency testing requires synchronous acknowledgement. Please use 1 or all")
    from_file = read_command_config(properties_file if properties_file.strip() else None)
    properties = {**from_file, "bootstrap.servers": brokers}
    show_warnings()
    with _consumer(properties) as consumer, _producer(properties, acks) as producer:
        if topic not in consumer.list_topics():
            _create_topic(properties, topic)
        partitions = [TopicPartition(topic, index) for index in consumer.partitions_for(topic)]
        consumer.assign(partitions)
        consumer.seek_to_end(partitions)
        for partition in partitions:
            consumer.position(partition)
        _measure(consumer, producer, topic, count, size_bytes)
        consumer.commit_sync()


def _measure(consumer: KafkaConsumer, producer: KafkaProducer, topic: str, count: int, size_bytes: int) -> None:
    """Blocks. Sends, reads, compares and reports. Raises JavaError if a record does not arrive, or another one does."""
    if count < 0 or (count and size_bytes < 0):
        raise JavaError(str(count if count < 0 else size_bytes), "java.lang.NegativeArraySizeException")
    letters = random.Random(0)
    latencies_ns = []
    for number in range(count):
        message = bytes(letters.randrange(26) + 65 for _ in range(size_bytes))
        begin_ns = time.perf_counter_ns()
        _send(producer, topic, message)
        records = list(consumer.poll(POLL_TIMEOUT_MS / 1000))
        elapsed_ns = time.perf_counter_ns() - begin_ns
        fault = fault_of([record.value for record in records], message)
        if fault:
            consumer.commit_sync()
            raise JavaError(fault, "java.lang.RuntimeException")
        if number % REPORTED_EVERY == 0:
            print(f"{number}\t{elapsed_ns / 1000 / 1000!r}")
        latencies_ns.append(elapsed_ns)
    print(f"Avg latency: {fixed(ratio(float(sum(latencies_ns)), float(count)) / 1000 / 1000, 4)} ms")
    print(percentiles_text(latencies_ns))


def _send(producer: KafkaProducer, topic: str, message: bytes) -> None:
    """Blocks. Raises JavaError, an ExecutionException."""
    try:
        producer.send(topic, value=message).result()
    except (BrokerError, KafkaException) as error:
        raise awaited(error) from error


def fault_of(read: Sequence[bytes | None], sent: bytes) -> str | None:
    """What is wrong with what was read, None if it is the one record that was sent."""
    if not read:
        return f"poll() timed out before finding a result (timeout:[{POLL_TIMEOUT_MS}ms])"
    first = (read[0] or b"").decode("utf-8", "replace")
    if first != sent.decode():
        return f"The message read [{first}] did not match the message sent [{sent.decode()}]"
    if len(read) != 1:
        return f"Only one result was expected during this test. We found [{len(read)}]"
    return None


def percentiles_text(latencies_ns: Sequence[int]) -> str:
    """In whole milliseconds. Raises JavaError where nothing was measured."""
    if not latencies_ns:
        raise JavaError("Index 0 out of bounds for length 0", "java.lang.ArrayIndexOutOfBoundsException")
    ordered = sorted(ns // 1000 // 1000 for ns in latencies_ns)
    half, most, nearly_all = (ordered[int(len(ordered) * share)] for share in (0.5, 0.99, 0.999))
    return f"Percentiles: 50th = {half}, 99th = {most}, 99.9th = {nearly_all}"


def _integer(text: str) -> int:
    try:
        return java_integer(text)
    except ValueError as error:
        raise JavaError(str(error), "java.lang.NumberFormatException") from None


def _consumer(properties: dict[str, str]) -> KafkaConsumer:
    from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer

    return KafkaConsumer(
        {
            **properties,
            "group.id": f"test-group-{time.time_ns() // 1_000_000}",
            "enable.auto.commit": "false",
            "auto.offset.reset": "latest",
            "key.deserializer": BYTE_ARRAYS["key.deserializer"],
            "value.deserializer": BYTE_ARRAYS["value.deserializer"],
            # No batching.
            "fetch.max.wait.ms": "0",
        }
    )


def _producer(properties: dict[str, str], acks: str) -> KafkaProducer:
    from kafka_zk.client.producer.kafka_producer import KafkaProducer

    return KafkaProducer(
        {
            **properties,
            "linger.ms": "0",
            "max.block.ms": str(MAX_BLOCK_MS),
            "acks": acks,
            "key.serializer": BYTE_ARRAYS["key.serializer"],
            "value.serializer": BYTE_ARRAYS["value.serializer"],
        }
    )


def _create_topic(properties: dict[str, str], topic: str) -> None:
    from kafka_zk.client.admin.admin_client import AdminClient
    from kafka_zk.client.admin.admin_results import NewTopic

    print(f'Topic "{topic}" does not exist. Will create topic with 1 partition(s) and replication factor = 1')
    with AdminClient(properties) as admin:
        try:
            admin.create_topics([NewTopic(topic, 1, 1)])
        except FAILURES as error:
            print(f"Creation of topic {topic} failed")
            failed = execution_error(error)
            failed.__cause__ = error
            raise JavaError(f"{failed.java_class}: {failed}", "java.lang.RuntimeException") from failed


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
