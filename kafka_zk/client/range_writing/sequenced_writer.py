"""SequencedWriter: appends records under a producer id and sequences chosen by the caller.

Role        Acts, in one thread: its own sockets, nothing in the background.
Invariants  One request per partition at a time, with acks=all. If its response is lost, it is not resent before the log
            was checked for its sequences: a leader that has them does not append them again, but forgets a producer
            whose records are older than producer.id.expiration.ms when it starts, and at regular checks.
            A call that makes no progress for delivery.timeout.ms fails.
Source      Kafka 3.9 ProducerAppendInfo.checkSequence; ListOffsetsRequest.DEBUGGING_REPLICA_ID.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from kafka_zk.client.addresses import bootstrap_addresses
from kafka_zk.client.config import ClientConfig
from kafka_zk.client.errors import DisconnectException, KafkaException, TimeoutException
from kafka_zk.client.network.metadata import ClusterMetadata
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.client.network.settings import metadata_settings, network_settings
from kafka_zk.client.producer.settings import producer_settings
from kafka_zk.client.range_reading.range_reader import RangeReader
from kafka_zk.client.range_writing.arrivals import Arrivals, ProducerIdentity, arrivals
from kafka_zk.clock import Clock, SystemClock
from kafka_zk.config.tables.consumer import CONSUMER_KEYS
from kafka_zk.config.tables.producer import PRODUCER_KEYS
from kafka_zk.protocol.errors import ErrorCode, error_class_for, is_retriable
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages import init_producer_id, list_offsets
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PRODUCE_RESPONSE,
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import NO_PRODUCER_ID
from kafka_zk.record.builder import build_batch
from kafka_zk.record.types import Record

BYTES = "org.apache.kafka.common.serialization.ByteArraySerializer"
LATEST = -1
CONSUMER, DEBUGGING_CONSUMER = -1, -2
RETRY_S = 0.05
"""How long to wait before asking a leader again."""

Request = TypeVar("Request")
Answer = TypeVar("Answer")


class Overtaken(KafkaException):
    """The leader has other records under these sequences, or later ones: another producer uses the same identity."""


class SequencedWriter:
    """Close it, or use it in a `with`."""

    def __init__(
        self, properties: Mapping[str, str], *, transactional_id: str | None = None, clock: Clock | None = None
    ) -> None:
        """A producer's properties. With `transactional_id` records belong to its open transaction, which another began
        (shared_transaction.py). Blocks (resolves names). Raises ConfigException, UnsupportedSecurity."""
        given = {name: value for name, value in properties.items() if name in PRODUCER_KEYS}
        forced = {"acks": "all", "enable.idempotence": "true", "key.serializer": BYTES, "value.serializer": BYTES}
        config = ClientConfig(PRODUCER_KEYS, {**given, **forced})
        client_id = config.text("client.id") or "sequenced-writer"
        self._properties = dict(properties)
        self._transactional_id = transactional_id
        self._settings = producer_settings(config)
        self._clock = clock or SystemClock()
        self._metadata = ClusterMetadata(
            bootstrap_addresses(config.texts("bootstrap.servers")),
            metadata_settings(config, allow_auto_topic_creation=False),
        )
        self._client = NetworkClient(
            network_settings(config, client_id, f"SequencedWriter clientId={client_id}"), self._metadata, clock=clock
        )

    def __enter__(self) -> SequencedWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    @property
    def batch_bytes(self) -> int:
        """How much the caller should give to one `append`: half of max.request.size."""
        return self._settings.max_request_bytes // 2

    def new_identity(self) -> ProducerIdentity:
        """Blocks. Gets a new producer id. Raises BrokerError, TimeoutException."""

        def build(_: int) -> init_producer_id.InitProducerIdRequest:
            return init_producer_id.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1)

        def read(answer: init_producer_id.InitProducerIdResponse) -> tuple[int, ProducerIdentity]:
            return answer.error_code, ProducerIdentity(answer.producer_id, answer.producer_epoch)

        request, response = init_producer_id.INIT_PRODUCER_ID_REQUEST, init_producer_id.INIT_PRODUCER_ID_RESPONSE
        return self._until_answered("a producer id", self._client.least_loaded_node, request, response, build, read)

    def decided_end(self, partition: TopicPartition) -> int:
        """Blocks. Returns an offset at or after the current log end, once all below it is committed or truncated.

        Records above the high watermark may still be committed or lost, so this waits until that is decided.
        Raises BrokerError, TimeoutException.
        """
        deadline_ms = self._deadline_ms()
        end: int | None = None
        while True:
            # If the log is truncated meanwhile, the records above are decided, too.
            log_end = self._listed(partition, DEBUGGING_CONSUMER)
            end = log_end if end is None else min(end, log_end)
            committed = self._listed(partition, CONSUMER)
            if committed >= end:
                return end
            if self._clock.monotonic_ms() >= deadline_ms:
                raise TimeoutException(
                    f"Offsets {committed} to {end - 1} of partition {partition} are not replicated "
                    "yet, so they may still be lost."
                )
            self._client.poll(RETRY_S)

    def arrived(self, partition: TopicPartition, start: int, end: int, identity: ProducerIdentity) -> Arrivals:
        """Blocks. Finds the records of `identity` from `start` to before `end`. Raises LateRecords, RangeError."""
        if start >= end:
            return Arrivals(0, ())
        given = {name: value for name, value in self._properties.items() if name in CONSUMER_KEYS}
        with RangeReader({**given, "isolation.level": "read_uncommitted"}) as reader:
            return arrivals(reader.headers(partition, start, end), identity, start=start, end=end)

    def committed(self, partition: TopicPartition, start: int, end: int, identity: ProducerIdentity) -> Arrivals:
        """As `arrived`, without what a transaction wrote that was aborted. Blocks until those below `end` are over."""
        if start >= end:
            return Arrivals(0, ())
        given = {name: value for name, value in self._properties.items() if name in CONSUMER_KEYS}
        with RangeReader({**given, "isolation.level": "read_committed"}) as reader:
            headers = (
                header._replace(producer_id=NO_PRODUCER_ID) if is_aborted else header
                for header, is_aborted in reader.decided_headers(partition, start, end)
            )
            return arrivals(headers, identity, start=start, end=end)

    def append(
        self,
        partition: TopicPartition,
        identity: ProducerIdentity,
        sequence: int,
        records: Sequence[Record],
        *,
        behind: int,
    ) -> list[tuple[int, int]]:
        """Blocks until all in-sync replicas have them. Returns pairs (first offset, count), in order.

        None of these records is before offset `behind`. Their own offsets do not matter.
        Raises Overtaken, BrokerError, TimeoutException, RangeError.
        """
        # Offsets of a batch that is sent count from 0.
        placed = [record._replace(offset=index) for index, record in enumerate(records)]
        data = build_batch(
            placed,
            codec=self._settings.codec,
            level=self._settings.level,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            base_sequence=sequence,
            transactional=self._transactional_id is not None,
        )

        def build(_: int) -> ProduceRequest:
            wanted = PartitionProduceData(index=partition.partition, records=data)
            topic = TopicProduceData(name=partition.topic, partition_data=[wanted])
            timeout_ms = self._settings.request_timeout_ms
            return ProduceRequest(
                transactional_id=self._transactional_id, acks=-1, timeout_ms=timeout_ms, topic_data=[topic]
            )

        def read(answer: ProduceResponse) -> tuple[int, tuple[int, int]]:
            for topic in answer.responses:
                for found in topic.partition_responses:
                    return found.error_code, (found.error_code, found.base_offset)
            return ErrorCode.UNKNOWN_SERVER_ERROR, (0, -1)

        def look() -> tuple[int, int] | None:
            first = self._found(partition, identity, sequence, len(records), behind)
            return None if first is None else (ErrorCode.NONE, first)

        request, response = PRODUCE_REQUEST, PRODUCE_RESPONSE
        try:
            code, base_offset = self._until_answered(
                f"partition {partition}", self._leader(partition), request, response, build, read, look
            )
        except error_class_for(ErrorCode.MESSAGE_TOO_LARGE):
            if len(records) == 1:
                raise
            half = len(records) // 2
            first = self.append(partition, identity, sequence, records[:half], behind=behind)
            last_offset, last_count = first[-1]
            more = self.append(partition, identity, sequence + half, records[half:], behind=last_offset + last_count)
            return first + more
        except _OVERTAKEN as error:
            raise Overtaken(
                f"Partition {partition} rejected sequences {sequence} to {sequence + len(records) - 1}: {error}"
            ) from error
        if base_offset < 0:
            raise Overtaken(
                f"The leader of partition {partition} did not return the offset of sequence {sequence} ({code})."
            )
        return [(base_offset, len(records))]

    def _found(
        self, partition: TopicPartition, identity: ProducerIdentity, sequence: int, count: int, behind: int
    ) -> int | None:
        """Blocks. Finds the offset of a batch with an unknown outcome; None if it was not appended.

        It has `count` records, from `sequence` on. Raises Overtaken if that cannot be decided, and if a batch of
        another length has some of these sequences; BrokerError, TimeoutException, RangeError.
        """
        found = self.arrived(partition, behind, self.decided_end(partition), identity)
        for run in found.runs:
            if run.sequence == sequence and run.length == count:
                return run.offset
            if sequence < run.sequence + run.length:
                # A killed run that split its batches differently: the leader has just now served its last request.
                raise Overtaken(
                    f"A request of another run wrote sequences {run.sequence} to {run.sequence + run.length - 1} to "
                    f"partition {partition}, where this one sent {sequence} to {sequence + count - 1}."
                )
        if found.count > sequence or found.missing is not None:
            raise Overtaken(
                f"Batches after offset {behind} of partition {partition} were deleted, so it is unknown whether "
                f"sequence {sequence} was written."
            )
        return None

    # --- requests ----------------------------------------------------------------------------------------------------

    def _deadline_ms(self) -> int:
        return self._clock.monotonic_ms() + self._settings.delivery_timeout_ms

    def _leader(self, partition: TopicPartition) -> Callable[[], int | None]:
        self._metadata.add_topic(partition.topic, self._clock.monotonic_ms())
        return lambda: self._metadata.snapshot.leader_of(partition)

    def _listed(self, partition: TopicPartition, replica_id: int) -> int:
        """Blocks. Returns the high watermark for a consumer, the log end offset for the debugging id."""

        def build(version: int) -> list_offsets.ListOffsetsRequest:
            known = self._metadata.snapshot.partition(partition)
            # Any replica answers the debugging id; only the current leader's answer counts.
            epoch = -1 if version < 4 or known is None or known.leader_epoch is None else known.leader_epoch
            wanted = list_offsets.ListOffsetsPartition(
                partition_index=partition.partition, current_leader_epoch=epoch, timestamp=LATEST
            )
            topic = list_offsets.ListOffsetsTopic(name=partition.topic, partitions=[wanted])
            return list_offsets.ListOffsetsRequest(replica_id=replica_id, isolation_level=0, topics=[topic])

        def read(answer: list_offsets.ListOffsetsResponse) -> tuple[int, int]:
            for topic in answer.topics:
                for found in topic.partitions:
                    return found.error_code, found.offset
            return ErrorCode.UNKNOWN_SERVER_ERROR, -1

        request, response = list_offsets.LIST_OFFSETS_REQUEST, list_offsets.LIST_OFFSETS_RESPONSE
        return self._until_answered(f"partition {partition}", self._leader(partition), request, response, build, read)

    def _until_answered(
        self,
        what: str,
        find_node: Callable[[], int | None],
        request: Message[Request],
        response: Message[Answer],
        build: Callable[[int], Request],
        read: Callable[[Answer], tuple[int, Result]],
        look: Callable[[], Result | None] = lambda: None,
    ) -> Result:
        """Blocks. Retry transient errors. Raises BrokerError for a permanent one, TimeoutException.

        `look` is called before each retry: if the previous attempt took effect, what it finds is the result.
        """
        deadline_ms = self._deadline_ms()
        trouble = "no broker to ask is known"
        while True:
            node_id = find_node()
            if node_id is None:
                self._metadata.request_update()
            else:
                answers, errors = self._asked(node_id, request, response, build)
                if answers:
                    code, result = read(answers[0])
                    if code == ErrorCode.NONE:
                        return result
                    if not is_retriable(code):
                        raise error_class_for(code)(f"{what}: {error_class_for(code)()}")
                    trouble = str(error_class_for(code)())
                elif isinstance(errors[0], DisconnectException | TimeoutException):
                    trouble = str(errors[0])
                else:
                    raise errors[0]
                self._metadata.request_update()
            if self._clock.monotonic_ms() >= deadline_ms:
                raise TimeoutException(f"{what}: no success within {self._settings.delivery_timeout_ms} ms: {trouble}")
            self._client.poll(RETRY_S)
            self._metadata.raise_if_refused()
            if node_id is not None and (found := look()) is not None:
                return found

    def _asked(
        self, node_id: int, request: Message[Request], response: Message[Answer], build: Callable[[int], Request]
    ) -> tuple[list[Answer], list[Exception]]:
        answers: list[Answer] = []
        errors: list[Exception] = []
        self._client.send(node_id, request, response, build, answers.append, errors.append)
        while not answers and not errors:
            self._client.poll(1)
        return answers, errors


Result = TypeVar("Result")
_OVERTAKEN: tuple[type[Any], ...] = tuple(
    error_class_for(code)
    for code in (
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.UNKNOWN_PRODUCER_ID,
    )
)
