"""Fetches for consumers and followers, waiting for min.bytes.

Role        The path of a fetch: read every partition in order within the limits; respond, or wait on the partitions.
Invariants  Reads are in the order of what was wanted. A follower's fetch counts once as progress, when it arrives;
            the reads at the end of a wait do not.
            Slices of reads that are not answered are given back.
Source      Kafka 3.9 ReplicaManager.fetchMessages, readFromLog; DelayedFetch.tryComplete.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from kafka_zk.giving_way import give_way
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import (
    BrokerError,
    FencedLeaderEpoch,
    InconsistentTopicId,
    KafkaStorageError,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    UnknownLeaderEpoch,
    UnknownTopicOrPartition,
)
from kafka_zk.protocol.types import NULL_UUID
from kafka_zk.replication.hosted import HostedPartitions
from kafka_zk.replication.partition import Partition
from kafka_zk.replication.purgatory import Purgatory
from kafka_zk.replication.serving.delayed_fetch import ANSWER_NOW, DelayedFetch
from kafka_zk.replication.serving.early_followers import EarlyFollowers, is_ahead
from kafka_zk.replication.serving.read_replica import ReadReplicaChooser
from kafka_zk.replication.serving.reading import ROLLED, note_follower_fetch, read, size_to_read
from kafka_zk.replication.serving.records_view import (
    NO_REPLICA,
    FetchParams,
    PartitionFetch,
    PartitionRead,
    release_all,
)
from kafka_zk.replication.throttle import ReplicationQuota

# The fetcher's view was wrong, not the fetch: these do not count as failed.
_NOT_A_FAILED_FETCH = (
    UnknownTopicOrPartition,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
    FencedLeaderEpoch,
    KafkaStorageError,
    OffsetOutOfRange,
    InconsistentTopicId,
)

PARTITIONS_PER_LOOK: Final = 7
"""After each eighth partition of a request other greenlets may run."""

log_lines = logging.getLogger("kafka.server.ReplicaManager")


class Fetches:
    """Serves fetches from the hosted partitions. `chooser` may direct a consumer to a nearer replica (KIP-392).

    `throttle`: what followers that are not in sync have to wait for (KIP-73).
    """

    def __init__(
        self,
        hosted: HostedPartitions,
        purgatory: Purgatory,
        metadata_cache: MetadataCache,
        chooser: ReadReplicaChooser | None,
        metrics: MetricsRegistry,
        early_followers: EarlyFollowers,
        throttle: ReplicationQuota,
    ) -> None:
        self._hosted = hosted
        self._purgatory = purgatory
        self._metadata_cache = metadata_cache
        self._chooser = chooser
        self._early_followers = early_followers
        self._throttle = throttle
        expires = "kafka.server:type=DelayedFetchMetrics,name=ExpiresPerSec"
        self._follower_expired = metrics.meter(expires, fetcherType="follower").mark
        self._consumer_expired = metrics.meter(expires, fetcherType="consumer").mark

    def fetch(
        self, params: FetchParams, wanted: Sequence[PartitionFetch]
    ) -> list[PartitionRead] | Pending[list[PartitionRead]]:
        """The available records, or a Pending while they are fewer than `params.min_bytes` and the fetch may wait.

        Blocks where a follower knows a later leader epoch.
        """
        reads = self._read_all(params, wanted)
        if params.is_follower:
            if params.max_wait_ms > 0 and is_ahead(reads):
                reads = self._early_followers.read(lambda: self._read_all(params, wanted), reads)
            self._note_progress(params, wanted, reads)
        if params.max_wait_ms <= 0 or not wanted or self._is_enough(params, reads):
            return reads
        release_all(reads)
        pending: Pending[list[PartitionRead]] = Pending()
        operation = DelayedFetch(
            params.max_wait_ms,
            wanted,
            min_bytes=params.min_bytes,
            size_of=lambda fetch: self._size_of(params, fetch),
            read=lambda: self._read_all(params, wanted),
            answer=pending.complete,
            expired=self._follower_expired if params.is_follower else self._consumer_expired,
        )
        # A follower's own progress may have moved the high watermark that others of this request wait for.
        self._purgatory.complete_or_watch(operation, operation.keys)
        if pending.is_done:
            return [*pending.value]

        def leave(gone: bool) -> None:
            # A client that only sends no more may still read: it gets what there is, as at the end of its wait.
            if gone:
                self._purgatory.cancel(operation)
            else:
                self._purgatory.complete(operation)

        pending.when_left(leave)
        return pending

    def _read_all(self, params: FetchParams, wanted: Sequence[PartitionFetch]) -> list[PartitionRead]:
        """Read in order; each partition leaves less of `max_bytes` to those behind it.

        The first batch of the first partition that has one is returned whole, however large: a consumer behind a
        large batch could never advance otherwise.
        """
        reads: list[PartitionRead] = []
        left_bytes = params.max_bytes
        min_one = not params.allows_partial_batch
        position = 0
        for fetch in wanted:
            position += 1  # noqa: SIM113 - enumerate would be a call
            if position & PARTITIONS_PER_LOOK == 0:
                give_way()
            answer = self._read_one(params, fetch, max_bytes=min(fetch.max_bytes, left_bytes), min_one=min_one)
            if answer.size_bytes > 0:
                min_one = False
                left_bytes = max(0, left_bytes - answer.size_bytes)
            reads.append(answer)
        return reads

    def _read_one(self, params: FetchParams, fetch: PartitionFetch, *, max_bytes: int, min_one: bool) -> PartitionRead:
        partition: Partition | None = None
        try:
            partition = self._hosted.get(fetch.topic or "", fetch.partition)
            _check_topic_id(partition, fetch)
            answer = read(partition, fetch, params, max_bytes=max_bytes, min_one=min_one)
        except Exception as error:
            # Errors for the client and bugs of ours alike concern one partition; the others are read.
            return self._failed(partition, fetch, error)
        if params.is_follower and answer.size_bytes > 0 and self._holds_back(partition, params.replica_id):
            answer.hold_back()
        if self._chooser is not None and params.rack_id and not params.is_follower and partition.is_leader:
            preferred = self._chooser.choose(partition, rack_id=params.rack_id, fetch_offset=fetch.fetch_offset)
            if preferred != NO_REPLICA:
                answer.release()
                answer.preferred_read_replica = preferred
        return answer

    def _failed(self, partition: Partition | None, fetch: PartitionFetch, error: Exception) -> PartitionRead:
        if not isinstance(error, BrokerError):
            log_lines.error("Error processing fetch of %r", fetch, exc_info=error)
            error = BrokerError()
        if partition is not None and not isinstance(error, _NOT_A_FAILED_FETCH):
            partition.metrics.failed_fetch_requests(1)
        return PartitionRead(error=error)

    def _note_progress(
        self, params: FetchParams, wanted: Sequence[PartitionFetch], reads: Sequence[PartitionRead]
    ) -> None:
        for fetch, answer in zip(wanted, reads, strict=True):
            partition = self._hosted.find(fetch.topic or "", fetch.partition)
            if answer.error is None and partition is not None and _is_still_meant(partition, fetch, params):
                note_follower_fetch(partition, fetch, params, answer)

    def _is_enough(self, params: FetchParams, reads: Sequence[PartitionRead]) -> bool:
        size_bytes = 0
        for answer in reads:
            if answer.answers_at_once or answer.is_on_older_segment:
                return True
            size_bytes += answer.size_bytes
        return size_bytes >= params.min_bytes

    def _size_of(self, params: FetchParams, fetch: PartitionFetch) -> int:
        """The bytes that a read of `fetch` would find, counted from offsets; ANSWER_NOW when it would find more than
        bytes: something wrong with the partition, or with the fetcher's view of it.

        Blocks when an index that a start has found turns out to be wrong.
        """
        partition = self._hosted.find(fetch.topic or "", fetch.partition)
        if partition is None or partition.log is None or (params.leader_only and not partition.is_leader):
            return ANSWER_NOW
        if fetch.current_leader_epoch >= 0 and fetch.current_leader_epoch != partition.leader_epoch:
            return ANSWER_NOW
        try:
            size_bytes = size_to_read(partition.log, fetch, params.up_to)
        except Exception:
            # Whatever it is: the read that answers meets it, too, and tells the fetcher.
            return ANSWER_NOW
        if size_bytes > 0 or size_bytes == ROLLED:
            if params.is_follower and self._holds_back(partition, params.replica_id):
                return 0
            return ANSWER_NOW if size_bytes == ROLLED else size_bytes
        return size_bytes

    def _holds_back(self, partition: Partition, replica_id: int) -> bool:
        """Whether the throttle keeps records from a follower: never from one in sync, whom producers wait for."""
        log = partition.log
        return (
            log is not None
            and replica_id not in partition.isr.committed
            and self._throttle.throttles(log.config, partition.topic_partition.partition)
            and self._throttle.is_exceeded()
        )


def _is_still_meant(partition: Partition, fetch: PartitionFetch, params: FetchParams) -> bool:
    """Whether `partition` is what a follower's `fetch` was read from: other greenlets may have run since.

    In another epoch, or after the topic was recreated, the follower may have cut its log below where it fetched then.
    """
    if not partition.is_leader or params.replica_id not in partition.followers:
        return False
    if 0 <= fetch.current_leader_epoch != partition.leader_epoch:
        return False
    log = partition.log
    return log is not None and (log.topic_id is None or fetch.topic_id in (log.topic_id, NULL_UUID))


def _check_topic_id(partition: Partition, fetch: PartitionFetch) -> None:
    """A topic that was deleted and made again has the same name and another id."""
    if fetch.topic_id is NULL_UUID:
        return  # Before version 13: the decoder gives them all the same one.
    log = partition.log
    if log is not None and log.topic_id is not None and fetch.topic_id not in (log.topic_id, NULL_UUID):
        raise InconsistentTopicId
