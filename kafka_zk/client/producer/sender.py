"""The sender thread: drains the accumulator, sends batches and handles the responses.

Role        Acts. Owns the NetworkClient, the sequences and the calls to coordinators; shares the transaction's state.
Invariants  A drained batch is either in flight, put back into the accumulator, or done: never lost, never both.
            With one request in flight a connection, or without idempotence, a partition is muted while its batch is
            in flight, if order is required.
Source      Kafka 3.9 Sender.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable

from kafka_zk.client.errors import KafkaException, TimeoutException, wrapped
from kafka_zk.client.network.metadata import ClusterMetadata, is_invalid_metadata
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.client.producer.idempotence import Idempotence
from kafka_zk.client.producer.node_latencies import NodeLatencies
from kafka_zk.client.producer.produce_calls import ProduceOutcome, errors_of, send_batches
from kafka_zk.client.producer.producer_batch import ProducerBatch
from kafka_zk.client.producer.producer_id_call import ProducerIdCall
from kafka_zk.client.producer.producer_metrics import ProducerMetrics
from kafka_zk.client.producer.record_accumulator import PartitionQueue, RecordAccumulator
from kafka_zk.client.producer.settings import ProducerSettings
from kafka_zk.client.producer.transactions.coordinator_calls import CoordinatorCalls
from kafka_zk.client.producer.transactions.sequences import TransactionalSequences
from kafka_zk.client.producer.transactions.transaction_manager import TransactionManager
from kafka_zk.clock import Clock
from kafka_zk.protocol.errors import ErrorCode, is_retriable
from kafka_zk.protocol.types import TopicPartition

LONGEST_POLL_S = 60.0
UNKNOWN_FATES = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
)
"""The records may be in the log, now or later. An error with an offset also means that they are."""

log = logging.getLogger("org.apache.kafka.clients.producer.internals.Sender")


class Sender:
    """`run` is the thread's body; `close` and `force_close` may be called from others."""

    def __init__(
        self,
        settings: ProducerSettings,
        accumulator: RecordAccumulator,
        client: NetworkClient,
        metadata: ClusterMetadata,
        metrics: ProducerMetrics,
        clock: Clock,
        log_prefix: str,
    ) -> None:
        self.transactions: TransactionManager | None = None
        self.idempotence: Idempotence | None = None
        self._calls: ProducerIdCall | CoordinatorCalls | None = None
        self._transactional_id = settings.transactional_id
        if settings.transactional_id is not None:
            manager = self.transactions = TransactionManager(settings.transactional_id)
            sequences = self.idempotence = TransactionalSequences(manager)
            self._calls = CoordinatorCalls(
                manager,
                client,
                clock,
                settings.retry_backoff,
                transaction_timeout_ms=settings.transaction_timeout_ms,
                on_producer=sequences.take_producer,
            )
        elif settings.idempotent:
            self.idempotence = Idempotence()
            self._calls = ProducerIdCall(client, clock, settings.retry_backoff, self.idempotence)
        self._settings = settings
        self._accumulator = accumulator
        self._client = client
        self._metadata = metadata
        self._metrics = metrics
        self._clock = clock
        self._log_prefix = log_prefix
        self._latencies = NodeLatencies(settings.availability_timeout_ms)
        self._under_way: dict[ProducerBatch, None] = {}
        self._drain_from: dict[int, int] = {}
        self._is_closing = False
        self._is_forced = False
        self.thread = threading.Thread(
            target=self.run, name=f"kafka-producer-network-thread | {log_prefix}", daemon=True
        )

    # --- the thread --------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Blocks until closed and everything is sent, or closed by force."""
        try:
            while not self._may_stop():
                self._run_once_safely()
        finally:
            # After any exception, GreenletExit too: no thread may wait for records that are no longer sent.
            self._accumulator.close()
            self._abort_all(KafkaException("Producer is closed forcefully."))
            self._client.close()
            if self.transactions is not None:
                self.transactions.close()

    def close(self) -> None:
        """Send what is queued, then end."""
        self._is_closing = True
        self._client.wakeup()

    def force_close(self) -> None:
        """Fail what is not completed, then end."""
        self._is_forced = self._is_closing = True
        self._client.wakeup()

    def _may_stop(self) -> bool:
        if self._is_forced:
            return True
        if not self._is_closing or self._accumulator.incomplete:
            return False
        return self.transactions is None or not self.transactions.end_for_close()

    def _run_once_safely(self) -> None:
        try:
            self.run_once()
        except Exception:
            # As in Java: only this thread sends, so it continues with the next iteration.
            log.exception("[%s] Uncaught error in kafka producer I/O thread: ", self._log_prefix)

    def run_once(self) -> None:
        """Blocks for at most a poll. One iteration: settle ids, expire, drain, send, poll."""
        now_ms = self._clock.monotonic_ms()
        idempotence, calls = self.idempotence, self._calls
        if idempotence is not None and calls is not None:
            idempotence.resolve()
            idempotence.raise_epoch_if_needed()
            if idempotence.fatal_error is not None:
                self._abort_all(idempotence.fatal_error)
            if self.transactions is not None:
                self._follow(self.transactions)
            calls.advance(now_ms, has_batches=bool(self._accumulator.incomplete))
        wait_ms = self._send_what_is_ready(now_ms)
        if calls is not None:
            wait_ms = min(wait_ms, calls.wait_ms(now_ms))
        if idempotence is not None and idempotence.fatal_error is not None:
            # Records that came since, from a callback perhaps, are aborted by the next iteration. Nothing wakes it.
            wait_ms = min(wait_ms, self._settings.retry_backoff.wait_ms(1))
        self._client.poll(min(max(wait_ms, 0) / 1000, LONGEST_POLL_S))

    def _follow(self, transactions: TransactionManager) -> None:
        """Send batches at once while the transaction ends; fail those that must not be sent any more."""
        error = transactions.unsent_error
        with self._accumulator.lock:
            self._accumulator.is_completing = transactions.is_completing
            unsent = [] if error is None else self._accumulator.take_unsent()
        for batch in unsent:
            batch.fail(lambda _: error)  # type: ignore[arg-type, return-value]
            self._accumulator.done(batch)

    # --- draining ----------------------------------------------------------------------------------------------------

    def _send_what_is_ready(self, now_ms: int) -> int:
        """Run one iteration up to the poll; returns how long the poll may take."""
        accumulator = self._accumulator
        with accumulator.lock:
            by_node, ready, wait_ms, unknown = self._look(now_ms)
            expired = accumulator.take_expired(now_ms)
            wait_ms = min(wait_ms, accumulator.next_expiry_ms() - now_ms)
            # Anything added from here on wakes the following poll.
            accumulator.sender_is_idle = True
        self._expire(expired, now_ms)
        if unknown:
            for topic in unknown:
                self._metadata.add_topic(topic, now_ms)
            self._metadata.request_update()
        for node_id in ready:
            if not self._client.ready(node_id):
                self._latencies.not_ready(node_id, now_ms)
                pause_ms = self._client.retry_wait_ms(node_id)
                wait_ms = min(wait_ms, pause_ms) if pause_ms else wait_ms
                continue
            self._latencies.ready(node_id, now_ms)
            drained = self._drain(node_id, by_node[node_id], now_ms)
            if drained:
                self._send(node_id, drained, now_ms)
                wait_ms = 0
        return int(min(wait_ms, self._next_deadline_ms() - now_ms))

    def _look(self, now_ms: int) -> tuple[dict[int, list[PartitionQueue]], list[int], float, set[str]]:
        """Returns queues by leader; leaders with sendable batches; else the time until then; unknown topics."""
        by_node: dict[int, list[PartitionQueue]] = {}
        ready: dict[int, None] = {}
        unknown: set[str] = set()
        wait_ms: float = LONGEST_POLL_S * 1000
        snapshot = self._metadata.snapshot
        for queue in self._accumulator.waiting:
            if queue.is_muted:
                continue
            leader_id = snapshot.leader_of(queue.topic_partition)
            if leader_id is None:
                unknown.add(queue.topic_partition.topic)
                continue
            by_node.setdefault(leader_id, []).append(queue)
            if leader_id in ready or not self._may_drain(queue):
                continue
            is_sendable, left_ms = self._accumulator.is_sendable(queue, now_ms, leader_id)
            if is_sendable:
                ready[leader_id] = None
            else:
                wait_ms = min(wait_ms, left_ms)
        if self._settings.adaptive_partitioning:
            self._accumulator.learn_loads(snapshot, self._latencies.is_slow)
        return by_node, list(ready), wait_ms, unknown

    def _may_drain(self, queue: PartitionQueue) -> bool:
        idempotence, batch = self.idempotence, queue.batches[0]
        return idempotence is None or (idempotence.may_drain(batch) and not idempotence.awaits_first_answer(batch))

    def _drain(self, node_id: int, queues: list[PartitionQueue], now_ms: int) -> list[ProducerBatch]:
        """At most one batch of each partition, up to the size of one request."""
        accumulator, idempotence = self._accumulator, self.idempotence
        drained: list[ProducerBatch] = []
        size = 0
        start = self._drain_from.get(node_id, 0) % len(queues)
        with accumulator.lock:
            for step in range(len(queues)):
                queue = queues[(start + step) % len(queues)]
                if not queue.batches or queue.is_muted or not self._may_drain(queue):
                    continue
                batch = queue.batches[0]
                if batch.attempts and not accumulator.is_sendable(queue, now_ms, node_id)[0]:
                    continue
                size += batch.size_bytes or batch.records_bytes
                if drained and size > self._settings.max_request_bytes:
                    # Partitions left out come first next time.
                    self._drain_from[node_id] = start + step
                    break
                accumulator.take_first(queue, now_ms)
                if idempotence is not None:
                    idempotence.stamp(batch)
                if self._keeps_order:
                    queue.is_muted = True
                drained.append(batch)
        return drained

    @property
    def _keeps_order(self) -> bool:
        return self._settings.max_in_flight == 1

    def _send(self, node_id: int, drained: list[ProducerBatch], now_ms: int) -> None:
        batches = [batch for batch in drained if self._closed(batch)]
        if not batches:
            return
        for batch in batches:
            batch.leader_of_attempt = node_id
            self._under_way[batch] = None
        self._metrics.request_sent(batches, now_ms)
        send_batches(
            self._client,
            node_id,
            batches,
            self._settings.acks,
            self._settings.request_timeout_ms,
            self._transactional_id,
            lambda outcomes, throttle_ms: self._take_outcomes(node_id, outcomes, now_ms, throttle_ms),
        )

    def _closed(self, batch: ProducerBatch) -> bool:
        """Encode a batch's records; if that fails (out of memory, say), the batch fails."""
        is_new = not batch.size_bytes
        try:
            batch.close(self._settings.codec, self._settings.level)
        except Exception as error:
            # Any exception: no other code would complete the batch, and `flush` would wait for it for ever.
            self._fail_here(batch, error)
            return False
        if is_new and batch.is_compressed:
            self._accumulator.ratios.saw(batch.topic_partition.topic, batch.compression_ratio)
        return True

    def _fail_here(self, batch: ProducerBatch, error: Exception) -> None:
        """A batch failed locally; no broker has seen it."""
        log.error("[%s] Records for %s cannot be sent", self._log_prefix, batch.topic_partition, exc_info=error)
        failure = wrapped(error)
        self._fail(batch, None, lambda _: failure, may_have_been_taken=False)
        if self._keeps_order:
            self._unmute(batch.topic_partition)

    # --- outcomes ----------------------------------------------------------------------------------------------------

    def _take_outcomes(
        self, node_id: int, outcomes: Iterable[tuple[ProducerBatch, ProduceOutcome]], sent_ms: int, throttle_ms: int
    ) -> None:
        now_ms = self._clock.monotonic_ms()
        self._metrics.answered(node_id, now_ms - sent_ms, throttle_ms, now_ms)
        for batch, outcome in outcomes:
            self._take_outcome(batch, outcome, now_ms)
            # Done last: if the code above fails, delivery.timeout.ms still ends the batch.
            self._under_way.pop(batch, None)
            if self._keeps_order:
                self._unmute(batch.topic_partition)

    def _take_outcome(self, batch: ProducerBatch, outcome: ProduceOutcome, now_ms: int) -> None:
        error = outcome.error
        if batch.is_done and error != ErrorCode.NONE:
            # It was given up; the response adds nothing.
            return
        if error in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            # A duplicate is in the log already; the broker does not say where.
            self._succeed(batch, outcome)
            return
        if error == ErrorCode.MESSAGE_TOO_LARGE and batch.record_count > 1 and not self._would_repeat_parts_of(batch):
            self._split(batch, now_ms)
            return
        if error in UNKNOWN_FATES or outcome.base_offset >= 0:
            batch.may_be_taken = True
        if self._may_retry(batch, outcome, now_ms):
            log.warning(
                "[%s] Got error produce response on topic-partition %s, retrying (%s attempts left). Error: %s",
                self._log_prefix,
                batch.topic_partition,
                self._settings.retries - batch.attempts - 1,
                error.name,
            )
            batch.attempts += 1
            batch.retry_at_ms = now_ms + self._settings.retry_backoff.wait_ms(batch.attempts)
            self._metrics.retried(batch, now_ms)
            with self._accumulator.lock:
                self._accumulator.put_back([batch])
        else:
            # An earlier attempt, or this one, may have been appended without a response.
            is_unknown = batch.is_retried or is_retriable(error)
            if self.idempotence is not None and is_unknown and batch.has_sequence:
                self.idempotence.expired(batch)
            self._fail(batch, error, errors_of(outcome), may_have_been_taken=is_unknown)
        if is_invalid_metadata(error):
            if error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                log.warning(
                    "[%s] Received unknown topic or partition error in produce request on partition %s. The "
                    "topic-partition may not exist or the user may not have Describe access to it",
                    self._log_prefix,
                    batch.topic_partition,
                )
            self._metadata.request_update()

    def _would_repeat_parts_of(self, batch: ProducerBatch) -> bool:
        """Whether its records may be in the log already: the broker cannot recognize parts of it by their sequences."""
        return self.idempotence is not None and batch.may_be_taken

    def _may_retry(self, batch: ProducerBatch, outcome: ProduceOutcome, now_ms: int) -> bool:
        if (
            batch.is_done
            or now_ms - batch.created_ms >= self._settings.delivery_timeout_ms
            or batch.attempts >= self._settings.retries
        ):
            return False
        if self.idempotence is None:
            return is_retriable(outcome.error)
        return self.idempotence.may_retry(batch, outcome.error, outcome.log_start_offset)

    def _succeed(self, batch: ProducerBatch, outcome: ProduceOutcome) -> None:
        if self.idempotence is not None:
            self.idempotence.succeeded(batch, outcome.base_offset)
        batch.succeed(outcome.base_offset, outcome.log_append_time_ms)
        self._accumulator.done(batch)

    def _fail(
        self,
        batch: ProducerBatch,
        error: ErrorCode | None,
        error_of: Callable[[int], Exception],
        *,
        may_have_been_taken: bool,
    ) -> None:
        if self.idempotence is not None:
            self.idempotence.failed(batch, error, may_have_been_taken=may_have_been_taken, exception=error_of(0))
        self._metrics.failed(batch, self._clock.monotonic_ms())
        batch.fail(error_of)
        self._accumulator.done(batch)

    def _split(self, batch: ProducerBatch, now_ms: int) -> None:
        """The broker's limit is below ours: send the records in smaller batches."""
        log.warning(
            "[%s] Got error produce response on topic-partition %s, splitting and retrying. Error: MESSAGE_TOO_LARGE",
            self._log_prefix,
            batch.topic_partition,
        )
        settings = self._settings
        self._accumulator.ratios.reset(batch.topic_partition.topic)
        # A batch within our limit must be split nevertheless.
        limit = min(settings.batch_size_bytes, max(1, batch.records_bytes // 2 + 61))
        try:
            parts = batch.split(limit, settings.codec, settings.level)
        except Exception as error:
            # As in `_closed`.
            self._fail_here(batch, error)
            return
        self._metrics.was_split(now_ms)
        if self.idempotence is not None:
            self.idempotence.replaced(batch, parts)
        with self._accumulator.lock:
            self._accumulator.put_back(reversed(parts))
        self._accumulator.done(batch)

    def _unmute(self, partition: TopicPartition) -> None:
        with self._accumulator.lock:
            self._accumulator.topics[partition.topic].queue(partition.partition).is_muted = False

    # --- time is over ------------------------------------------------------------------------------------------------

    def _next_deadline_ms(self) -> int:
        first_ms = min((batch.created_ms for batch in self._under_way), default=1 << 62)
        return first_ms + self._settings.delivery_timeout_ms

    def _expire(self, waiting: list[ProducerBatch], now_ms: int) -> None:
        late = [batch for batch in self._under_way if now_ms - batch.created_ms >= self._settings.delivery_timeout_ms]
        for batch in late:
            del self._under_way[batch]
        for batch in [*late, *waiting]:
            was_sent = batch.is_retried or batch in late
            text = (
                f"Expiring {batch.record_count} record(s) for {batch.topic_partition}:"
                f"{now_ms - batch.created_ms} ms has passed since batch creation"
            )
            error = TimeoutException(text)
            if self.idempotence is not None and was_sent and batch.has_sequence and not batch.is_done:
                self.idempotence.expired(batch)
            # A part of a split batch has a sequence before it is sent.
            self._fail(batch, None, lambda _, error=error: error, may_have_been_taken=was_sent)  # type: ignore[misc]

    def _abort_all(self, error: Exception) -> None:
        with self._accumulator.lock:
            self._accumulator.take_all()
            batches = list(self._accumulator.incomplete)
        self._under_way.clear()
        for batch in batches:
            batch.fail(lambda _: error)
            self._accumulator.done(batch)
