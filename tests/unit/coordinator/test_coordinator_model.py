"""The whole coordinator under random lives: members, commits, transactions, slow and failing logs, and moves.

Two groups in two partitions of __consumer_offsets. A move takes a partition away and brings it back: everything that is
in memory goes, and is loaded from the records that were stored. Nothing is deleted while a transaction holds offsets of
it: there, as in Kafka, the records of the transaction are younger than the tombstones for those who load them.

Invariants, checked after every event:
- one assignment a generation: all its members were given what one leader decided, each the same each time, also over
  a move; one member leads, and all speak the protocol that was chosen;
- whoever waits for a coordinator that goes is answered at once, everyone else within the rebalance timeout, unless the
  log keeps them waiting: nobody waits for ever;
- a member that is heard of in time stays, unless it is asked to join again; a silent one goes when its session is over;
- a static member that came back fences who had its place before;
- who speaks for an old generation commits nothing; orders of an old leader epoch are ignored;
- what is committed is what the log says: nothing stored is lost by a move, nothing comes back that was removed;
- every commit that was acknowledged is in the log, and an offset never goes back unless it was deleted;
- a stable fetch waits exactly for what an open transaction, or a commit on its way, may still change;
- no group outgrows group.max.size;
- no timer outlives what it is for, and none is left at the end.
"""

from __future__ import annotations

import itertools
from typing import Any

import gevent
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from kafka_zk.clock import SimClock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.coordinator.group.coordinator import CommitCodes, GroupCoordinator, Leaver
from kafka_zk.coordinator.group.decisions.group import Group
from kafka_zk.coordinator.group.decisions.joining import Join
from kafka_zk.coordinator.group.decisions.offsets import OffsetAndMetadata
from kafka_zk.coordinator.group.decisions.records import OffsetKey, read_key, read_offset_value
from kafka_zk.coordinator.group.decisions.states import GroupState
from kafka_zk.coordinator.group.decisions.syncing import Sync
from kafka_zk.coordinator.group.offset_store import Committer
from kafka_zk.coordinator.state_log import Producer
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode, NotLeaderOrFollower
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker, marker_of
from kafka_zk.record.record import decode_records
from tests.unit.coordinator.memory_log import MemoryLog
from tests.unit.coordinator.promises import (
    AskedJoin,
    AskedSync,
    Tenure,
    assert_one_assignment_a_generation,
    assert_one_leader_a_generation,
    assignment,
)
from tests.unit.coordinator.scene import RANGE

OFFSETS = "__consumer_offsets"
GROUPS = ("g", "h")
"""One in each of the two partitions."""

PARTITIONS = (TopicPartition("t", 0), TopicPartition("u", 0))
PRODUCERS = (Producer(7, 0), Producer(8, 0))
INSTANCES = ("a", "b")
OTHER = (("range", b"changed"), ("sticky", b"s"))
STICKY = (("sticky", b"s"),)
"""Not for those who speak only the first."""
MANY = 1000
SESSION_MS, REBALANCE_MS, DELAY_MS = 10_000, 20_000, 100
A_LONG_TIME_MS = 3_600_000
RETENTION_MS = 10 * 7 * 24 * A_LONG_TIME_MS
_PURGATORY = "kafka.server:type=DelayedOperationPurgatory,name=NumDelayedOperations"


