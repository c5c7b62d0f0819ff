"""OffsetStore: commits, fetches and deletes the offsets of this broker's groups.

Role        Acts: runs the decision, appends, and reports the result to the group.
Invariants  Every request is checked against the partition's ownership first; every Pending handed out is settled.
            Only appended commits are counted (KAFKA-12660).
Source      Kafka 3.9 GroupCoordinator: doCommitOffsets, handleTxnCommitOffsets, handleDeleteOffsets,
            handleTxnCompletion; GroupMetadataManager.storeOffsets.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from kafka_zk.coordinator.group.append_errors import COMMIT_ERRORS
from kafka_zk.coordinator.group.decisions.group import Group
from kafka_zk.coordinator.group.decisions.membership import check_commit
from kafka_zk.coordinator.group.decisions.offset_deletion import may_delete_offsets
from kafka_zk.coordinator.group.decisions.offsets import OffsetAndMetadata
from kafka_zk.coordinator.group.decisions.records import offset_key, offset_value
from kafka_zk.coordinator.group.manager import GroupManager
from kafka_zk.coordinator.group.metrics import GroupMetrics
from kafka_zk.coordinator.group.performer import Performer
from kafka_zk.coordinator.placement import is_storable
from kafka_zk.coordinator.state_log import NO_PRODUCER, Producer, StateLog
from kafka_zk.log.state.verification import VerificationGuard
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition

OFFSETS_BASE_SEQUENCE = 0

log_lines = logging.getLogger("kafka.coordinator.group.GroupCoordinator")

CommitCodes = dict[TopicPartition, ErrorCode]

Verify = Callable[[int], tuple[ErrorCode, VerificationGuard | None]]
"""Blocks. Whether a partition of __consumer_offsets is part of a transaction, and the guard if that begins there."""


def without_verification(_: int) -> tuple[ErrorCode, VerificationGuard | None]:
    """For a transaction that needs none."""
    return ErrorCode.NONE, None


class Committer(NamedTuple):
    """The client that commits. The defaults are for one that is not a member of the group."""

    member_id: str = ""
    group_instance_id: str | None = None
    generation: int = -1


class FetchedOffset(NamedTuple):
    """One partition of an OffsetFetch: `value` is None if nothing is committed."""

    error: ErrorCode
    value: OffsetAndMetadata | None


_NOTHING = FetchedOffset(ErrorCode.NONE, None)
_UNSTABLE = FetchedOffset(ErrorCode.UNSTABLE_OFFSET_COMMIT, None)


class OffsetStore:
    """`metadata_max_length` counts UTF-16 units. Ownership was checked by the caller, its code is `error`."""

    def __init__(
        self,
        *,
        manager: GroupManager,
        performer: Performer,
        log: StateLog,
        metrics: GroupMetrics,
        metadata_max_length: int,
    ) -> None:
        self._manager = manager
        self._performer = performer
        self._log = log
        self._metrics = metrics
        self._metadata_max_length = metadata_max_length

    # --- commits -----------------------------------------------------------------------------------------------------

    def commit(
        self,
        error: ErrorCode,
        group_id: str,
        who: Committer,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        producer: Producer,
        verify: Verify = without_verification,
    ) -> Pending[CommitCodes]:
        """Blocks while the batch is written. Returns a code for each partition, once the offsets are replicated.

        With a `producer` they belong to its transaction: valid once its commit marker is written. `verify` asks its
        coordinator first, and may block.
        """
        answer: Pending[CommitCodes] = Pending()
        is_transactional = producer is not NO_PRODUCER
        group = self._manager.groups.get(group_id)
        if error is ErrorCode.NONE and group is None:
            if who.generation < 0 or is_transactional:
                group = self._manager.groups[group_id] = Group(group_id)
            else:
                error = ErrorCode.ILLEGAL_GENERATION
        guard: VerificationGuard | None = None
        if error is ErrorCode.NONE and is_transactional:
            error, guard = verify(self._manager.partition_of(group_id))
            error = COMMIT_ERRORS.get(error, error)
            if error is ErrorCode.NONE:
                # The group may have ended or moved while the answer was awaited.
                error = self._manager.ownership.check(self._manager.partition_of(group_id))
            if error is ErrorCode.NONE:
                group = self._manager.groups.setdefault(group_id, Group(group_id))
        if error is ErrorCode.NONE and group is not None:
            committing = group
            error = self._performer.decide(
                committing,
                lambda step: check_commit(
                    committing,
                    member_id=who.member_id,
                    group_instance_id=who.group_instance_id,
                    generation=who.generation,
                    is_transactional=is_transactional,
                    step=step,
                ),
            )
        if error is not ErrorCode.NONE or group is None:
            answer.complete(dict.fromkeys(offsets, error))
        else:
            self._store(group, offsets, producer, guard, answer)
        return answer

    def _store(
        self,
        group: Group,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        producer: Producer,
        guard: VerificationGuard | None,
        answer: Pending[CommitCodes],
    ) -> None:
        """Blocks. Append the accepted offsets; `answer` gets a code for each partition."""
        accepted = {partition: value for partition, value in offsets.items() if self._may_store(value.metadata)}
        codes = dict.fromkeys(offsets, ErrorCode.OFFSET_METADATA_TOO_LARGE)
        if not accepted:
            answer.complete(codes)
            return
        commit = group.offsets.begin(accepted, producer.producer_id)
        open_transactions = self._manager.open_transactions
        if producer is not NO_PRODUCER:
            open_transactions.note(group)

        def done(code: ErrorCode, batch_offset: int) -> None:
            if code is ErrorCode.NONE:
                self._metrics.offset_commits += 1
                group.offsets.appended(commit, batch_offset)
            else:
                group.offsets.failed(commit)
            if producer is not NO_PRODUCER and self._manager.groups.get(group.group_id) is group:
                # Otherwise the group was loaded again: what it waits for now is not this commit's concern.
                open_transactions.settled(producer.producer_id, group)
            codes.update(dict.fromkeys(accepted, COMMIT_ERRORS.get(code, code)))
            answer.complete(codes)

        records = [
            (offset_key(group.group_id, topic_partition), offset_value(value))
            for topic_partition, value in accepted.items()
        ]
        partition = self._manager.partition_of(group.group_id)
        self._log.append(partition, records, done, base_sequence=OFFSETS_BASE_SEQUENCE, producer=producer, guard=guard)
        if group.offsets.overtaken and producer is not NO_PRODUCER:
            first_offset = self._log.transaction_start(partition, producer.producer_id)
            if first_offset is not None:
                group.offsets.drop_overtaken(producer.producer_id, since=first_offset)

    def _may_store(self, metadata: str) -> bool:
        """Whether the metadata is within the limit, in UTF-16 units like a Java string's length, and fits a record."""
        limit = self._metadata_max_length
        if len(metadata) > limit // 2 and len(metadata.encode("utf-16-le", "surrogatepass")) // 2 > limit:
            return False
        return is_storable(metadata)

    # --- reading and removal -----------------------------------------------------------------------------------------

    def fetch(
        self, group_id: str, partitions: Iterable[TopicPartition] | None, *, require_stable: bool
    ) -> dict[TopicPartition, FetchedOffset]:
        """The committed offsets, all of the group's where `partitions` is None."""
        group = self._manager.groups.get(group_id)
        if group is None or group.is_dead:
            return dict.fromkeys(partitions or (), _NOTHING)
        offsets = group.offsets
        return {
            partition: _UNSTABLE
            if require_stable and offsets.is_pending(partition)
            else FetchedOffset(ErrorCode.NONE, offsets.get(partition))
            for partition in (list(offsets.committed) if partitions is None else partitions)
        }

    def delete(self, group_id: str, partitions: Collection[TopicPartition]) -> tuple[ErrorCode, CommitCodes]:
        """Blocks while tombstones are written. Returns the request's code, and if NONE one for each partition."""
        group = self._manager.groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND, {}
        error, codes = may_delete_offsets(group, partitions)
        going = [partition for partition, code in codes.items() if code is ErrorCode.NONE]
        if going:
            refused, count = self._manager.clean_up(group, group.offsets.remove(going))
            self._metrics.deleted_offsets += count
            log_lines.info(
                "[GroupCoordinator] The following offsets of the group %s were deleted: %s. A total of %d offsets "
                "were removed.",
                group_id,
                ", ".join(map(str, going)),
                count,
            )
            if refused is not ErrorCode.NONE:
                return refused, {}
        return error, codes
