"""What docs/pipeline.md promises of restore and mirror, against chance: the source loses and gains records between
runs, others write to the target, which is compacted, a try of a task or a whole run ends between any two effects, a
request arrives late.

The promise is checked by looking at the target only: what is there, how often, and whether the table tells the truth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_zk.client.errors import DisconnectException, KafkaException
from kafka_zk.spark.jobs.outcome import JobError
from tests.unit.spark.copied_topic import Frame, Killed, State, Target, copied, stand_in

STEPS = st.one_of(
    st.tuples(st.just("grow"), st.integers(1, 12)),
    st.tuples(st.just("compact"), st.sets(st.integers(0, 40), max_size=8)),
    st.tuples(st.just("retention"), st.integers(0, 30)),
    st.tuples(st.just("foreign"), st.integers(1, 5)),
    st.tuples(st.just("clean"), st.sets(st.integers(0, 20), min_size=1, max_size=8)),
    st.tuples(st.just("run"), st.integers(0, 12)),
    st.tuples(st.just("task"), st.integers(0, 6)),
    st.tuples(st.just("late"), st.integers(0, 6)),
    st.tuples(st.just("lost"), st.integers(0, 12)),
    st.tuples(st.just("crossing"), st.integers(0, 6)),
    st.tuples(st.just("limit"), st.integers(1, 5)),
    st.tuples(st.just("anew"), st.integers(0, 6)),
    st.tuples(st.just("done"), st.just(0)),
)
"""What happens, and how far: `run` ends the whole run after so many effects, `task` one try of its task, `late` lets
the request that was under way then arrive before anybody looks again, `crossing` as the next run sends its first, whose
answer is lost. `lost` is a run to its end but for one answer that is lost; `limit` is how many records the target takes
in one batch from then on; `anew` is another target of the same name from then on, in the middle of a run; `clean` is
the target's cleaner, when the producers of earlier runs have expired; `done` is a run to its end."""


class World:
    def __init__(self, records: int, largest_batch: int) -> None:
        self.source: set[int] = set(range(records))
        self.next_offset = records
        self.ever: set[int] = set(self.source)
        self.target = Target()
        self.target.largest_batch = largest_batch
        self.state = State()
        self.is_other = False
        self.cleaned: dict[int, bytes | None] = {}
        """What newer values took the place of, by the offset where it was."""

    def step(self, kind: str, how: Any) -> None:
        if kind == "grow":
            fresh = set(range(self.next_offset, self.next_offset + how))
            self.source |= fresh
            self.ever |= fresh
            self.next_offset += how + 1
        elif kind == "compact":
            self.source -= how
        elif kind == "retention":
            self.source = {offset for offset in self.source if offset >= how}
        elif kind == "foreign":
            self.target.add([b"foreign"] * how)
        elif kind == "clean":
            self.clean(how)
        elif kind == "done":
            self.run()
        elif kind == "limit":
            self.target.largest_batch = how
        elif kind == "lost":
            self.target.before_append = self.target.after_append = self.fails_once(how, DisconnectException("gone"))
            self.run()
        elif kind == "crossing":
            self.crossing(how)
        elif kind == "anew":
            self.made_anew(how)
        else:
            self.broken(kind, how)

    def broken(self, kind: str, after: int) -> None:
        effect = self.fails_once(after * 2 if kind in ("late", "crossing") else after, Killed())
        self.target.before_append = self.target.after_append = effect
        if kind == "run":
            self.state.on_write = self.target.before_identity = effect
        self.target.under_way = None
        with suppress(Killed, JobError, KafkaException):
            copied(self.state, Frame(sorted(self.source), tries=2 if kind == "task" else 1))
        self.at_ease()
        if kind == "late" and self.target.under_way:
            self.target.take(self.target.under_way)

    @staticmethod
    def fails_once(after: int, error: BaseException) -> Callable[[], None]:
        left = after

        def effect() -> None:
            nonlocal left
            left -= 1
            if left == -1:
                raise error

        return effect

    def crossing(self, after: int) -> None:
        """What a killed run had sent arrives between the next one's look and its first request."""
        self.broken("crossing", after)
        hung = [self.target.under_way] if self.target.under_way else []

        def arrives() -> None:
            if hung:
                self.target.take(hung.pop() or b"")
                self.target.after_append = self.fails_once(0, DisconnectException("gone"))

        self.target.before_append = arrives
        # It may say that the other came between: what the run after it does is told by `done`.
        with suppress(JobError, KafkaException):
            self.copy()
        self.at_ease()

    def clean(self, numbers: set[int]) -> None:
        before = self.target.places
        # The last batch lies in the active segment.
        starts = [head.base_offset for head, _ in self.target.log[:-1]]
        self.target.clean({start for number, start in enumerate(starts) if number in numbers})
        self.cleaned |= {at: value for at, value in before.items() if at not in self.target.places}

    def made_anew(self, after: int) -> None:
        left = after

        def effect() -> None:
            nonlocal left
            left -= 1
            if left == -1:
                self.target.make_anew()
                self.is_other = True

        self.target.before_append = self.target.after_append = effect
        if self.state:
            # Before there is a note the new topic is as good as the old one.
            self.target.before_identity = effect
        try:
            self.run()
        finally:
            self.at_ease()

    def at_ease(self) -> None:
        self.target.before_identity = self.target.before_append = self.target.after_append = lambda: None
        self.state.on_write = lambda: None

    def run(self) -> None:
        """To the end. It says so where the target is another topic than it was, or does not tell any more what came."""
        try:
            self.copy()
        except (JobError, KafkaException):
            assert self.is_other or self.cleaned
        else:
            assert not self.is_other, "told as done though the records are in two topics"
        finally:
            self.at_ease()

    def copy(self) -> None:
        table = copied(self.state, Frame(sorted(self.source)))
        places = {at: value for at, value in {**self.cleaned, **self.target.places}.items() if value != b"foreign"}
        ours = Counter(places.values())
        assert not [value for value, count in ours.items() if count > 1], f"twice: {ours}"
        there = {int(value or b"") for value in ours}
        assert self.source <= there <= self.ever, f"lost: {sorted(self.source - there)}"
        told = {source + n: place + n for _, _, source, place, count in table for n in range(count)}
        left = {int(value or b""): at for at, value in places.items() if at not in self.cleaned}
        assert told == {int(value or b""): at for at, value in places.items() if int(value or b"") in told | left}


@settings(max_examples=120, deadline=None)
@given(records=st.integers(1, 10), largest_batch=st.integers(1, 4), steps=st.lists(STEPS, max_size=10))
@example(records=3, largest_batch=2, steps=[("crossing", 1)])
def test_each_record_is_copied_once_whatever_happens_between_two_effects(
    records: int, largest_batch: int, steps: list[tuple[str, Any]]
) -> None:
    world = World(records, largest_batch)
    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch, world.target)
        for kind, how in steps:
            world.step(kind, how)
        world.run()
        before = list(world.target.values)
        world.run()
        assert world.target.values == before, "a copy that is done sends nothing"
