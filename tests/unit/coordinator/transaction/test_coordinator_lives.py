"""Random lives of transactions at a coordinator that acts: its log refuses, waits, and moves away and back; leaders of
partitions are down, change, or do not answer.

The model keeps what clients may rely on: each transaction that was answered has one outcome, in all its partitions, and
whoever was fenced changes nothing any more.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

import pytest
from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from kafka_zk.coordinator.transaction.decisions.requests import ProducerIdAndEpoch
from kafka_zk.coordinator.transaction.decisions.states import AT_REST, ENDING
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode, NotLeaderOrFollower
from kafka_zk.protocol.types import TopicPartition
from tests.unit.coordinator.transaction.transaction_world import COUNT, LEADERS, OWN, TIMEOUT_MS, World

IDS = ["a", "b", "c"]
"""Of both partitions of __transaction_state."""
PARTITIONS = sorted(LEADERS)
ids = st.sampled_from(IDS)
partitions = st.sets(st.sampled_from(PARTITIONS), min_size=1)


@dataclass
class Producer:
    """A client that waits for each answer before it asks again. `added` may hold less than the coordinator knows."""

    who: ProducerIdAndEpoch
    added: set[TopicPartition] = field(default_factory=set)
    unsure: set[TopicPartition] = field(default_factory=set)
    """Partitions whose AddPartitionsToTxn failed: they may be in the transaction, or not."""
    waits: Pending[ErrorCode] | None = None
    outcome: bool | None = None
    """Asked for, and not known to be answered yet."""
    since: int = 0
    """Markers before this one are of its earlier transactions."""


class Lives(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.producers: dict[str, Producer] = {}
        self.fenced: set[ProducerIdAndEpoch] = set()
        self.newest: dict[str, ProducerIdAndEpoch] = {}

    @initialize(has_replicas=st.booleans())
    def replicate(self, has_replicas: bool) -> None:
        """With replicas, another broker could have taken over: what is answered is confirmed."""
        self.world.log.has_replicas = has_replicas

    def teardown(self) -> None:
        self._heal()
        for transactional_id in IDS:
            found = self.world.coordinator.describe(transactional_id)
            if not isinstance(found, ErrorCode):
                assert found.state not in ENDING, f"undecided for ever: {found}"
        self.world.stop()

    def _heal(self) -> None:
        """Everything works again, for long enough."""
        self.world.log.fails = self.world.log.holds_back = False
        self.world.log.release()
        self.world.leaders.silent = self.world.leaders.cut = False
        self.world.leaders.refusals.clear()
        self.world.leaders.alive = {OWN, 1, 2}
        for _ in range(5):
            self.world.leaders.speak()
            self.world.passes(1_000)

    # --- producers ---------------------------------------------------------------------------------------------------

    @rule(transactional_id=ids, knows=st.booleans())
    def begin(self, transactional_id: str, knows: bool) -> None:
        """A new producer, or the one of before that asks for its next epoch."""
        old = self.producers.get(transactional_id)
        if old is not None and old.waits is not None and not old.waits.is_done:
            return
        was = old.who if knows and old is not None else None
        answer = self.world.coordinator.init_producer_id(transactional_id, timeout_ms=TIMEOUT_MS, expected=was)
        self.world.settle()
        note(f"{transactional_id} begins after {was}: {answer}")
        if not answer.is_done:
            # Its client gives up: whatever comes of it, nobody uses it.
            self.producers.pop(transactional_id, None)
        elif answer.value.error is ErrorCode.NONE:
            who = ProducerIdAndEpoch(answer.value.producer_id, answer.value.producer_epoch)
            newest = self.newest.get(transactional_id)
            assert who not in self.fenced, f"{who} was fenced"
            if newest is not None:
                assert who.producer_id != newest.producer_id or who.epoch >= newest.epoch, "the epoch went back"
                if who != newest:
                    self.fenced.add(newest)
            self.newest[transactional_id] = who
            self.producers[transactional_id] = Producer(who, since=len(self.world.leaders.markers))

    @rule(transactional_id=ids, wanted=partitions)
    def add(self, transactional_id: str, wanted: set[TopicPartition]) -> None:
        producer = self.producers.get(transactional_id)
        if producer is None or producer.outcome is not None or not self._is_free(producer):
            return
        producer.waits = self.world.adds(producer.who, *wanted, transactional_id=transactional_id)
        note(f"{transactional_id} adds {sorted(wanted)}: {producer.waits}")
        if producer.waits.is_done and producer.waits.value is ErrorCode.NONE:
            assert producer.who not in self.fenced
            producer.added |= wanted
            producer.unsure -= wanted
        else:
            producer.unsure |= wanted - producer.added

    @rule(transactional_id=ids, commit=st.booleans())
    def end(self, transactional_id: str, commit: bool) -> None:
        """A client that was not answered asks for the same again."""
        producer = self.producers.get(transactional_id)
        if producer is None or not producer.added or not self._is_free(producer):
            return
        if producer.outcome is None:
            producer.outcome = commit
        producer.waits = self.world.ends(producer.who, commit=producer.outcome, transactional_id=transactional_id)
        note(f"{transactional_id} ends with {producer.outcome}: {producer.waits}")
        if producer.waits.is_done and producer.waits.value is ErrorCode.NONE:
            self._has_ended(transactional_id, producer)

    @rule(transactional_id=ids, commit=st.booleans())
    def a_fenced_one_tries(self, transactional_id: str, commit: bool) -> None:
        for who in sorted(self.fenced):
            if self.newest.get(transactional_id, who).producer_id == who.producer_id:
                answer = self.world.ends(who, commit=commit, transactional_id=transactional_id)
                assert answer.is_done and answer.value is not ErrorCode.NONE, f"{who} was fenced"

    def _is_free(self, producer: Producer) -> bool:
        """Whether its last request was answered. One that the log keeps waiting is: its client timed out."""
        if producer.waits is not None and not producer.waits.is_done:
            return False
        producer.waits = None
        return True

    def _has_ended(self, transactional_id: str, producer: Producer) -> None:
        """The answer promises the outcome, everywhere. It may have been the answer of an earlier attempt."""
        assert producer.outcome is not None
        outcome, since = producer.outcome, producer.since
        self._heal_markers(transactional_id)
        seen = {
            (each.partition, each.is_commit)
            for each in self.world.leaders.markers[since:]
            if each.producer == producer.who
        }
        assert {(partition, outcome) for partition in producer.added} <= seen, "not everywhere"
        assert all(is_commit == outcome for _, is_commit in seen), f"two outcomes: {seen}"
        assert {partition for partition, _ in seen} <= producer.added | producer.unsure, "more than it has"
        self.producers[transactional_id] = Producer(producer.who, since=len(self.world.leaders.markers))

    def _heal_markers(self, transactional_id: str) -> None:
        """Let what was decided be finished, whatever was wrong."""
        note(f"all is well until {transactional_id} is finished")
        self._heal()
        found = self.world.found(transactional_id)
        assert found.state in AT_REST, found

    # --- what goes wrong ---------------------------------------------------------------------------------------------

    @rule(fails=st.booleans())
    def log_fails(self, fails: bool) -> None:
        self.world.log.fails = fails

    @rule(holds=st.booleans())
    def log_is_slow(self, holds: bool) -> None:
        self.world.log.holds_back = holds
        if not holds:
            self.world.log.release()
            self.world.settle()

    @rule(partition=st.integers(0, COUNT - 1), keep_held=st.booleans())
    def move(self, partition: int, keep_held: bool) -> None:
        for each in self.world.resign(partition, keep_held=keep_held):
            each.refuse(NotLeaderOrFollower())
        self.world.lead(partition)

    @rule(silent=st.booleans(), forgets=st.booleans())
    def leaders_are_silent(self, silent: bool, forgets: bool) -> None:
        self.world.leaders.silent = silent
        if not silent:
            self.world.leaders.forget() if forgets else self.world.leaders.speak()
            self.world.settle()

    @rule(cut=st.booleans())
    def network_is_cut(self, cut: bool) -> None:
        self.world.leaders.cut = cut

    @rule(partition=st.sampled_from(PARTITIONS), leader=st.integers(OWN, 2), refuses=st.booleans())
    def leader_changes(self, partition: TopicPartition, leader: int, refuses: bool) -> None:
        if refuses:
            self.world.leaders.refusals[partition] = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        self.world.leaders.leaders[partition] = leader
        self.world.leaders.changed()
        self.world.settle()

    @rule(broker=st.integers(1, 2), lives=st.booleans())
    def broker_dies(self, broker: int, lives: bool) -> None:
        with contextlib.suppress(KeyError):
            self.world.leaders.alive.remove(broker)
        if lives:
            self.world.leaders.alive.add(broker)
        self.world.leaders.changed()
        self.world.settle()

    @rule(ms=st.sampled_from([1, 50, 1_000, 9_999]))
    def time_passes(self, ms: int) -> None:
        self.world.passes(ms)

    @rule()
    def all_time_out(self) -> None:
        """Whoever is open then is fenced, and finds that out by itself."""
        self.world.passes(TIMEOUT_MS + 20_000)
        for transactional_id, producer in list(self.producers.items()):
            if producer.added or producer.unsure:
                del self.producers[transactional_id]

    # --- always ------------------------------------------------------------------------------------------------------

    @invariant()
    def memory_is_what_the_log_says_where_nothing_is_changing(self) -> None:
        if self.world.log.holds_back or self.world.log.held:
            return
        for transactional_id in IDS:
            found = self.world.coordinator.describe(transactional_id)
            if isinstance(found, ErrorCode) or found.changing_to is not None or found.failed_to_fence:
                continue
            stored = self.world.stored(transactional_id)
            if stored is not None:
                assert (found.state, found.partitions) == (stored.state, stored.partitions)
                assert (found.producer_id, found.producer_epoch) == (stored.producer_id, stored.producer_epoch)


def test_random_lives() -> None:
    run_state_machine_as_test(Lives, settings=settings(max_examples=150, stateful_step_count=40, derandomize=True))


@pytest.mark.slow
def test_many_random_lives() -> None:
    run_state_machine_as_test(Lives, settings=settings(max_examples=5_000, stateful_step_count=60))
