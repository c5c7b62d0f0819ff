"""A mirror in transactions that another run of its checkpoint takes over, at any moment: the files of the checkpoint
are where no lock is. Runs read the notes of those that they have fenced, and write over none of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_zk.client.errors import KafkaException, TimeoutException
from kafka_zk.client.range_writing.arrivals import ProducerIdentity
from kafka_zk.spark.jobs.copy_plan import NoteName, note_names
from kafka_zk.spark.jobs.outcome import AnotherRunError, JobError
from tests.unit.spark.copied_topic import Frame, Killed, State, Target, Transaction, copied, stand_in, target

__all__ = ["target"]

RECORDS = 6
WHOLE = [b"%d" % value for value in range(RECORDS)]
Table = dict[int, int]
"""Source offset -> target offset."""
EFFECTS = 15
"""More than a run of one batch has."""


class World:
    """Runs of one checkpoint. `takeovers`: at which effect of the first run the second begins, at which of that one the
    third, and so on; each runs to its end while the one before stands still, and dies at an effect of `deaths`."""

    def __init__(
        self, target: Target, takeovers: Sequence[int], deaths: Sequence[int | None] = (), **epochs: int
    ) -> None:
        """`epochs`: see Transaction."""
        self.target, self.state = target, State()
        self.transaction = Transaction(target, **epochs)
        self._takeovers, self._deaths = takeovers, deaths
        self._counts: list[int] = []
        self.is_slow = False
        """Whether the time of the first run's transaction is over when the second begins."""
        self.outcomes: list[Table | BaseException] = []
        """Of each run, the last that began first."""
        at = self._effect
        self.state.on_write = self.state.on_list = target.before_append = target.after_append = at
        of = self.transaction
        of.before_begin = of.before_add = of.before_commit = of.after_commit = at

    def run(self) -> Table | BaseException:
        outcome: Table | BaseException
        self._counts.append(0)
        try:
            rows = copied(self.state, Frame(range(RECORDS)), transaction=self.transaction)
            outcome = {source + n: place + n for _, _, source, place, count in rows for n in range(count)}
        except (JobError, KafkaException, Killed) as error:
            outcome = error
        self._counts.pop()
        self.outcomes.append(outcome)
        return outcome

    def _effect(self) -> None:
        depth = len(self._counts) - 1
        number = self._counts[depth]
        self._counts[depth] += 1
        if depth < len(self._takeovers) and number == self._takeovers[depth]:
            mine = self.target._transactional_id
            if self.is_slow and self.transaction.is_open:
                self.transaction.time_is_over()
            self.run()
            self.target._transactional_id = mine
        if depth < len(self._deaths) and number == self._deaths[depth]:
            raise Killed

    def ends_well(self) -> None:
        """What readers see is whole and there once, and the next run finds it and says where."""
        seen = self.transaction.visible
        assert seen in ([], WHOLE)
        self._takeovers = self._deaths = ()
        told = self.run()
        assert isinstance(told, dict), told
        assert self.transaction.visible == WHOLE
        places = self.target.places
        assert {source: places[at] for source, at in told.items()} == dict(enumerate(WHOLE))
        assert all(each == told for each in self.outcomes if isinstance(each, dict))


@pytest.mark.parametrize("is_slow", [False, True], ids=["in time", "out of time"])
@pytest.mark.parametrize("at", range(EFFECTS))
def test_a_run_that_another_one_takes_over_between_two_effects_adds_nothing(
    target: Target, at: int, is_slow: bool
) -> None:
    """Also where it stood still for so long that the coordinator had aborted its transaction."""
    world = World(target, [at])
    world.is_slow = is_slow
    outcome = world.run()
    # Either it has begun last, or it is told in plain words.
    assert isinstance(outcome, (dict, AnotherRunError)), outcome
    world.ends_well()


def test_notes_are_read_when_earlier_runs_cannot_add_to_what_they_tell(target: Target) -> None:
    """The second run begins, notes, sends and commits just before the first one fences it: what the first had read by
    then said that there is nothing."""
    world = World(target, [])

    def other_run() -> None:
        world.transaction.before_begin = lambda: None
        world.run()

    world.transaction.before_begin = other_run
    first = world.run()
    assert isinstance(first, dict) and world.outcomes == [first, first]
    assert world.transaction.visible == WHOLE


