"""One run of kafka-console-consumer.sh: polls, prints, and goes back to records that were not printed."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from kafka_zk.client.errors import TimeoutException
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.endings import exit_code_of, tell_as_thrown
from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.java_output import log_error, show_warnings, stack_trace
from kafka_zk.tools.common.program import Shutdown, binary_stdout, leave_stdout
from kafka_zk.tools.console_consumer.formatters import Formatter
from kafka_zk.tools.console_consumer.options import EARLIEST, LATEST, ConsoleConsumerOptions, parsed

if TYPE_CHECKING:
    from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
    from kafka_zk.client.consumer.records import ConsumerRecord

LOGGER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
FOR_EVER_MS = 10 * 60_000


class Output(Protocol):
    """Where records go."""

    def write(self, data: bytes, /) -> object: ...
    def flush(self) -> object: ...


def work(arguments: Sequence[str], shutdown: Shutdown) -> int:
    return exit_code_of(lambda: _run(parsed(arguments), shutdown), tool="console_consumer", tell=tell_as_thrown)


def _run(options: ConsoleConsumerOptions, shutdown: Shutdown) -> int:
    show_warnings()
    try:
        _consume(options, shutdown)
    except FAILURES as error:
        log_error(LOGGER, "Unknown error when running consumer: ", stack_trace(error))
        return 1
    return 0


def _consume(options: ConsoleConsumerOptions, shutdown: Shutdown) -> None:
    from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer

    deserializers = dict.fromkeys(("key.deserializer", "value.deserializer"), "ByteArrayDeserializer")
    consumer = KafkaConsumer({**options.consumer, **deserializers})
    _point(consumer, options)
    over = threading.Event()

    def stop() -> None:
        consumer.wakeup()
        over.wait()
        if options.given.has("enable-systest-events"):
            print("shutdown_complete")

    shutdown.add(stop)
    reading = Reading(consumer, options.timeout_ms)
    output = binary_stdout()
    printing = Printing(options.formatter, output, skip_errors=options.given.has("skip-message-on-error"))
    try:
        print_until_over(reading, printing, options.max_messages())
    finally:
        try:
            reading.rewind()
            consumer.close()
            print(f"Processed a total of {printing.count} messages", file=sys.stderr)
        finally:
            over.set()


def _point(consumer: KafkaConsumer, options: ConsoleConsumerOptions) -> None:
    """Tell the consumer what to read."""
    if options.topic is None:
        from kafka_zk.tools.common.java_values import compiled_pattern

        consumer.subscribe(compiled_pattern(options.include or ""))
    elif options.partition is None:
        consumer.subscribe([options.topic])
    else:
        partition = TopicPartition(options.topic, options.partition)
        consumer.assign([partition])
        if options.offset == EARLIEST:
            consumer.seek_to_beginning([partition])
        elif options.offset == LATEST:
            consumer.seek_to_end([partition])
        else:
            consumer.seek(partition, options.offset)


class Reading:
    """Polls until records come, and remembers those that were not printed."""

    def __init__(self, consumer: KafkaConsumer, timeout_ms: int | None) -> None:
        self._consumer = consumer
        self._timeout_ms = timeout_ms
        self._rest: Iterator[ConsumerRecord] = iter(())

    def poll(self) -> Iterator[ConsumerRecord]:
        """Blocks. Raises TimeoutException if nothing came within --timeout-ms, and what the consumer raises."""
        wait_ms = FOR_EVER_MS if self._timeout_ms is None else self._timeout_ms
        begun_s = time.monotonic()
        while True:
            records = self._consumer.poll(wait_ms / 1000)
            if records:
                self._rest = iter(records)
                return self._rest
            if self._timeout_ms is not None and (time.monotonic() - begun_s) * 1000 > self._timeout_ms:
                raise TimeoutException

    def rewind(self) -> None:
        """Go back to the first record of each partition that was not printed; nothing beyond it is committed."""
        first: dict[TopicPartition, int] = {}
        for record in self._rest:
            first.setdefault(TopicPartition(record.topic, record.partition), record.offset)
        for partition, offset in first.items():
            self._consumer.seek(partition, offset)


class Printing:
    """Records as the formatter shows them, and their number."""

    def __init__(self, formatter: Formatter, output: Output, *, skip_errors: bool) -> None:
        self._formatter = formatter
        self._output = output
        self._skip_errors = skip_errors
        self.count = 0

    def print(self, records: Iterator[ConsumerRecord]) -> None:
        """Raises BrokenPipeError if the reader closed the pipe, and unskipped errors of the formatter."""
        texts: list[bytes] = []
        try:
            for record in records:
                self.count += 1
                try:
                    texts.append(self._formatter(record))
                except FAILURES as error:
                    if not self._skip_errors:
                        raise
                    log_error(LOGGER, "Error processing message, skipping this message: ", stack_trace(error))
        finally:
            self._output.write(b"".join(texts))
            self._output.flush()


def print_until_over(reading: Reading, printing: Printing, max_messages: int) -> None:
    """Print until enough records came, nothing more comes, the pipe is closed or the consumer is woken."""
    from kafka_zk.client.consumer.errors import WakeupException

    while max_messages == -1 or printing.count < max_messages:
        try:
            records = reading.poll()
        except WakeupException:
            return
        except FAILURES as error:
            log_error(LOGGER, "Error processing message, terminating consumer process: ", stack_trace(error))
            return
        try:
            printing.print(records if max_messages == -1 else islice(records, max_messages - printing.count))
        except BrokenPipeError:
            print("Unable to write to standard out, closing consumer.", file=sys.stderr)
            leave_stdout()
            return