def config_of(max_size: int, delay_ms: int) -> BrokerConfig:
    return BrokerConfig.from_properties(
        {
            "zookeeper.connect": "z:1",
            "broker.id": "1",
            "offsets.topic.num.partitions": "2",
            "offsets.retention.minutes": str(RETENTION_MS // 60_000),
            "group.max.size": str(max_size),
            "group.initial.rebalance.delay.ms": str(delay_ms),
        }
    )


CONFIGS = {(size, delay): config_of(size, delay) for size in (3, MANY) for delay in (0, DELAY_MS)}

members = st.integers(0, 6)
groups = st.sampled_from(GROUPS)
words = st.sampled_from([RANGE, RANGE, OTHER, OTHER, STICKY])


class CoordinatorLife(RuleBasedStateMachine):
    """Clients act on what they were told last, on what they were told long ago, or at random."""

    def __init__(self) -> None:
        super().__init__()
        self.joins: list[AskedJoin] = []
        self.syncs: list[AskedSync] = []
        self.waiting: list[AskedJoin | AskedSync] = []
        """Those whose answer has not been noticed."""
        self.commits: list[tuple[str, TopicPartition, int, Pending[CommitCodes]]] = []
        self.ids: dict[str, list[str]] = {group: ["stranger"] for group in GROUPS}
        self.epochs = [0, 0]
        self.numbers = itertools.count(1)
        self.newest: dict[tuple[str, TopicPartition], int] = {}
        self.tenures = {group: Tenure(group, 0) for group in GROUPS}
        self.generations = dict.fromkeys(GROUPS, -1)
        self.log_was_slow_ms = 0
        self.heard_ms: dict[str, int] = {}
        """Member id -> when it, or its coordinator, last gave it a session."""
        self.safe: dict[str, tuple[Group, int]] = {}
        """Member id -> its stable group, and when it was heard of there."""

    @initialize(sizes=st.sampled_from(sorted(CONFIGS)))
    def begin(self, sizes: tuple[int, int]) -> None:
        self.max_size = sizes[0]
        self.clock = SimClock()
        self.log = MemoryLog()
        self.metrics = MetricsRegistry(self.clock)
        names = itertools.count(1)
        self.coordinator = GroupCoordinator(
            config=CONFIGS[sizes],
            clock=self.clock,
            replica_manager=self.log,  # type: ignore[arg-type]
            metadata_cache=type(
                "Cache", (), {"on_change": staticmethod(lambda listener: None), "topic": staticmethod(str)}
            ),  # type: ignore[arg-type]
            metrics=self.metrics,
            offsets_partition_count=lambda: 2,
            gone_topics=lambda topics: (),
            spawn=lambda function, *arguments: function(*arguments),
            new_uuid=lambda: next(names),
        )
        self.coordinator.startup()
        for partition in range(2):
            self.elect(partition)
        self.settle()

    # --- members -----------------------------------------------------------------------------------------------------

    def member(self, group: str, pick: int) -> str:
        """Any id that was ever given out, the newest ones more often."""
        return self.ids[group][-1 - pick % len(self.ids[group])]

    def instance_of(self, group: str, member_id: str) -> str | None:
        found = self.group(group)
        member = None if found is None else found.members.get(member_id)
        return None if member is None else member.group_instance_id

    def group(self, group: str) -> Group | None:
        return self.coordinator._manager.groups.get(group)

    def generation(self, group: str) -> int:
        found = self.group(group)
        return -1 if found is None else found.generation

    def join(self, group: str, member_id: str, instance: str | None, protocols: Any, **how: bool) -> None:
        asked = Join(
            member_id=member_id,
            new_member_id=self.coordinator.new_member_id(group, instance),
            group_instance_id=instance,
            client_id="c",
            client_host="/h",
            rebalance_timeout_ms=REBALANCE_MS,
            session_timeout_ms=SESSION_MS,
            protocol_type="consumer",
            protocols=protocols,
            **how,
        )
        self.hear_of(member_id)
        answer = self.coordinator.join_group(group, asked)
        self.joins.append(AskedJoin(self.tenures[group], instance, protocols, self.now_ms, answer))
        self.waiting.append(self.joins[-1])

    @property
    def now_ms(self) -> int:
        return self.clock.monotonic_ms()

    def hear_of(self, *member_ids: str) -> None:
        self.heard_ms.update(dict.fromkeys(member_ids, self.now_ms))

    @rule(group=groups, needs_id=st.booleans(), protocols=words)
    def new_member(self, group: str, needs_id: bool, protocols: Any) -> None:
        self.join(group, "", None, protocols, requires_known_member_id=needs_id)

    @rule(group=groups, instance=st.sampled_from(INSTANCES), skips=st.booleans(), protocols=words)
    def static_member(self, group: str, instance: str, skips: bool, protocols: Any) -> None:
        self.join(group, "", instance, protocols, may_skip_assignment=skips)

    @rule(group=groups, pick=members, protocols=words)
    def join_again(self, group: str, pick: int, protocols: Any) -> None:
        member_id = self.member(group, pick)
        self.join(group, member_id, self.instance_of(group, member_id), protocols)

    @rule(group=groups, pick=members, stale=st.booleans())
    def sync(self, group: str, pick: int, stale: bool) -> None:
        member_id = self.member(group, pick)
        self.sync_as(group, member_id, self.instance_of(group, member_id), stale=stale)

    def sync_as(self, group: str, member_id: str, instance: str | None, *, stale: bool = False) -> None:
        generation = self.generation(group) - stale
        found = self.group(group)
        number = next(self.numbers)
        leads = found is not None and found.leader_id == member_id
        assignments = {} if found is None else {each: assignment(each, number) for each in found.members}
        asked = Sync(member_id, generation, group_instance_id=instance, assignments=assignments)
        self.hear_of(member_id)
        answer = self.coordinator.sync_group(group, asked)
        tenure = self.tenures[group]
        self.syncs.append(AskedSync(tenure, member_id, generation, number, leads, self.now_ms, answer))
        self.waiting.append(self.syncs[-1])

    @rule(group=groups, first=members)
    def everyone_syncs(self, group: str, first: int) -> None:
        self.some_sync(group, first, MANY)

    def some_sync(self, group: str, first: int, count: int) -> None:
        """In turn, whoever leads."""
        found = self.group(group)
        there = [] if found is None else list(found.members.values())
        for number in range(min(count, len(there))):
            member = there[(first + number) % len(there)]
            self.sync_as(group, member.member_id, member.group_instance_id)

    @rule(group=groups)
    def everyone_joins_again(self, group: str) -> None:
        found = self.group(group)
        for member in [] if found is None else list(found.members.values()):
            self.join(group, member.member_id, member.group_instance_id, member.protocols)

    @rule(group=groups, comes=st.integers(0, 3), first=members, syncs=st.sampled_from([0, 1, 2, MANY]))
    def generation_begins(self, group: str, comes: int, first: int, syncs: int) -> None:
        """As it is meant to be: chance alone brings many members together too rarely."""
        for _ in range(comes):
            self.join(group, "", None, RANGE)
        self.everyone_joins_again(group)
        self.time_passes(DELAY_MS)
        self.some_sync(group, first, syncs)

    @rule(group=groups, pick=members)
    def heartbeat(self, group: str, pick: int) -> None:
        member_id = self.member(group, pick)
        self.hear_of(member_id)
        error = self.beat(group, member_id, self.instance_of(group, member_id))
        found = self.group(group)
        if error is not ErrorCode.NONE or found is None or found.state is not GroupState.STABLE:
            return
        if member_id not in found.pending_sync:
            self.safe[member_id] = found, self.now_ms

    def beat(self, group: str, member_id: str, instance: str | None) -> ErrorCode:
        return self.coordinator.heartbeat(
            group, member_id=member_id, group_instance_id=instance, generation=self.generation(group)
        )

    @rule(group=groups, instance=st.sampled_from(INSTANCES), pick=members)
    def fenced(self, group: str, instance: str, pick: int) -> None:
        """An id that the instance does not have, be it of before, of another member or of nobody."""
        found = self.group(group)
        owner = None if found is None else found.static_members.get(instance)
        member_id = self.member(group, pick)
        if owner not in (None, member_id):
            assert self.beat(group, member_id, instance) is ErrorCode.FENCED_INSTANCE_ID
            self.sync_as(group, member_id, instance)
            assert self.syncs[-1].answer.value.error is ErrorCode.FENCED_INSTANCE_ID

    @rule(group=groups, pick=members)
    def leave(self, group: str, pick: int) -> None:
        self.leave_as(group, self.member(group, pick))

    @rule(group=groups, picks=st.lists(members, min_size=2, max_size=4))
    def several_leave(self, group: str, picks: list[int]) -> None:
        """In one request: strangers, and some twice."""
        self.leave_as(group, *(self.member(group, pick) for pick in picks))

    def leave_as(self, group: str, *member_ids: str) -> None:
        found = self.group(group)
        there = set() if found is None else {*found.members, *found.pending_members}
        leavers = [Leaver(each, self.instance_of(group, each), "test") for each in member_ids]
        for each in member_ids:
            self.safe.pop(each, None)
        error, codes = self.coordinator.leave_group(group, leavers)
        assert error is ErrorCode.NONE
        for each, code in zip(member_ids, codes, strict=True):
            assert (code is ErrorCode.NONE) == (each in there), f"{each} leaves {group}: {code}"
            there.discard(each)
        assert found is None or there == {*found.members, *found.pending_members}

    @rule(group=groups, instance=st.sampled_from(INSTANCES))
    def operator_removes(self, group: str, instance: str) -> None:
        found = self.group(group)
        if found is not None:
            self.safe.pop(found.static_members.get(instance, ""), None)
        self.coordinator.leave_group(group, [Leaver("", instance, "test")])

    # --- offsets -----------------------------------------------------------------------------------------------------

    @rule(group=groups, pick=st.none() | members, partition=st.sampled_from(PARTITIONS), stale=st.booleans())
    def commit(self, group: str, pick: int | None, partition: TopicPartition, stale: bool) -> None:
        number = next(self.numbers)
        value = OffsetAndMetadata(number, 0, "", self.clock.wall_ms())
        member_id = "" if pick is None else self.member(group, pick)
        generation = self.generation(group)
        is_refused = pick is not None and stale and generation > 0
        self.hear_of(member_id)
        answer = self.coordinator.commit_offsets(
            group,
            member_id=member_id,
            group_instance_id=self.instance_of(group, member_id),
            generation=-1 if pick is None else generation - is_refused,
            offsets={partition: value},
        )
        if is_refused:
            assert answer.is_done and answer.value[partition] is not ErrorCode.NONE
        self.commits.append((group, partition, number, answer))

    @rule(group=groups, producer=st.sampled_from(PRODUCERS), partition=st.sampled_from(PARTITIONS))
    def commit_in_transaction(self, group: str, producer: Producer, partition: TopicPartition) -> None:
        number = next(self.numbers)
        value = OffsetAndMetadata(number, 0, "", self.clock.wall_ms())
        answer = self.coordinator.commit_transaction_offsets(group, Committer(), producer, {partition: value})
        self.commits.append((group, partition, number, answer))

    @rule(producer=st.sampled_from(PRODUCERS), is_commit=st.booleans(), moves=st.booleans())
    def end_transaction(self, producer: Producer, is_commit: bool, moves: bool) -> None:
        """The coordinator of the transaction waits until the producer's commits are answered."""
        self.log.release()
        kind = ControlType.COMMIT if is_commit else ControlType.ABORT
        if moves:
            for partition in range(2):
                self.resign(partition, keep_held=True)
                self.elect(partition)
        marker = build_marker(EndTransactionMarker(kind, 0), timestamp_ms=0, **producer._asdict())
        markers = {partition: self.log._append(partition, memoryview(marker)).first_offset for partition in range(2)}
        self.coordinator.handle_txn_completion(producer.producer_id, markers, is_commit=is_commit)
        self.settle()

    @rule(group=groups, partitions=st.sets(st.sampled_from(PARTITIONS), min_size=1))
    def delete_offsets(self, group: str, partitions: set[TopicPartition]) -> None:
        if self.is_in_transaction(group):
            return
        _, codes = self.coordinator.delete_offsets(group, sorted(partitions))
        for partition, code in codes.items():
            if code is ErrorCode.NONE:
                self.newest.pop((group, partition), None)

    @rule(group=groups)
    def delete_group(self, group: str) -> None:
        if self.is_in_transaction(group):
            return
        if self.coordinator.delete_groups([group])[group] is ErrorCode.NONE:
            for partition in PARTITIONS:
                self.newest.pop((group, partition), None)

    @rule(partition=st.sampled_from(PARTITIONS))
    def topic_is_deleted(self, partition: TopicPartition) -> None:
        if any(map(self.is_in_transaction, GROUPS)):
            return
        self.coordinator.handle_deleted_partitions([partition])
        self.settle()
        for group in GROUPS:
            self.newest.pop((group, partition), None)

    def is_in_transaction(self, group: str) -> bool:
        found = self.group(group)
        return found is not None and bool(found.offsets.open_producers)

    # --- time, the log, leadership -----------------------------------------------------------------------------------

    @rule(ms=st.sampled_from([0, 1, 50, 3_000, 9_999, 20_000]))
    def time_passes(self, ms: int) -> None:
        self.clock.advance(ms)

    @rule(holds=st.booleans())
    def log_is_slow(self, holds: bool) -> None:
        self.log.holds_back = holds
        if not holds:
            self.log.release()

    @rule(fails=st.sampled_from([False, False, True]))
    def log_fails(self, fails: bool) -> None:
        self.log.fails = fails

    @rule(partition=st.integers(0, 1), keep_held=st.booleans(), twice=st.booleans())
    def move(self, partition: int, keep_held: bool, twice: bool) -> None:
        for _ in range(1 + twice):  # The second one overtakes the load that the first one asked for.
            self.resign(partition, keep_held=keep_held)
            mine = self.groups_in(partition)
            assert all(each.answer.is_done for each in self.joins if each.tenure.group in mine), "a join still waits"
            assert all(each.answer.is_done for each in self.syncs if each.tenure.group in mine), "a sync still waits"
            self.elect(partition)
        self.settle()

    @rule(partition=st.integers(0, 1), leads=st.booleans())
    def order_of_before(self, partition: int, leads: bool) -> None:
        """What the controller said once, and what arrives late, changes nothing."""
        before = {group: self.group(group) for group in GROUPS}
        led = type("Led", (), {"topic_partition": (OFFSETS, partition), "leader_epoch": self.epochs[partition] - 1})
        self.coordinator.leadership.on_leadership_change([led] if leads else [], [] if leads else [led])  # type: ignore[list-item]
        assert self.coordinator._manager.ownership.check(partition) is ErrorCode.NONE
        assert {group: self.group(group) for group in GROUPS} == before

    def groups_in(self, partition: int) -> list[str]:
        return [group for group in GROUPS if self.coordinator.partition_for(group) == partition]

    def resign(self, partition: int, *, keep_held: bool) -> None:
        lost = self.log.lose_leadership(partition, keep_held=keep_held)
        self.epochs[partition] += 1
        self.coordinator.leadership.on_leadership_change([], [self.led(partition)])
        for each in lost:
            each.refuse(NotLeaderOrFollower())

    def elect(self, partition: int) -> None:
        for group in self.groups_in(partition):
            self.hear_of(*self.ids[group])
            self.next_tenure(group)
        self.log.led.add(partition)
        self.epochs[partition] += 1
        self.coordinator.leadership.on_leadership_change([self.led(partition)], [])

    def led(self, partition: int) -> Any:
        return type("Led", (), {"topic_partition": (OFFSETS, partition), "leader_epoch": self.epochs[partition]})

    def settle(self) -> None:
        """Let the coordinator's greenlet do all that it was given."""
        manager = self.coordinator._manager
        while not manager._tasks.is_idle or manager.ownership.is_loading:
            gevent.sleep(0)
        gevent.sleep(0)

    # --- invariants --------------------------------------------------------------------------------------------------

    @invariant()
    def answers_are_learned(self) -> None:
        for join in self.joins:
            known = self.ids[join.tenure.group]
            if join.answer.is_done and join.answer.value.member_id and join.answer.value.member_id not in known:
                known.append(join.answer.value.member_id)
        for each in [each for each in self.waiting if each.answer.is_done]:
            self.waiting.remove(each)
            # Its session began when it was answered: now, or a little earlier.
            self.hear_of(each.member_id if isinstance(each, AskedSync) else each.answer.value.member_id)

    @invariant()
    def tenures_are_told_apart(self) -> None:
        for group, before in self.generations.items():
            self.generations[group] = now = self.generation(group)
            if now < before:
                self.next_tenure(group)

    def next_tenure(self, group: str) -> None:
        self.tenures[group] = Tenure(group, self.tenures[group].number + 1)

    @invariant()
    def one_assignment_a_generation(self) -> None:
        assert_one_assignment_a_generation(self.syncs)

    @invariant()
    def one_leader_a_generation(self) -> None:
        assert_one_leader_a_generation(self.joins)
        for group in map(self.group, GROUPS):
            if group is not None and group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
                assert all(group.protocol_name in dict(member.protocols) for member in group.members.values())

    @invariant()
    def nobody_waits_longer_than_a_rebalance_may_take(self) -> None:
        if self.log.held:
            self.log_was_slow_ms = self.now_ms
        for each in self.waiting:
            waits_ms = self.now_ms - max(each.asked_ms, self.log_was_slow_ms)
            assert waits_ms <= REBALANCE_MS, f"{each} waits for {waits_ms} ms"

    @invariant()
    def sessions_are_kept(self) -> None:
        for name in GROUPS:
            group = self.group(name)
            if group is None:
                continue
            for member_id in (*group.members, *group.pending_members):
                member = group.members.get(member_id)
                # A new one is kept until its first generation begins, also when its client is no more.
                if member_id not in self.heard_ms or (
                    member is not None and (member.is_new or member.outlives_silence)
                ):
                    self.hear_of(member_id)
                silent_ms = self.now_ms - self.heard_ms[member_id]
                assert silent_ms <= SESSION_MS, f"{member_id} is silent for {silent_ms} ms"
        for member_id, (group, heard_ms) in list(self.safe.items()):
            if self.max_size < MANY or self.group(group.group_id) is not group or self.now_ms - heard_ms >= SESSION_MS:
                del self.safe[member_id]
                continue
            assert member_id in group.members, f"{member_id} is gone, {self.now_ms - heard_ms} ms after it was heard of"

    @invariant()
    def groups_keep_to_their_size(self) -> None:
        for name in GROUPS:
            group = self.group(name)
            if group is None:
                continue
            assert group.awaiting_join_count <= self.max_size
            dynamic = sum(not member.is_static for member in group.members.values())
            if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
                # Silent static members keep their place, whoever joined meanwhile.
                assert dynamic <= self.max_size and len(group.members) <= self.max_size + len(INSTANCES)

    @invariant()
    def no_timer_outlives_what_it_is_for(self) -> None:
        there = [group for group in map(self.group, GROUPS) if group is not None]
        sessions = sum(len(group.members) + len(group.pending_members) for group in there)
        waits = sum((group.state is GroupState.PREPARING_REBALANCE) + bool(group.pending_sync) for group in there)
        assert self.timers("Heartbeat") <= sessions
        assert self.timers("Rebalance") == waits, "a group waits without a timer, or a timer without a group"

    def timers(self, kind: str) -> int:
        metric = self.metrics.find(_PURGATORY, delayedOperation=kind)
        assert metric is not None
        count = metric.attributes()["Value"]
        assert isinstance(count, int)
        return count

    @invariant()
    def memory_says_what_the_log_says(self) -> None:
        if self.log.held:
            return
        for group in GROUPS:
            valid, unstable, everything = self.told_by_log(group)
            _, plain = self.coordinator.fetch_offsets(group, PARTITIONS, require_stable=False)
            _, stable = self.coordinator.fetch_offsets(group, PARTITIONS, require_stable=True)
            for partition in PARTITIONS:
                value = plain[partition].value
                assert (None if value is None else value.offset) == valid.get(partition), f"{group} {partition}"
                waits = stable[partition].error is ErrorCode.UNSTABLE_OFFSET_COMMIT
                assert waits == (partition in unstable), f"{group} {partition} in an open transaction"
            for of, partition, number, answer in self.commits:
                if of == group and answer.is_done and answer.value[partition] is ErrorCode.NONE:
                    assert number in everything, "an acknowledged commit is not in the log"

    @invariant()
    def offsets_never_go_back(self) -> None:
        """Commits are numbered in their order, and the log keeps it; only transactions end later than they commit."""
        for group in GROUPS:
            _, found = self.coordinator.fetch_offsets(group, PARTITIONS, require_stable=False)
            for partition, fetched in found.items():
                if fetched.value is not None:
                    before = self.newest.get((group, partition), 0)
                    assert fetched.value.offset >= before, f"{group} {partition} went back from {before}"
                    self.newest[group, partition] = fetched.value.offset
                else:
                    assert (group, partition) not in self.newest, f"{group} {partition} is lost"

    def told_by_log(self, group: str) -> tuple[dict[TopicPartition, int], set[TopicPartition], set[int]]:
        """What is valid, what an open transaction may change, and every offset ever written, by the simplest means."""
        valid: dict[TopicPartition, tuple[int, int]] = {}
        pending: dict[int, dict[TopicPartition, tuple[int, int]]] = {}
        everything: set[int] = set()
        for batch in self.log.batches(self.coordinator.partition_for(group)):
            header = batch.header
            if header.is_control:
                ended = pending.pop(header.producer_id, {})
                marker = marker_of(batch)
                for partition, found in ended.items() if marker is not None and marker.is_commit else ():
                    valid[partition] = max(valid.get(partition, found), found)
                continue
            target = pending.setdefault(header.producer_id, {}) if header.is_transactional else valid
            for record in decode_records(batch):
                key = read_key(record.key or b"")
                if isinstance(key, OffsetKey) and key.group_id == group:
                    if record.value is None:
                        target.pop(key.partition, None)
                        continue
                    number = read_offset_value(record.value, RETENTION_MS).offset
                    everything.add(number)
                    target[key.partition] = (header.base_offset, number)
        unstable = {partition for offsets in pending.values() for partition in offsets}
        return {partition: number for partition, (_, number) in valid.items()}, unstable, everything

    def teardown(self) -> None:
        if not hasattr(self, "coordinator"):
            return
        self.log.fails = self.log.holds_back = False
        self.log.release()
        self.clock.advance(A_LONG_TIME_MS)
        self.settle()
        assert all(each.answer.is_done for each in self.joins), "a join was never answered"
        assert all(each.answer.is_done for each in self.syncs), "a sync was never answered"
        assert all(answer.is_done for _, _, _, answer in self.commits), "a commit was never answered"
        for group in map(self.group, GROUPS):
            assert group is None or (group.state is GroupState.EMPTY and not group.members), f"{group} does not rest"
            assert group is None or not group.pending_members
        assert self.timers("Heartbeat") == self.timers("Rebalance") == 0
        self.memory_says_what_the_log_says()
        self.coordinator.shutdown()


def test_random_lives() -> None:
    run_state_machine_as_test(
        CoordinatorLife, settings=settings(max_examples=300, stateful_step_count=50, derandomize=True)
    )


@pytest.mark.slow
def test_many_random_lives() -> None:
    run_state_machine_as_test(CoordinatorLife, settings=settings(max_examples=6_000, stateful_step_count=60))
