"""KafkaProducer: records in, futures out.

Role        Acts, from any number of application threads; a thread of its own sends (`Sender`).
Invariants  `send` returns a future or raises; a record whose future was returned gets exactly one outcome.
            Errors of the cluster and of limits go to the future; wrong arguments and a closed producer raise.
Source      Kafka 3.9 KafkaProducer.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from kafka_zk.client.addresses import BOOTSTRAP_SERVERS, bootstrap_addresses
from kafka_zk.client.client_metrics import ClientMetrics, MetricName
from kafka_zk.client.config import ClientConfig
from kafka_zk.client.errors import (
    AuthenticationException,
    IllegalArgumentException,
    IllegalStateException,
    KafkaException,
    SerializationException,
    TimeoutException,
)
from kafka_zk.client.group_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafka_zk.client.network.cluster_snapshot import ClusterSnapshot, PartitionMetadata
from kafka_zk.client.network.metadata import ClusterMetadata
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.client.network.settings import metadata_settings, network_settings
from kafka_zk.client.producer.futures import RecordFuture, RecordMetadata, failed_future
from kafka_zk.client.producer.idempotence import ProducerState
from kafka_zk.client.producer.interceptors import Interceptors, ProducerRecord, interceptors_of
from kafka_zk.client.producer.murmur2 import partition_for_key
from kafka_zk.client.producer.partitioners import Partitioner, RoundRobinPartitioner
from kafka_zk.client.producer.producer_batch import Callback
from kafka_zk.client.producer.producer_metrics import ProducerMetrics
from kafka_zk.client.producer.record_accumulator import UNKNOWN_PARTITION, RecordAccumulator, TopicQueues
from kafka_zk.client.producer.record_size import size_upper_bound
from kafka_zk.client.producer.sender import Sender
from kafka_zk.client.producer.settings import producer_settings
from kafka_zk.client.producer.transactions.steps import TransactionResult
from kafka_zk.client.producer.transactions.transaction_manager import TransactionManager
from kafka_zk.client.serialization import Serialize, class_named, serializer_of
from kafka_zk.client.waits import waitable
from kafka_zk.clock import Clock, SystemClock
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.tables.producer import PRODUCER_KEYS
from kafka_zk.protocol.causes import caused_by
from kafka_zk.protocol.errors import BrokerError, ErrorCode, MessageTooLarge
from kafka_zk.protocol.types import TopicPartition

TOUCH_MS: Final = 1000
"""How often a topic in use is marked as used."""
ROUND_ROBIN: Final = "org.apache.kafka.clients.producer.RoundRobinPartitioner"
_OWN_PARTITIONERS: Final[dict[str, type[Partitioner]]] = {
    ROUND_ROBIN: RoundRobinPartitioner,
    "RoundRobinPartitioner": RoundRobinPartitioner,
}

_client_numbers = itertools.count(1)

log = logging.getLogger("org.apache.kafka.clients.producer.KafkaProducer")

HELP: Final = """Sends records in the background. Close it, or use it in a `with`: else what was not sent yet is lost.

    with KafkaProducer({
        "bootstrap.servers": "localhost:9092",
        "key.serializer": "StringSerializer",
        "value.serializer": "StringSerializer",
    }) as producer:
        future = producer.send("hello", "a value", key="a key", headers=[("source", b"help")])
        print(future.result(10).offset)

These three configs are required; the others are Java's, with its defaults. A serializer is a name of Java's
(ByteArraySerializer, IntegerSerializer ...), or any function from a value to bytes. `send` takes the parts of a record,
not a ProducerRecord: that one (kafka_zk.client.producer.interceptors) is what interceptors see.

send             queue a record; its future has `result(timeout_s)`, a RecordMetadata or what went wrong.
                 partition, timestamp_ms (epoch), headers and callback(metadata, error) may be given, too
flush            wait until all that was sent before has its outcome
close            send what is left, and end
partitions_for   the partitions of a topic, with their leaders
metrics          what was counted, by Java's names

With the config transactional.id:

