"""Rebuilds groups from the batches of one partition of __consumer_offsets.

Role        Pure. `LogReplay` is fed the batches in order; `groups` then builds groups from what is left.
Invariants  The log's order decides: a later record replaces an earlier one of its key, a tombstone removes it.
            The offsets of a transaction become valid at its commit marker, and never replace those of a newer batch.
Source      Kafka 3.9 GroupMetadataManager.doLoadGroupsAndOffsets, GroupMetadata.loadGroup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from kafka_zk.coordinator.group.decisions.group import Group
from kafka_zk.coordinator.group.decisions.member import Member
from kafka_zk.coordinator.group.decisions.offsets import Committed
from kafka_zk.coordinator.group.decisions.records import (
    NO_TIMESTAMP,
    GroupKey,
    KeyReader,
    OffsetKey,
    UnknownKey,
    read_group_value,
    read_key,
    read_offset_value,
)
from kafka_zk.coordinator.group.decisions.states import GroupState
from kafka_zk.protocol.messages.records import GroupMetadataValue
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import Batch
from kafka_zk.record.control import marker_of
from kafka_zk.record.record import decode_records

PAUSE_AFTER = 500
"""Records decoded between two pauses: a few milliseconds."""


Stored = tuple[int, bytes]
"""The base offset of a batch, and the newest value of a key in it. Only final values are decoded.

A bare tuple: there may be millions, and the garbage collector does not track these.
"""


class LogReplay:
    """What the log says so far, by raw key."""

    def __init__(self) -> None:
        self._latest: dict[bytes, Stored] = {}
        self._transactions: dict[int, dict[bytes, Stored]] = {}
        self.record_count = 0

    def apply(self, batch: Batch) -> None:
        """Replay the next batch. Raises the errors of undecodable records."""
        header = batch.header
        if header.is_control:
            self._end_transaction(batch)
            return
        open_transaction = self._transactions.setdefault(header.producer_id, {}) if header.is_transactional else None
        target = self._latest if open_transaction is None else open_transaction
        base_offset = header.base_offset
        records = decode_records(batch)
        self.record_count += len(records)
        for _, _, key, value, _ in records:
            if key is None:
                continue
            if value is None:
                target.pop(key, None)
            else:
                target[key] = (base_offset, value)

    def _end_transaction(self, batch: Batch) -> None:
        ended = self._transactions.pop(batch.header.producer_id, {})
        marker = marker_of(batch)
        if marker is None or not marker.is_commit:
            return
        for key, stored in ended.items():
            known = self._latest.get(key)
            if known is None or known[0] < stored[0]:
                self._latest[key] = stored

    def groups(self, retention_ms: int, pause: Callable[[], None] = lambda: None) -> tuple[list[Group], Counter[int]]:
        """The groups, and how many records had a key of each version that we do not know. Raises DecodeError.

        `pause` is called now and then, so that the caller can yield to other greenlets.
        """
        groups: dict[str, Group] = {}
        unknown: Counter[int] = Counter()
        offsets: dict[str, dict[TopicPartition, Committed]] = {}
        keys = KeyReader()
        for count, (raw_key, stored) in enumerate(self._latest.items()):
            if not count % PAUSE_AFTER:
                pause()
            key = keys.read(raw_key)
            if isinstance(key, GroupKey):
                groups[key.group_id] = restored_group(key.group_id, read_group_value(stored[1]))
            elif isinstance(key, UnknownKey):
                unknown[key.version] += 1
            else:
                group_id, partition = key
                found = offsets.get(group_id)
                if found is None:
                    found = offsets[group_id] = {}
                found[partition] = _committed(stored, retention_ms)
        for group_id, found in offsets.items():
            _group_of(groups, group_id).offsets.committed = found
        for producer_id, pending in self._transactions.items():
            for raw_key, stored in pending.items():
                key = read_key(raw_key)
                if isinstance(key, OffsetKey):
                    _group_of(groups, key.group_id).offsets.restore_transaction(
                        producer_id, {key.partition: _committed(stored, retention_ms)}
                    )
        return list(groups.values()), unknown


def _committed(stored: Stored, retention_ms: int) -> Committed:
    batch_offset, value = stored
    return tuple.__new__(Committed, (batch_offset, read_offset_value(value, retention_ms)))


def _group_of(groups: dict[str, Group], group_id: str) -> Group:
    """A group that only keeps offsets has no record of its own."""
    group = groups.get(group_id)
    if group is None:
        group = groups[group_id] = Group(group_id)
    return group


def restored_group(group_id: str, value: GroupMetadataValue) -> Group:
    """The group that a record describes: stable if it has members, else empty."""
    group = Group(group_id)
    for stored in value.members:
        subscription = bytes(stored.subscription)
        # Version 0 has no rebalance timeout: the session timeout served as both.
        rebalance_timeout_ms = stored.session_timeout if stored.rebalance_timeout < 0 else stored.rebalance_timeout
        member = Member(
            member_id=stored.member_id,
            group_instance_id=stored.group_instance_id,
            client_id=stored.client_id,
            client_host=stored.client_host,
            rebalance_timeout_ms=rebalance_timeout_ms,
            session_timeout_ms=stored.session_timeout,
            protocols=((value.protocol or "", subscription),),
            assignment=bytes(stored.assignment),
        )
        group.add(member, value.protocol_type)
    group.state = GroupState.STABLE if group.members else GroupState.EMPTY
    group.protocol_type = value.protocol_type or None
    group.generation = value.generation
    group.protocol_name = value.protocol
    group.leader_id = value.leader if value.leader in group.members else None
    if value.current_state_timestamp != NO_TIMESTAMP:
        group.state_timestamp_ms = value.current_state_timestamp
    group.find_subscribed_topics()
    return group
