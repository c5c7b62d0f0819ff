"""Mirrors in transactions that run beside each other from one checkpoint, and take turns between any two effects."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from greenlet import getcurrent, greenlet

from kafka_zk.spark.jobs.outcome import AnotherRunError
from tests.unit.spark.copied_topic import Frame, Killed, State, Target, Transaction, copied, stand_in

RECORDS = 6
WHOLE = [b"%d" % value for value in range(RECORDS)]
EFFECTS = 15
"""More than a run of one batch has."""
LIVES = 150


class Life:
    """Two to four runs of one checkpoint, which begin, stand still, go on and die as a seed says."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.target, self.state = Target(), State()
        epochs_left, id_step = self.random.randrange(7), self.random.choice((1, -1))
        self.transaction = of = Transaction(self.target, epochs_left=epochs_left, id_step=id_step)
        self.state.on_write = self.state.on_list = self._effect
        self.target.before_append = self.target.after_append = self._effect
        of.before_begin = of.before_add = of.before_commit = of.after_commit = self._effect
        self._now: int | None = None
        """The run whose turn it is."""
        self._left: list[int] = []
        """By run: how many effects until it dies."""
        self._others = getcurrent()

    def copied(self) -> dict[int, int]:
        """Target offsets by source offset."""
        rows = copied(self.state, Frame(range(RECORDS)), transaction=self.transaction)
        return {source + n: place + n for _, _, source, place, count in rows for n in range(count)}

    def lives(self) -> list[dict[int, int]]:
        """What those runs told that were not taken over and did not die."""
        told: list[dict[int, int]] = []

        def run() -> None:
            with suppress(AnotherRunError, Killed):
                told.append(self.copied())

        runs = [greenlet(run) for _ in range(self.random.randrange(2, 5))]
        self._left = [self.random.choice((EFFECTS, self.random.randrange(EFFECTS))) for _ in runs]
        while alive := [number for number, each in enumerate(runs) if not each.dead]:
            self._now = self.random.choice(alive)
            runs[self._now].switch()
            assert self.transaction.visible in ([], WHOLE)
        self._now = None
        return told

    def _effect(self) -> None:
        if self._now is None:
            return
        number, mine = self._now, self.target._transactional_id
        self._others.switch()
        self.target._transactional_id = mine
        self._left[number] -= 1
        if not self._left[number]:
            raise Killed


@pytest.mark.parametrize("seed", range(LIVES))
def test_a_batch_is_seen_whole_and_once_however_runs_take_turns(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    life = Life(seed)
    stand_in(monkeypatch, life.target)
    told = life.lives()
    last = life.copied()
    assert life.transaction.visible == WHOLE
    places = life.target.places
    assert {source: places[at] for source, at in last.items()} == dict(enumerate(WHOLE))
    assert all(each == last for each in told)
