"""A mirror in transactions against chance: of each batch readers of committed records see all or nothing, and once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_zk.client.errors import DisconnectException, TimeoutException
from kafka_zk.spark.jobs.mirror import committed_only
from kafka_zk.spark.jobs.outcome import JobError
from tests.unit.spark.copied_topic import Frame, Killed, State, Target, Transaction, copied, stand_in, target

__all__ = ["target"]

STEPS = st.one_of(
    st.tuples(st.just("run"), st.integers(0, 12)),
    st.tuples(st.just("task"), st.integers(0, 8)),
    st.tuples(st.just("late"), st.integers(0, 8)),
    st.tuples(st.just("lost"), st.integers(0, 8)),
    st.tuples(st.just("compact"), st.integers(0, 9)),
    st.tuples(st.just("foreign"), st.integers(1, 3)),
)
"""What happens before the run that is done: a run, or one try of its task, ends after so many effects; `late` lets the
request that was under way arrive before anybody looks again; an answer is lost; the source or others change a topic."""


def numbers(*values: int) -> list[bytes]:
    return [b"%d" % value for value in values]


def fails_once(after: int, error: BaseException) -> Callable[[], None]:
    left = after

    def effect() -> None:
        nonlocal left
        left -= 1
        if left == -1:
            raise error

    return effect


def told_by(table: list[tuple[str, int, int, int, int]]) -> dict[int, int]:
    """Source offset -> target offset."""
    return {source + n: place + n for _, _, source, place, count in table for n in range(count)}


def nothing() -> None:
    pass


class World:
    def __init__(self, records: int) -> None:
        self.target, self.state = Target(), State()
        self.transaction = Transaction(self.target)
        self.source = list(range(records))

    def step(self, kind: str, how: int) -> None:
        if kind == "compact":
            self.source = [offset for offset in self.source if offset != how]
        elif kind == "foreign":
            self.target.add([b"foreign"] * how)
        elif kind == "lost":
            effect = fails_once(how, DisconnectException("gone"))
            self.target.before_append = self.target.after_append = effect
            self.broken(tries=1)
        else:
            effect = fails_once(how, Killed())
            self.target.before_append = self.target.after_append = effect
            if kind == "run":
                self.state.on_write = self.transaction.before_commit = self.transaction.after_commit = effect
            self.broken(tries=2 if kind == "task" else 1)
            if kind == "late" and self.target.under_way:
                self.target.take(self.target.under_way)
        self.is_whole()

    def broken(self, tries: int) -> None:
        self.target.under_way = None
        with suppress(Killed):
            copied(self.state, Frame(self.source, tries=tries), transaction=self.transaction)
        self.target.before_append = self.target.after_append = nothing
        self.state.on_write = self.transaction.before_commit = self.transaction.after_commit = nothing

    def seen(self) -> list[int]:
        return [int(value or b"") for value in self.transaction.visible if value != b"foreign"]

    def is_whole(self) -> None:
        """All of the batch as some run found it, or nothing."""
        seen = self.seen()
        assert not seen or set(seen) >= set(self.source)
        assert len(set(seen)) == len(seen), f"twice: {seen}"


@settings(max_examples=150, deadline=None)
@given(records=st.integers(1, 10), steps=st.lists(STEPS, max_size=8))
@example(records=10, steps=[("late", 2)])
@example(records=10, steps=[("run", 8)])
def test_a_batch_is_seen_whole_and_once_whatever_happens_between_two_effects(
    records: int, steps: list[tuple[str, Any]]
) -> None:
    world = World(records)
    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch, world.target)
        for kind, how in steps:
            world.step(kind, how)
        if not world.source:
            return
        told = told_by(copied(world.state, Frame(world.source), transaction=world.transaction))
        world.is_whole()
        seen = world.seen()
        assert set(seen) >= set(world.source) and seen == sorted(seen)
        places = {at: value for at, value in world.target.places.items() if value is not None}
        assert {source: places[at] for source, at in told.items()} == {n: b"%d" % n for n in seen}
        assert told_by(copied(world.state, Frame(world.source), transaction=world.transaction)) == told
        assert world.seen() == seen, "a copy that is done sends nothing"


def test_what_was_aborted_counts_for_nothing(target: Target) -> None:
    state, transaction = State(), Transaction(target)
    transaction.before_commit = fails_once(0, Killed())
    with pytest.raises(Killed):
        copied(state, Frame(range(6)), transaction=transaction)
    assert target.values == numbers(*range(6)) and transaction.visible == []
    # Behind them is the marker.
    told = told_by(copied(state, Frame(range(6)), transaction=transaction))
    assert told == {source: 7 + source for source in range(6)}
    assert transaction.visible == numbers(*range(6))


def test_a_commit_without_an_answer_is_found_by_the_next_run(target: Target) -> None:
    state, transaction = State(), Transaction(target)
    transaction.after_commit = fails_once(0, TimeoutException("no answer"))
    with pytest.raises(JobError, match="in a transaction: no answer; run the same command again"):
        copied(state, Frame(range(6)), transaction=transaction)
    # The source has lost a record since.
    assert copied(state, Frame(range(1, 6)), transaction=transaction) == [("t", 0, 0, 0, 6)]
    assert transaction.visible == numbers(*range(6))


def test_a_batch_goes_on_in_transactions_as_it_was_begun_or_without(target: Target) -> None:
    state, transaction = State(), Transaction(target)
    target.before_append = fails_once(0, Killed())
    with pytest.raises(Killed):
        copied(state, Frame(range(6)), transaction=transaction)
    with pytest.raises(JobError, match="was begun with a transaction"):
        copied(state, Frame(range(6)))
    state = State()
    target.before_append = fails_once(0, Killed())
    with pytest.raises(Killed):
        copied(state, Frame(range(6)))
    with pytest.raises(JobError, match="was begun without a transaction"):
        copied(state, Frame(range(6)), transaction=transaction)


def test_what_is_not_committed_is_not_mirrored_in_transactions() -> None:
    assert committed_only({"a": "b"}) == {"a": "b", "isolation.level": "read_committed"}
    with pytest.raises(JobError, match="cannot be read_uncommitted"):
        committed_only({"isolation.level": "read_uncommitted"})
