"""RangeReader: fetches the batches of planned ranges from their leaders.

Role        Acts, in one thread: its own sockets, nothing in the background.
Invariants  Positions are never reset: deleted offsets are an error, offsets that compaction removed
            are skipped. While the batches of one response are used, the next one is being fetched.
            A call that makes no progress for default.api.timeout.ms fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from kafka_zk.client.addresses import bootstrap_addresses
from kafka_zk.client.config import ClientConfig
from kafka_zk.client.errors import DisconnectException, TimeoutException
from kafka_zk.client.network.metadata import ClusterMetadata
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.client.network.settings import metadata_settings, network_settings
from kafka_zk.client.range_reading.errors import CorruptRange, EndBeyondLog, NoProgress, OffsetsLost, TopicReplaced
from kafka_zk.client.range_reading.fetching import (
    BY_TOPIC_ID,
    MAY_PASS,
    FetchSettings,
    fetch_request,
    fetch_settings,
    partition_of,
)
from kafka_zk.client.range_reading.visible_batches import AbortedTransactions, VisibleBatches, visible_batches
from kafka_zk.clock import Clock, SystemClock
from kafka_zk.config.tables.consumer import CONSUMER_KEYS
from kafka_zk.protocol.errors import BrokerError, CorruptMessage, ErrorCode, code_of, error_class_for
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.fetch import FETCH_REQUEST, FETCH_RESPONSE, FetchRequest, FetchResponse, PartitionData
from kafka_zk.protocol.messages.list_offsets import (
    LIST_OFFSETS_REQUEST,
    LIST_OFFSETS_RESPONSE,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_zk.protocol.types import NULL_UUID, TopicPartition
from kafka_zk.record.batch import Batch, BatchHeader

BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
MAX_PARTITION_BYTES = 1 << 30
LATEST, EARLIEST = -1, -2
RETRY_S = 0.05
"""How long to wait before looking for a leader again."""

Request = TypeVar("Request")
Answer = TypeVar("Answer")


@dataclass(slots=True)
class _Flight(Generic[Answer]):
    """A request for a position, and its outcome once it has one."""

    position: int
    answer: Answer | None = None
    error: Exception | None = None

    @property
    def is_over(self) -> bool:
        return self.answer is not None or self.error is not None


class RangeReader:
    """Close it, or use it in a `with`."""

    def __init__(self, properties: Mapping[str, str], *, clock: Clock | None = None) -> None:
        """A consumer's properties. Blocks (resolves names). Raises ConfigException, UnsupportedSecurity."""
        config = ClientConfig(CONSUMER_KEYS, {**properties, "key.deserializer": BYTES, "value.deserializer": BYTES})
        client_id = config.text("client.id") or "range-reader"
        self._settings = fetch_settings(config)
        self._clock = clock or SystemClock()
        self._metadata = ClusterMetadata(
            bootstrap_addresses(config.texts("bootstrap.servers")),
            metadata_settings(config, allow_auto_topic_creation=False),
        )
        self._client = NetworkClient(
            network_settings(config, client_id, f"RangeReader clientId={client_id}"), self._metadata, clock=clock
        )

    def __enter__(self) -> RangeReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    def read(
        self, partition: TopicPartition, start_offset: int, end_offset: int, topic_id: UUID = NULL_UUID
    ) -> Iterator[Batch]:
        """Blocks in each step. Yields the batches with offsets from `start_offset` to before `end_offset`, of
        the topic with this id if one is given.

        Their first and last may reach beyond the range. Control batches are left out, and for a reader of committed
        records those of aborted transactions. A batch is only valid until the next step.
        Raises OffsetsLost, EndBeyondLog, TopicReplaced, NoProgress, CorruptRange; BrokerError for permanent
        errors.
        """
        for found in self._reading(partition, end_offset, topic_id).answers(start_offset):
            yield from found.batches

    def headers(self, partition: TopicPartition, start_offset: int, end_offset: int) -> Iterator[BatchHeader]:
        """As `read`, for every existing batch: also control batches and those emptied by compaction."""
        for found in self._reading(partition, end_offset, NULL_UUID).answers(start_offset):
            yield from found.headers

    def decided_headers(
        self, partition: TopicPartition, start_offset: int, end_offset: int, topic_id: UUID = NULL_UUID
    ) -> Iterator[tuple[BatchHeader, bool]]:
        """As `headers`, with whether a transaction that was aborted wrote it. For a reader of committed records: it
        waits for transactions that are open."""
        assert self._settings.read_committed, "what is undecided is not told apart"
        for found in self._reading(partition, end_offset, topic_id).answers(start_offset):
            for header in found.headers:
                yield header, header.base_offset in found.aborted

    def _reading(self, partition: TopicPartition, end_offset: int, topic_id: UUID) -> _Reading:
        return _Reading(self._client, self._metadata, self._settings, self._clock, partition, end_offset, topic_id)


