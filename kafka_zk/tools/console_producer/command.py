"""One run of kafka-console-producer.sh: sends each line, waiting for it or not."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.tools.common.endings import exit_code_of
from kafka_zk.tools.common.java_output import JavaError, execution_error, log_error, show_warnings, stack_trace
from kafka_zk.tools.common.options import OptionError, Options
from kafka_zk.tools.common.program import Shutdown
from kafka_zk.tools.console_producer.line_reader import CLASS_NAME, LineMessageReader, LineRecord
from kafka_zk.tools.console_producer.options import parsed, producer_properties, reader_class, reader_properties

if TYPE_CHECKING:
    from kafka_zk.client.producer.kafka_producer import KafkaProducer

CALLBACK_LOGGER = "org.apache.kafka.clients.producer.internals.ErrorLoggingCallback"
GRACE_S = 10.0
"""How long a signal waits until the typed lines are sent."""


def work(arguments: Sequence[str], shutdown: Shutdown) -> int:
    return exit_code_of(lambda: _produce(parsed(arguments), shutdown), tool="console_producer", tell=_tell)


def _tell(error: Exception) -> None:
    print(f"{error}\n" if isinstance(error, OptionError) else stack_trace(error), end="", file=sys.stderr)


def _produce(options: Options, shutdown: Shutdown) -> None:
    properties = producer_properties(options)
    show_warnings()
    from kafka_zk.client.producer.kafka_producer import KafkaProducer

    serializers = dict.fromkeys(("key.serializer", "value.serializer"), "ByteArraySerializer")
    producer = KafkaProducer({**properties, **serializers})
    over = threading.Event()
    try:
        if reader_class(options) != CLASS_NAME:
            raise JavaError(reader_class(options), "java.lang.ClassNotFoundException")
        reader = LineMessageReader(reader_properties(options))
        from kafka_zk.tools.console_producer.lines import standard_input

        lines = standard_input()

        def stop() -> None:
            lines.stop()
            if not over.wait(GRACE_S):
                producer.close(0)

        shutdown.add(stop)
        topic = options.text("topic") or ""
        send = send_and_wait if options.has("sync") else send_and_log
        for record in reader.read(lines):
            send(producer, topic, record)
    finally:
        try:
            producer.close()
        finally:
            over.set()


def send_and_wait(producer: KafkaProducer, topic: str, record: LineRecord) -> None:
    """Blocks until the record has arrived. Raises JavaError with the failure as its cause."""
    try:
        producer.send(topic, record.value, key=record.key, headers=record.headers).result()
    except (KafkaException, BrokerError) as error:
        raise execution_error(error) from error


def send_and_log(producer: KafkaProducer, topic: str, record: LineRecord) -> None:
    """Queue the record; a failure is logged."""
    producer.send(topic, record.value, key=record.key, headers=record.headers, callback=_logging(topic, record))


def _logging(topic: str, record: LineRecord) -> Callable[[object, Exception | None], None]:
    def log_failure(_: object, error: Exception | None) -> None:
        if error is not None:
            log_error(
                CALLBACK_LOGGER,
                f"Error when sending message to topic {topic} with key: {_size(record.key)}, "
                f"value: {_size(record.value)} with error:",
                stack_trace(error),
            )

    return log_failure


def _size(data: bytes | None) -> str:
    return "null" if data is None else f"{len(data)} bytes"