def test_a_note_that_is_written_late_does_not_hide_that_of_the_run_which_committed(target: Target) -> None:
    """The first run has read that there are no notes, and writes its own when the second has committed."""
    for at in range(EFFECTS):
        world = World(Target(), [at])
        with pytest.MonkeyPatch.context() as patch:
            stand_in(patch, world.target)
            world.run()
            if len(world.state) == 2:
                break
    assert sorted(world.state) == ["b.note-1-1000-0", "b.note-1-1000-1"]
    assert isinstance(world.outcomes[1], AnotherRunError)
    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch, world.target)
        world.ends_well()


@settings(max_examples=200, deadline=None)
@given(
    takeovers=st.lists(st.integers(0, EFFECTS), min_size=1, max_size=3),
    deaths=st.lists(st.one_of(st.none(), st.integers(0, EFFECTS)), max_size=4),
    epochs_left=st.integers(0, 6),
    id_step=st.sampled_from((1, -1)),
)
@example(takeovers=[1, 1], deaths=[], epochs_left=9, id_step=1)
@example(takeovers=[3, 2], deaths=[None, 9], epochs_left=9, id_step=1)
def test_however_many_runs_take_each_other_over_a_batch_is_seen_whole_and_once(
    takeovers: list[int], deaths: list[int | None], epochs_left: int, id_step: int
) -> None:
    """Also where the epochs of a producer id are used up meanwhile."""
    world = World(Target(), takeovers, deaths, epochs_left=epochs_left, id_step=id_step)
    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch, world.target)
        world.run()
        world.ends_well()


def test_a_late_note_of_a_producer_whose_epochs_are_used_up_does_not_hide_the_next_one_s(target: Target) -> None:
    """The first run gets the last epoch and stands still before its note; the second gets a lower id, and commits."""
    world = World(target, [2], epochs_left=1, id_step=-1)
    assert isinstance(world.run(), AnotherRunError)
    assert sorted(world.state) == ["b.note-1-1000-32766", "b.note-1-999-0"]
    world.ends_well()


def test_a_batch_that_took_too_long_is_not_told_as_taken_over(target: Target) -> None:
    state, transaction = State(), Transaction(target)
    transaction.before_commit = transaction.time_is_over
    with pytest.raises(JobError, match=r"not written within transaction\.timeout\.ms") as raised:
        copied(state, Frame(range(RECORDS)), transaction=transaction)
    assert not isinstance(raised.value, AnotherRunError)
    assert transaction.visible == []


def test_a_run_that_stood_still_is_told_that_it_was_taken_over_though_its_call_took_too_long(target: Target) -> None:
    world = World(target, [])

    def stands_still() -> None:
        world.transaction.before_add = lambda: None
        world.run()
        raise TimeoutException("Timeout expired while awaiting AddPartitionsToTxn")

    world.transaction.before_add = stands_still
    assert isinstance(world.run(), AnotherRunError)
    world.ends_well()


def test_a_later_note_of_the_same_producer_is_refused(target: Target) -> None:
    """Its writer has begun since this run did."""
    state, transaction = State(), Transaction(target)
    state.on_list = lambda: dict.__setitem__(state, "b.note-1-1000-7", '{"partitions": [], "topic_ids": {}}')
    with pytest.raises(AnotherRunError, match="another run of this job has begun"):
        copied(state, Frame(range(RECORDS)), transaction=transaction)
    assert not target.values


def test_notes_stand_in_the_order_in_which_their_writers_fenced_each_other() -> None:
    names = ["b.note-2-7-3", "b.note-1-7-4", "b.note-3-2-0", "b.note-1", "b.note-10", "b.note-2", "bb.note-4", "b.base"]
    found = note_names(names, "b")
    assert [str(each) for each in found] == [
        *("b.note-1", "b.note-2", "b.note-10"),
        *("b.note-2-7-3", "b.note-1-7-4", "b.note-3-2-0"),
    ]
    assert found[-1] == NoteName("b", 3, ProducerIdentity(2, 0))
    # Who has one producer id has fenced those that have the other.
    assert [str(each) for each in note_names(names, "b", ProducerIdentity(7, 5))][3:] == [
        *("b.note-3-2-0", "b.note-2-7-3", "b.note-1-7-4")
    ]
