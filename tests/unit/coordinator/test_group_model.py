"""The group under random lives of its members, and what must hold whatever happens.

Invariants, checked after every event:
- one assignment a generation: two answers for the same member and generation are equal;
- a member's answers never go back to an older generation;
- the group's own bookkeeping is consistent (leader, static members, parked requests);
- everyone is answered: once nothing happens any more but time, no request waits and the group comes to rest.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafka_zk.coordinator.group.decisions.actions import JoinResult, SyncResult
from kafka_zk.coordinator.group.decisions.states import GroupState
from kafka_zk.protocol.errors import ErrorCode
from tests.unit.coordinator.scene import RANGE, Scene

INSTANCES = ("a", "b")
OTHER = (("range", b"changed"), ("sticky", b"s"))
A_LONG_TIME_MS = 3_600_000


class GroupLife(RuleBasedStateMachine):
    """Clients act on what they were told last, on what they were told long ago, or at random."""

    def __init__(self) -> None:
        super().__init__()
        self.joins: list[list[JoinResult]] = []
        self.syncs: list[tuple[str, int, list[SyncResult]]] = []
        self.ids: list[str] = ["stranger"]

    @initialize(delay_ms=st.sampled_from([0, 100]), max_size=st.sampled_from([3, 1000]))
    def begin(self, delay_ms: int, max_size: int) -> None:
        self.scene = Scene(initial_delay_ms=delay_ms, max_size=max_size)

    def member(self, pick: int) -> str:
        """Any id that was ever given out, the newest ones more often."""
        return self.ids[-1 - pick % len(self.ids)]

    def instance_of(self, member_id: str) -> str | None:
        member = self.scene.group.members.get(member_id)
        return None if member is None else member.group_instance_id

    def keep(self, answers: list[JoinResult]) -> None:
        self.joins.append(answers)

    @rule(old=st.booleans(), words=st.sampled_from([RANGE, OTHER]))
    def new_member(self, old: bool, words: Any) -> None:
        self.keep(self.scene.join(old=old, protocols=words))

    @rule(instance=st.sampled_from(INSTANCES), skips=st.booleans(), words=st.sampled_from([RANGE, OTHER]))
    def static_member(self, instance: str, skips: bool, words: Any) -> None:
        self.keep(self.scene.join(instance=instance, skips=skips, protocols=words))

    @rule(pick=st.integers(0, 5), words=st.sampled_from([RANGE, OTHER]))
    def join_again(self, pick: int, words: Any) -> None:
        member_id = self.member(pick)
        self.keep(self.scene.join(member_id, instance=self.instance_of(member_id), protocols=words))

    @rule(pick=st.integers(0, 5), stale=st.booleans())
    def sync(self, pick: int, stale: bool) -> None:
        group = self.scene.group
        member_id, generation = self.member(pick), group.generation - stale
        assignments = {each: f"{each}@{len(self.syncs)}".encode() for each in list(group.members)[:3]}
        answers = self.scene.sync(member_id, assignments, generation=generation, instance=self.instance_of(member_id))
        self.syncs.append((member_id, generation, answers))

    @rule(stale=st.booleans())
    def everyone_syncs(self, stale: bool) -> None:
        for member_id in list(self.scene.group.members):
            self.ids.append(member_id)
            self.sync(0, False)

    @rule(pick=st.integers(0, 5))
    def heartbeat(self, pick: int) -> None:
        member_id = self.member(pick)
        self.scene.heartbeat(member_id, instance=self.instance_of(member_id))

    @rule(pick=st.integers(0, 5))
    def leave(self, pick: int) -> None:
        member_id = self.member(pick)
        self.scene.leave(member_id, instance=self.instance_of(member_id))

    @rule(instance=st.sampled_from(INSTANCES))
    def operator_removes(self, instance: str) -> None:
        self.scene.leave("", instance=instance)

    @rule(ms=st.sampled_from([0, 1, 50, 3_000, 9_999, 20_000]))
    def time_passes(self, ms: int) -> None:
        self.scene.advance(ms)

    @rule(holds=st.booleans())
    def log_is_slow(self, holds: bool) -> None:
        self.scene.log.holds_back = holds
        if not holds:
            self.scene.log.release()

    @rule(error=st.sampled_from([ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS]))
    def log_fails(self, error: ErrorCode) -> None:
        self.scene.log.error = error

    @invariant()
    def answers_are_learned(self) -> None:
        for answers in self.joins:
            assert len(answers) <= 1
            if answers and answers[0].member_id and answers[0].member_id not in self.ids:
                self.ids.append(answers[0].member_id)

    @invariant()
    def one_assignment_a_generation(self) -> None:
        seen: dict[tuple[str, int], bytes] = {}
        for member_id, generation, answers in self.syncs:
            assert len(answers) <= 1
            if answers and answers[0].error is ErrorCode.NONE:
                known = seen.setdefault((member_id, generation), answers[0].assignment)
                assert known == answers[0].assignment, f"two assignments for {member_id} in generation {generation}"

    @invariant()
    def books_are_in_order(self) -> None:
        group = self.scene.group
        assert group.awaiting_join_count == sum(m.join_reply is not None for m in group.members.values())
        assert all(member_id == member.member_id for member_id, member in group.members.items())
        assert not group.pending_members & group.members.keys()
        assert group.pending_sync <= group.members.keys()
        statics = {m.group_instance_id: m.member_id for m in group.members.values() if m.group_instance_id}
        assert group.static_members == statics
        assert (group.leader_id in group.members) if group.members else (group.leader_id is None)
        if group.state is GroupState.EMPTY:
            assert not group.members
        elif group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            # Every member can be told its metadata: the protocol of the generation is spoken by all.
            assert len(group.described_members()) == len(group.members)
        # While a rebalance is prepared, members that may be gone do not count.
        assert group.awaiting_join_count <= self.scene.rules.max_size

    def teardown(self) -> None:
        if not hasattr(self, "scene"):
            return
        self.scene.log.error = ErrorCode.NONE
        self.scene.log.holds_back = False
        self.scene.log.release()
        self.scene.advance(A_LONG_TIME_MS)
        group = self.scene.group
        assert group.state is GroupState.EMPTY and not group.members, f"{group} did not come to rest"
        assert not group.pending_members
        assert all(self.joins), "a join was never answered"
        assert all(answers for _, _, answers in self.syncs), "a sync was never answered"
        assert len(self.scene.performer.timers) == 0


TestGroupLife = GroupLife.TestCase
TestGroupLife.settings = settings(max_examples=200, stateful_step_count=40, print_blob=True)
