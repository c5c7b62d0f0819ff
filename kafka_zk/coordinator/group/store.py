"""The log of the coordinator: records into a partition of __consumer_offsets, and its batches out again.

Role        Acts, through the ReplicaManager. Knows nothing about groups.
Invariants  `done` is called exactly once for each append, without switching: at once, or when the batch is committed.
            Batches carry a producer id in transactions only; those of offsets have the base sequence 0 and those of
            groups none, because Apache's have.
Source      Kafka 3.9 GroupMetadataManager: appendForGroup, storeOffsets, cleanupGroupMetadata, doLoadGroupsAndOffsets.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_zk.admin.topic_rules import GROUP_METADATA_TOPIC
from kafka_zk.clock import Clock
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import BrokerError, ErrorCode
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import NO_SEQUENCE, Batch, batches
from kafka_zk.record.builder import build_batch
from kafka_zk.record.compression import Codec
from kafka_zk.record.produced import Origin
from kafka_zk.record.types import Record
from kafka_zk.replication.serving.append import AppendFailure

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import AppendInfo, UnifiedLog
    from kafka_zk.replication.manager import ReplicaManager

NO_ACKS = 0
READ_BYTES = 256 * 1024
"""Read at a time while loading: others run in between."""

log_lines = logging.getLogger("kafka.coordinator.group.GroupMetadataManager")

KeyAndValue = tuple[bytes, bytes | None]
Done = Callable[[ErrorCode, int], None]
"""Told the code of the append and the base offset of the batch (-1 when it failed)."""


class Producer(NamedTuple):
    """Whose transaction a batch belongs to."""

    producer_id: int
    producer_epoch: int


NO_PRODUCER = Producer(-1, -1)
"""Of a batch outside transactions."""


class OffsetsLog:
    """Appends with `required_acks`, waiting `timeout_ms` at most for the replicas."""

    def __init__(
        self,
        replica_manager: ReplicaManager,
        clock: Clock,
        *,
        required_acks: int,
        timeout_ms: int,
        codec: Codec,
    ) -> None:
        self._replica_manager = replica_manager
        self._clock = clock
        self._required_acks = required_acks
        self._timeout_ms = timeout_ms
        self._codec = codec

    def append(
        self,
        partition: int,
        records: Sequence[KeyAndValue],
        done: Done,
        *,
        base_sequence: int = NO_SEQUENCE,
        producer: Producer = NO_PRODUCER,
    ) -> None:
        """Blocks. Append one batch, as part of the transaction of `producer`; `done` learns how it went."""
        try:
            self._replica_manager.get_partition(TopicPartition(GROUP_METADATA_TOPIC, partition))
        except BrokerError:
            done(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
            return
        try:
            result = self._append(partition, records, self._required_acks, base_sequence, producer)
        except Exception:
            # A bug of ours; without an answer the group would wait for this record for ever.
            log_lines.exception("Error while appending %d records to partition %d", len(records), partition)
            done(ErrorCode.UNKNOWN_SERVER_ERROR, -1)
            return
        if isinstance(result, Pending):
            result.on_complete(lambda settled: _tell(done, settled.value[0]))
        else:
            _tell(done, result[0])

    def append_tombstones(self, partition: int, keys: Sequence[bytes]) -> bool:
        """Blocks. Append tombstones, which nobody waits for: a lost one is written again when it is next missed."""
        result = self._append(partition, [(key, None) for key in keys], NO_ACKS)
        assert not isinstance(result, Pending), "an append without acks has nothing to wait for"
        if isinstance(result[0], AppendFailure):
            log_lines.error(
                "Failed to append %d tombstones to %s-%d: %s",
                len(keys),
                GROUP_METADATA_TOPIC,
                partition,
                result[0].error,
            )
            return False
        return True

    def _append(
        self,
        partition: int,
        records: Sequence[KeyAndValue],
        acks: int,
        base_sequence: int = NO_SEQUENCE,
        producer: Producer = NO_PRODUCER,
    ) -> list[AppendInfo | AppendFailure] | Pending[list[AppendInfo | AppendFailure]]:
        now_ms = self._clock.wall_ms()
        batch = build_batch(
            [Record(offset, now_ms, key, value) for offset, (key, value) in enumerate(records)],
            codec=self._codec,
            base_sequence=base_sequence,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            transactional=producer is not NO_PRODUCER,
        )
        return self._replica_manager.append_records(
            [(GROUP_METADATA_TOPIC, partition, memoryview(batch))],
            required_acks=acks,
            timeout_ms=self._timeout_ms,
            internal_topics_allowed=True,
            # All that it commits has the sequence 0: to a client's rules it would repeat itself.
            origin=Origin.COORDINATOR,
        )

    def read(self, partition: int, is_wanted: Callable[[], bool]) -> Iterator[Batch]:
        """Blocks between batches. All batches of the local log in order, while `is_wanted`.

        Up to the log end offset, beyond the high watermark: what this leader has will be committed.
        Raises BrokerError.
        """
        log = self._replica_manager.get_partition(TopicPartition(GROUP_METADATA_TOPIC, partition)).leader_log()
        offset = log.log_start_offset
        while is_wanted() and offset < log.log_end_offset:
            found = batches(_read_some(log, offset))
            before = offset
            for batch in found:
                offset = batch.header.next_offset
                yield batch
            if offset == before:
                return  # Nothing but the end of what the cleaner left.


def _tell(done: Done, result: AppendInfo | AppendFailure) -> None:
    if isinstance(result, AppendFailure):
        done(result.error.code, -1)
    else:
        done(ErrorCode.NONE, result.first_offset)


def _read_some(log: UnifiedLog, offset: int) -> bytes:
    """Blocks. At least one whole batch from `offset` on, where there is one."""
    result = log.read(offset, max_bytes=READ_BYTES, up_to=log.log_end_offset, min_one=True)
    pools = log.log_dir.pools
    data = bytearray()
    try:
        with log.log_dir.guard(f"Error while reading {log.topic_partition}"):
            for piece in result.slices:
                data += pools.run_to_end(pools.read, piece.read)
    finally:
        for piece in result.slices:
            piece.release()
    return bytes(data)