class _Reading:
    """One range being read."""

    def __init__(
        self,
        client: NetworkClient,
        metadata: ClusterMetadata,
        settings: FetchSettings,
        clock: Clock,
        partition: TopicPartition,
        end_offset: int,
        topic_id: UUID,
    ) -> None:
        self._client = client
        self._metadata = metadata
        self._settings = settings
        self._clock = clock
        self._partition = partition
        self._end_offset = end_offset
        self._topic_id = topic_id
        self._max_bytes = settings.partition_max_bytes
        self._progress_ms = clock.monotonic_ms()
        self._trouble = "its leader is unknown"

    def answers(self, position: int) -> Iterator[VisibleBatches]:
        self._metadata.add_topic(self._partition.topic, self._clock.monotonic_ms())
        flight: _Flight[FetchResponse] | None = None
        while position < self._end_offset:
            flight = flight or self._sent(position)
            data = self._landed(flight)
            found = None if data is None else self._visible(data, position)
            if found is None or found.next_offset == position:
                if data is not None and found is not None and self._is_passed(data, found, position):
                    return
                flight = None
                self._be_patient(position)
                continue
            self._progress_ms = self._clock.monotonic_ms()
            position = found.next_offset
            flight = self._sent(position) if position < self._end_offset else None
            yield found
            # The caller's own time does not count as lack of progress.
            self._progress_ms = self._clock.monotonic_ms()

    def _visible(self, data: PartitionData, position: int) -> VisibleBatches:
        records = data.records
        assert records is None or isinstance(records, bytes | bytearray | memoryview), "an answer holds bytes"
        aborted = None
        if self._settings.read_committed:
            aborted = AbortedTransactions(
                (each.first_offset, each.producer_id) for each in data.aborted_transactions or ()
            )
        try:
            return visible_batches(
                memoryview(records or b""), position, self._end_offset, aborted, check_crcs=self._settings.check_crcs
            )
        except CorruptMessage as error:
            raise CorruptRange(self._partition, position, self._end_offset - 1, str(error)) from error

    def _is_passed(self, data: PartitionData, found: VisibleBatches, position: int) -> bool:
        """Whether nothing is left between `position` and the end of the range: compaction removed it all."""
        if found.is_partial:
            self._max_bytes = min(2 * self._max_bytes, MAX_PARTITION_BYTES)
            self._trouble = f"a batch is larger than {self._max_bytes // 2} bytes"
            return False
        readable_to = data.last_stable_offset if self._settings.read_committed else data.high_watermark
        if readable_to >= self._end_offset:
            return True
        self._trouble = f"its log can only be read up to offset {readable_to}"
        return False

    def _be_patient(self, position: int) -> None:
        """Poll the client briefly. Raises NoProgress after too long without progress."""
        waited_ms = self._clock.monotonic_ms() - self._progress_ms
        if waited_ms >= self._settings.patience_ms:
            raise NoProgress(self._partition, position, self._end_offset, waited_ms, self._trouble)
        self._client.poll(RETRY_S)
        self._metadata.raise_if_refused()

    def _sent(self, position: int) -> _Flight[FetchResponse] | None:
        """Send a fetch; None while there is no leader."""
        snapshot = self._metadata.snapshot
        known = snapshot.partition(self._partition)
        if known is None or known.leader_id is None:
            error = snapshot.topic_errors.get(self._partition.topic)
            if error is not None:
                self._trouble = f"brokers return {error.name}"
            self._metadata.request_update()
            return None
        topic_id = snapshot.topics[self._partition.topic].topic_id or NULL_UUID
        if NULL_UUID not in (topic_id, self._topic_id) and topic_id != self._topic_id:
            raise TopicReplaced(self._partition, position, self._end_offset)
        leader_epoch = known.leader_epoch

        def build(version: int) -> FetchRequest:
            return fetch_request(
                version, self._partition, topic_id, leader_epoch, position, self._max_bytes, self._settings
            )

        # A cluster whose topics have no ids (inter.broker.protocol.version below 2.8) is queried by name.
        max_version = BY_TOPIC_ID - 1 if topic_id == NULL_UUID else None
        return self._asked(known.leader_id, FETCH_REQUEST, FETCH_RESPONSE, build, position, max_version)

    def _asked(
        self,
        leader_id: int,
        request: Message[Request],
        response: Message[Answer],
        build: Callable[[int], Request],
        position: int,
        max_version: int | None = None,
    ) -> _Flight[Answer]:
        flight: _Flight[Answer] = _Flight(position)

        def answered(answer: Answer) -> None:
            flight.answer = answer

        def failed(error: Exception) -> None:
            flight.error = error

        self._client.send(leader_id, request, response, build, answered, failed, max_version=max_version)
        self._client.poll(0)
        return flight

    def _listed(self, timestamp: int) -> int | None:
        """Blocks. Asks the leader where the log starts or ends; None if there is no answer."""
        leader_id = self._metadata.snapshot.leader_of(self._partition)
        if leader_id is None:
            return None
        isolation_level = int(self._settings.read_committed)
        topic = ListOffsetsTopic(
            name=self._partition.topic,
            partitions=[ListOffsetsPartition(partition_index=self._partition.partition, timestamp=timestamp)],
        )

        def build(_: int) -> ListOffsetsRequest:
            return ListOffsetsRequest(replica_id=-1, isolation_level=isolation_level, topics=[topic])

        flight = self._asked(leader_id, LIST_OFFSETS_REQUEST, LIST_OFFSETS_RESPONSE, build, self._end_offset)
        self._wait(flight)
        for answered in flight.answer.topics if flight.answer is not None else ():
            for partition in answered.partitions:
                return partition.offset if partition.error_code == ErrorCode.NONE else None
        return None

    def _landed(self, flight: _Flight[FetchResponse] | None) -> PartitionData | None:
        """The leader's data for the partition; None for transient errors. Raises OffsetsLost, EndBeyondLog ..."""
        if flight is None:
            return None
        self._wait(flight)
        if flight.error is not None:
            if not isinstance(flight.error, DisconnectException | TimeoutException):
                raise flight.error
            self._trouble = f"{flight.error}"
            self._metadata.request_update()
            return None
        assert flight.answer is not None
        data = partition_of(flight.answer)
        code = flight.answer.error_code or (ErrorCode.NONE if data is None else data.error_code)
        if code == ErrorCode.NONE:
            if data is None:
                # A broker answers like this if the client exceeds its quota.
                self._trouble = "its leader returns no data"
            return data
        self._judge(code, flight.position)
        return None

    def _wait(self, flight: _Flight[Any]) -> None:
        """Blocks until there is an outcome. Raises NoProgress."""
        while not flight.is_over:
            left_ms = self._progress_ms + self._settings.patience_ms - self._clock.monotonic_ms()
            if left_ms <= 0:
                raise NoProgress(
                    self._partition, flight.position, self._end_offset, self._settings.patience_ms, "no response"
                )
            self._client.poll(left_ms / 1000)

    def _judge(self, code: int, position: int) -> None:
        """Raise permanent errors."""
        if code in MAY_PASS:
            self._trouble = f"its leader returns {code_of(code).name}"
            self._metadata.request_update()
        elif code == ErrorCode.OFFSET_OUT_OF_RANGE:
            # The response does not contain the log's offsets.
            log_start_offset, log_end_offset = self._listed(EARLIEST), self._listed(LATEST)
            if log_start_offset is not None and log_start_offset > position:
                raise OffsetsLost(self._partition, position, self._end_offset, log_start_offset)
            if log_end_offset is not None and log_end_offset < position:
                raise EndBeyondLog(self._partition, position, self._end_offset, log_end_offset)
            self._trouble = f"its leader reports that offset {position} is out of range"
        else:
            error: BrokerError = error_class_for(code)()
            raise type(error)(f"Offset {position} of partition {self._partition}: {error}")
