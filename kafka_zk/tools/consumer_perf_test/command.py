"""One run of kafka-consumer-perf-test.sh: consumes, and reports how fast."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_zk.client.consumer.listener import ConsumerRebalanceListener
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.endings import exit_code_of
from kafka_zk.tools.common.java_output import show_warnings
from kafka_zk.tools.common.program import Shutdown
from kafka_zk.tools.consumer_perf_test.options import ConsumerPerfOptions, usage
from kafka_zk.tools.consumer_perf_test.statistics import Joining, Progress, header, total_text

if TYPE_CHECKING:
    from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
    from kafka_zk.client.consumer.records import ConsumerRecords

POLL_S = 0.1


def work(arguments: Sequence[str], shutdown: Shutdown) -> int:
    return exit_code_of(
        lambda: _measure(ConsumerPerfOptions(arguments), shutdown), tool="consumer_perf_test", usage=usage
    )


def _measure(options: ConsumerPerfOptions, shutdown: Shutdown) -> None:
    if not options.hides_header:
        print(header(is_detailed=options.is_detailed), flush=True)
    show_warnings()
    from kafka_zk.client.consumer.errors import WakeupException
    from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer

    deserializers = dict.fromkeys(("key.deserializer", "value.deserializer"), "ByteArrayDeserializer")
    consumer = KafkaConsumer({**options.consumer(), **deserializers})
    run = Run(consumer, options)
    shutdown.add(run.leave)
    try:
        run.consume()
        end_ms = _now_ms()
        metrics = consumer.metrics() if options.prints_metrics else None
    except WakeupException:
        # Only `leave` wakes it: the program ends without a report of the aborted run.
        return
    finally:
        try:
            consumer.close()
        finally:
            run.over.set()
    if not options.is_detailed:
        print(
            total_text(
                run.progress,
                start_ms=run.start_ms,
                end_ms=end_ms,
                joining_ms=run.joining.total_ms,
                dates=options.date_format(),
            )
        )
    if metrics is not None:
        from kafka_zk.tools.common.metrics_table import metrics_table

        print(metrics_table(metrics))


class Run(ConsumerRebalanceListener):
    """One measurement."""

    def __init__(self, consumer: KafkaConsumer, options: ConsumerPerfOptions) -> None:
        self._consumer = consumer
        self._options = options
        self.start_ms = _now_ms()
        self.progress = Progress(self.start_ms)
        self.joining = Joining(self.start_ms)
        self.over = threading.Event()

    def leave(self) -> None:
        """At a signal: leave the group rather than let the others wait for the session's end."""
        self._consumer.wakeup()
        self.over.wait()

    def consume(self) -> None:
        """Blocks. Poll until the records are there, or none came for --timeout. Raises JavaError, OptionError ..."""
        options = self._options
        wanted, timeout_ms = options.message_count(), options.timeout_ms()
        interval_ms = options.reporting_interval_ms()
        dates = options.date_format()
        self._consumer.subscribe([options.topic()], self)
        progress = self.progress
        now_ms = consumed_ms = _now_ms()
        progress.reported_ms = now_ms
        while progress.records < wanted and now_ms - consumed_ms <= timeout_ms:
            records = self._consumer.poll(POLL_S)
            now_ms = _now_ms()
            if not records:
                continue
            consumed_ms = now_ms
            self._count(records)
            if now_ms - progress.reported_ms >= interval_ms:
                if options.is_detailed:
                    print(progress.text(now_ms, self.joining.interval_ms, dates), flush=True)
                self.joining.interval_ms = 0
                progress.begin_interval(now_ms)
        if progress.records < wanted:
            print(
                "WARNING: Exiting before consuming the expected number of messages: "
                f"timeout ({timeout_ms} ms) exceeded. You can use the --timeout option to increase the timeout."
            )

    def _count(self, records: ConsumerRecords) -> None:
        size_bytes = 0
        for record in records:
            key, value = record.key, record.value
            if key is not None:
                size_bytes += len(key)
            if value is not None:
                size_bytes += len(value)
        self.progress.records += len(records)
        self.progress.bytes += size_bytes

    # --- as the listener of rebalances -------------------------------------------------------------------------------

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self.joining.lost_partitions(_now_ms())

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self.joining.got_partitions(_now_ms())


def _now_ms() -> int:
    return int(time.time() * 1000)