init_transactions            with transactional.id, once: an older producer of this id is fenced
begin_transaction            all records from now on are read, or none (by isolation.level=read_committed)
send_offsets_to_transaction  commit a consumer's offsets with them: KafkaConsumer.group_metadata() says as whom
commit_transaction           send what is left, and commit; after TimeoutException call it again, it goes on
abort_transaction            after any other error that leaves the producer usable
producer_state               the id and epoch of this producer, for others that send in its name
share_transaction            add partitions whose records others send, with sequences from 0 on
"""


class KafkaProducer:
    # Its docstring is HELP: compiled classes and methods have no docstrings of their own.

    def __init__(self, config: Mapping[str, object], *, clock: Clock | None = None) -> None:
        """Blocks (resolves names). `config` has Java's keys; values may be texts, numbers, booleans or objects.

        Raises ConfigException, UnsupportedSecurity, KafkaException (nothing to connect to).
        """
        checked = ClientConfig(PRODUCER_KEYS, config)
        settings = producer_settings(checked)
        transactional_id = settings.transactional_id
        client_id = checked.text("client.id") or f"producer-{transactional_id or next(_client_numbers)}"
        self._log_prefix = f"Producer clientId={client_id}"
        if transactional_id is not None:
            self._log_prefix += f", transactionalId={transactional_id}"
        self._settings = settings
        self._key_serializer: Serialize | None = serializer_of(checked, "key.serializer")
        self._value_serializer: Serialize | None = serializer_of(checked, "value.serializer")
        self._partitioner: Partitioner | None = _partitioner_of(checked)
        self._interceptors: Interceptors = interceptors_of(checked)
        self._uses_interceptors: bool = bool(self._interceptors)
        self._clock = clock or SystemClock()
        try:
            addresses = bootstrap_addresses(checked.texts(BOOTSTRAP_SERVERS))
            network = network_settings(checked, client_id, self._log_prefix, max_in_flight=settings.max_in_flight)
        except (ConfigException, KafkaException) as error:
            raise caused_by(KafkaException("Failed to construct kafka producer"), error) from error
        idle_ms = checked.integer("metadata.max.idle.ms")
        self._metadata = ClusterMetadata(addresses, metadata_settings(checked, idle_ms=idle_ms))
        self._metadata_changed = threading.Condition()
        self._metadata.listeners.append(self._on_metadata)
        self._client = NetworkClient(network, self._metadata, clock=self._clock)
        self._accumulator = RecordAccumulator(settings, self._client.wakeup)
        metrics = ClientMetrics(
            client_id,
            num_samples=checked.integer("metrics.num.samples"),
            window_ms=checked.integer("metrics.sample.window.ms"),
        )
        self._metrics = ProducerMetrics(metrics)
        self._metrics.watch(self._accumulator, self._client)
        self._topics: dict[str, TopicQueues] = {}
        self._is_closed = False
        # A record whose upper bound is within this needs no exact check.
        self._plain_size_bytes: int = min(settings.max_request_bytes, settings.buffer_bytes)
        self._sender = Sender(
            settings, self._accumulator, self._client, self._metadata, self._metrics, self._clock, self._log_prefix
        )
        self._transactions: TransactionManager | None = self._sender.transactions
        self._sender.thread.start()

    def __enter__(self) -> KafkaProducer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"KafkaProducer({self._log_prefix} {self._accumulator})"

    # --- records -----------------------------------------------------------------------------------------------------

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        callback: Callback | None = None,
    ) -> RecordFuture:
        """Blocks for at most max.block.ms, while metadata or memory is missing. Queue a record to be sent.

        `timestamp_ms` is epoch ms, None for now. `callback(metadata, error)` is called in the sender's thread and
        should be quick. The future fails with TimeoutException (no metadata, no memory, delivery.timeout.ms),
        MessageTooLarge, or what the broker answered. Raises SerializationException, IllegalStateException once closed,
        IllegalArgumentException where a batch (batch.size) never fits into buffer.memory, ValueError.
        """
        if self._uses_interceptors:
            return self._send_intercepted(ProducerRecord(topic, value, key, partition, timestamp_ms, headers), callback)
        return self._send(topic, value, key, partition, timestamp_ms, headers, callback)

    def _send(
        self,
        topic: str,
        value: Any,
        key: Any,
        partition: int | None,
        timestamp_ms: int | None,
        headers: Sequence[tuple[str, bytes | None]],
        callback: Callback | None,
    ) -> RecordFuture:
        if self._is_closed:
            raise IllegalStateException("Cannot perform operation after producer has been closed")
        now_ms = time.time_ns() // 1_000_000
        deadline_s = 0.0
        try:
            queues = self._topics.get(topic)
            if (
                queues is None
                or queues.snapshot is not self._metadata.snapshot
                or now_ms - queues.touched_ms > TOUCH_MS
                or (partition is not None and not 0 <= partition < queues.partition_count)
            ):
                deadline_s = time.monotonic() + self._settings.max_block_ms / 1000
                queues = self._wait_for_topic(topic, partition, deadline_s, now_ms)
            key_bytes, value_bytes = key, value
            try:
                if key is not None and self._key_serializer is not None:
                    key_bytes = self._key_serializer(key)
                if value is not None and self._value_serializer is not None:
                    value_bytes = self._value_serializer(value)
            except AttributeError as error:
                raise _not_converted(error) from error
            if partition is not None:
                chosen = partition
            elif self._partitioner is not None:
                chosen = self._ask_partitioner(topic, key, key_bytes, value, value_bytes, queues)
            elif key_bytes is None or self._settings.ignore_keys:
                chosen = UNKNOWN_PARTITION
            else:
                chosen = partition_for_key(key_bytes, queues.partition_count)
            size = 96
            if key_bytes is not None:
                size += len(key_bytes)
            if value_bytes is not None:
                size += len(value_bytes)
            if headers or size > self._plain_size_bytes:
                try:
                    size = self._checked_size(key_bytes, value_bytes, headers)
                except AttributeError as error:
                    raise _not_converted(error) from error
            timestamp = now_ms
            if timestamp_ms is not None:
                if timestamp_ms < 0:
                    raise ValueError(f"Invalid timestamp: {timestamp_ms}. Timestamp should always be non-negative.")
                timestamp = timestamp_ms
            transactions = self._transactions
            if transactions is None:
                return self._accumulator.append(
                    queues, chosen, timestamp, key_bytes, value_bytes, headers, callback, size, deadline_s
                )
            try:
                with transactions.sending(topic, chosen) as is_new_partition:
                    future = self._accumulator.append(
                        queues, chosen, timestamp, key_bytes, value_bytes, headers, callback, size, deadline_s
                    )
                    if is_new_partition(future.partition):
                        self._client.wakeup()
                    return future
            finally:
                if transactions.is_completing:
                    # The end of the transaction may have waited for this record only.
                    self._client.wakeup()
        except (TimeoutException, BrokerError, AuthenticationException) as error:
            return self._refuse(topic, partition, error, callback)
        except (TypeError, BufferError) as error:
            # Views with gaps fail with the second.
            raise _not_converted(error) from error

    def flush(self, timeout_s: float | None = None) -> None:
        """Blocks until every record sent before has completed. Raises TimeoutException after `timeout_s`."""
        began_ns = time.monotonic_ns()
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        batches = self._accumulator.begin_flush()
        try:
            self._client.wakeup()
            results = [batch.result for batch in batches]
            while results:
                result = results.pop()
                left_s = None if deadline_s is None else max(0.0, deadline_s - time.monotonic())
                if not result.wait(left_s):
                    raise TimeoutException(f"Failed to flush within {timeout_s} s")
                results.extend(part for _, part in result.parts)
        finally:
            self._accumulator.end_flush()
            self._metrics.flush_ns += time.monotonic_ns() - began_ns

    def close(self, timeout_s: float | None = None) -> None:
        """Blocks until everything is sent, at most `timeout_s`; the rest then fails. Idempotent.

        Called from a callback it does not wait: then everything that is not done fails.
        """
        if timeout_s is not None and timeout_s < 0:
            raise ValueError("The timeout cannot be negative.")
        self._is_closed = True
        self._accumulator.close()
        with self._metadata_changed:
            self._metadata_changed.notify_all()
        thread = self._sender.thread
        if thread is threading.current_thread():
            self._sender.force_close()
            return
        self._sender.close()
        thread.join(None if timeout_s is None else waitable(timeout_s))
        if thread.is_alive():
            self._sender.force_close()
            thread.join()
        self._interceptors.close()

    # --- transactions ------------------------------------------------------------------------------------------------

    def init_transactions(self) -> None:
        """Blocks for at most max.block.ms. Get a producer id, and end what an older producer of this transactional.id
        left open: that one is fenced from now on.

        Raises IllegalStateException without transactional.id, TimeoutException (call it again: it goes on),
        TransactionalIdAuthorizationFailed, KafkaException.
        """
        self._await("init", self._transactional().init_transactions)

    def begin_transaction(self) -> None:
        """Every record sent from now on belongs to it. Raises ProducerFenced, IllegalStateException, KafkaException."""
        self._timed("begin", self._transactional().begin_transaction)

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group_metadata: ConsumerGroupMetadata
    ) -> None:
        """Blocks for at most max.block.ms. Commit offsets of what was read if, and only if, the transaction is.

        `offsets` are of the next records to read; `group_metadata` is `KafkaConsumer.group_metadata()`, so that a
        member that lost its partitions cannot commit. Raises CommitFailed (abort, then join again), TimeoutException,
        ProducerFenced, GroupAuthorizationFailed, IllegalStateException, IllegalArgumentException, KafkaException.
        """
        if group_metadata.generation > 0 and not group_metadata.member_id:
            raise IllegalArgumentException(
                f"Passed in group metadata {group_metadata} has generationId > 0 but member.id "
            )
        transactions = self._transactional()
        if offsets:
            self._await("send-offsets", lambda: transactions.send_offsets(offsets, group_metadata))

    @property
    def producer_state(self) -> ProducerState:
        """The id and epoch that `init_transactions` got. Raises IllegalStateException without transactional.id."""
        return self._transactional().producer

    def share_transaction(self, partitions: Iterable[TopicPartition]) -> None:
        """Blocks for at most max.block.ms. Add partitions whose records others send, as this producer, with sequences
        from 0 on; this one sends none there. Java's producer has no such call.

        Raises TimeoutException, ProducerFenced, TopicAuthorizationFailed, IllegalStateException, KafkaException.
        """
        result = self._transactional().add_partitions(partitions)
        self._client.wakeup()
        result.wait(self._settings.max_block_ms)

    def commit_transaction(self) -> None:
        """Blocks for at most max.block.ms. Send what is left, then commit: all records of the transaction, or none.

        Raises what a record failed with, or KafkaException around it: then abort. TimeoutException: call it again, it
        goes on. ProducerFenced and other errors of the producer itself: close it.
        """
        self._await("commit", self._transactional().commit)

    def abort_transaction(self) -> None:
        """Blocks for at most max.block.ms. Records that were not sent yet fail; no consumer with
        isolation.level=read_committed gets any. Raises as `commit_transaction`.
        """
        log.info("[%s] Aborting incomplete transaction", self._log_prefix)
        self._await("abort", self._transactional().abort)

    def _transactional(self) -> TransactionManager:
        if self._transactions is None:
            raise IllegalStateException(
                "Transactional method invoked on a non-transactional producer."
                if self._settings.idempotent
                else "Cannot use transactional methods without enabling transactions by setting the transactional.id "
                "configuration property"
            )
        if self._is_closed:
            raise IllegalStateException("Cannot perform operation after producer has been closed")
        return self._transactions

    def _await(self, call: str, begin: Callable[[], TransactionResult]) -> None:
        def run() -> None:
            result = begin()
            self._client.wakeup()
            result.wait(self._settings.max_block_ms)

        self._timed(call, run)

    def _timed(self, call: str, run: Callable[[], None]) -> None:
        """As in Java, calls that fail count for nothing."""
        began_ns = time.monotonic_ns()
        run()
        self._metrics.transaction_ns[call] += time.monotonic_ns() - began_ns

    # --- what is known -----------------------------------------------------------------------------------------------

    def partitions_for(self, topic: str) -> list[PartitionMetadata]:
        """Blocks for at most max.block.ms. The partitions of a topic in order. Raises TimeoutException, BrokerError."""
        deadline_s = time.monotonic() + self._settings.max_block_ms / 1000
        # From the snapshot that had it: the topic may be missing in the next one.
        snapshot = self._wait_for_topic(topic, None, deadline_s, time.time_ns() // 1_000_000).snapshot
        assert snapshot is not None, "the wait ends with one"
        known = snapshot.topics[topic].partitions
        return [known[number] for number in sorted(known)]

    def metrics(self) -> dict[MetricName, float]:
        """This producer's metrics, by Java's names."""
        return self._metrics.snapshot(self._clock.monotonic_ms())

    # --- inside ------------------------------------------------------------------------------------------------------

    def _send_intercepted(self, record: ProducerRecord, callback: Callback | None) -> RecordFuture:
        topic, value, key, partition, timestamp_ms, headers = self._interceptors.on_send(record)

        def tell(metadata: RecordMetadata, error: Exception | None) -> None:
            self._interceptors.on_acknowledgement(metadata, error)
            if callback is not None:
                callback(metadata, error)

        try:
            return self._send(topic, value, key, partition, timestamp_ms, headers, tell)
        except Exception as error:
            # Any error, also of a serializer or partitioner: interceptors that count sends must see failures, too.
            self._interceptors.on_acknowledgement(failed_future(topic, -1, error).metadata(), error)
            raise

    def _refuse(self, topic: str, partition: int | None, error: Exception, callback: Callback | None) -> RecordFuture:
        self._metrics.record_refused(topic, self._clock.monotonic_ms())
        future = failed_future(topic, UNKNOWN_PARTITION if partition is None else partition, error)
        if callback is not None:
            callback(future.metadata(), error)
        if self._transactions is not None:
            self._transactions.send_failed(error)
        return future

    def _ask_partitioner(
        self, topic: str, key: Any, key_bytes: Any, value: Any, value_bytes: Any, queues: TopicQueues
    ) -> int:
        assert self._partitioner is not None
        assert queues.snapshot is not None, "its topic is known"
        chosen = self._partitioner.partition(topic, key, key_bytes, value, value_bytes, queues.snapshot)
        if chosen < 0:
            raise ValueError(
                f"The partitioner generated an invalid partition number: {chosen}. "
                "Partition number should always be non-negative."
            )
        return chosen

    def _checked_size(self, key: Any, value: Any, headers: Sequence[tuple[str, bytes | None]]) -> int:
        size = size_upper_bound(key, value, headers)
        if size > self._settings.max_request_bytes:
            raise MessageTooLarge(
                f"The message is {size} bytes when serialized which is larger than "
                f"{self._settings.max_request_bytes}, which is the value of the max.request.size configuration."
            )
        if size > self._settings.buffer_bytes:
            raise MessageTooLarge(
                f"The message is {size} bytes when serialized which is larger than the total memory buffer you have "
                "configured with the buffer.memory configuration."
            )
        return size

    def _on_metadata(self, _: ClusterSnapshot) -> None:
        with self._metadata_changed:
            self._metadata_changed.notify_all()

    def _wait_for_topic(self, topic: str, partition: int | None, deadline_s: float, now_ms: int) -> TopicQueues:
        if partition is not None and partition < 0:
            raise ValueError(f"Invalid partition: {partition}. Partition number should always be non-negative or null.")
        began_ns = time.monotonic_ns()
        try:
            snapshot = self._await_topic(topic, partition, deadline_s)
        finally:
            self._metrics.metadata_wait_ns += time.monotonic_ns() - began_ns
        queues = self._accumulator.topic_queues(topic)
        queues.learn(snapshot, now_ms)
        self._topics[topic] = queues
        return queues

    def _await_topic(self, topic: str, partition: int | None, deadline_s: float) -> ClusterSnapshot:
        """Blocks. Returns a snapshot that has the topic and the partition."""
        # Read first: the sender thread may have the response before the next line.
        known_update = self._metadata.update_count
        is_new = self._metadata.add_topic(topic, self._clock.monotonic_ms())
        with self._metadata_changed:
            while True:
                self._metadata.raise_if_refused()
                is_news = self._metadata.update_count != known_update
                snapshot = self._metadata.snapshot
                count = snapshot.partition_count(topic)
                if count and (partition is None or partition < count):
                    return snapshot
                if self._is_closed:
                    raise IllegalStateException("Requested metadata update after close")
                if is_news or snapshot.topic_errors.get(topic) == ErrorCode.INVALID_TOPIC_EXCEPTION:
                    # Refused topics are requested again: they may be allowed by now.
                    snapshot.raise_for_refused([topic])
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    raise TimeoutException(self._missing(topic, partition, count))
                if not is_new:
                    self._metadata.request_update()
                is_new = False
                self._client.wakeup()
                self._metadata_changed.wait(waitable(left_s))

    def _missing(self, topic: str, partition: int | None, count: int | None) -> str:
        waited_ms = self._settings.max_block_ms
        if not count:
            return f"Topic {topic} not present in metadata after {waited_ms} ms."
        return (
            f"Partition {partition} of topic {topic} with partition count {count} "
            f"is not present in metadata after {waited_ms} ms."
        )


setattr(KafkaProducer, "__doc__", HELP)  # noqa: B010  # mypyc forbids the assignment


def _partitioner_of(config: ClientConfig) -> Partitioner | None:
    """The partitioner of partitioner.class: an object, a class, a function of its arguments. None: the built-in one."""
    given: Any = config.given("partitioner.class")
    if given is None or given == "":
        return None
    if isinstance(given, str):
        given = _OWN_PARTITIONERS.get(given) or class_named("partitioner.class", given)
    made: Partitioner = given() if isinstance(given, type) else given
    if not isinstance(getattr(made, "partition", None), Callable):  # type: ignore[arg-type]
        raise ConfigException(f"Invalid value {given} for configuration partitioner.class: It has no method partition.")
    return made


def _not_converted(error: Exception) -> Exception:
    refusal = f"Can't send a key or value that its serializer did not convert to bytes: {error}"
    return caused_by(SerializationException(refusal), error)
