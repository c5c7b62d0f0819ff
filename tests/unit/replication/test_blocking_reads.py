"""A waiting fetch whose read blocks, for an index is made anew: answered once, and nothing that it read is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gevent
import pytest
from gevent.event import Event

from kafka_zk.clock import SimClock
from kafka_zk.protocol.types import NULL_UUID
from kafka_zk.replication.purgatory import Purgatory
from kafka_zk.replication.serving.delayed_fetch import DelayedFetch
from kafka_zk.replication.serving.records_view import PartitionFetch, PartitionRead

KEY = ("t", 0)
WANTED = PartitionFetch("t", NULL_UUID, 0, 0, 1 << 20)
PATIENCE_S = 30


class Slice:
    """A reference to a segment file, as a read hands it out."""

    def __init__(self) -> None:
        self.releases = 0

    def release(self) -> None:
        self.releases += 1


class Log:
    """One partition whose reads stop at a gate while it is closed."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self.slices: list[Slice] = []
        self.gate = Event()
        self.gate.set()
        self.waiting = 0

    def size(self, _: PartitionFetch) -> int:
        size_bytes = self.size_bytes
        self.waiting += 1
        with gevent.Timeout(PATIENCE_S):
            self.gate.wait()
        self.waiting -= 1
        return size_bytes

    def read(self) -> list[PartitionRead]:
        size_bytes = self.size(WANTED)
        piece: Any = Slice()
        self.slices.append(piece)
        answer = PartitionRead()
        answer.hold([piece], size_bytes, None)
        return [answer]


class Scene:
    """A purgatory with one fetch of at least 10 bytes."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.room = Purgatory("Fetch", self.clock)
        self.log = Log()
        self.answers: list[list[PartitionRead]] = []
        self.expired = 0
        self.operation = DelayedFetch(
            100,
            [WANTED],
            min_bytes=10,
            size_of=self.log.size,
            read=self.log.read,
            answer=self.answers.append,
            expired=self._expire,
        )
        self.greenlets: list[gevent.Greenlet[..., Any]] = []

    def _expire(self, count: int) -> None:
        self.expired += count

    def watch(self) -> None:
        self.room.complete_or_watch(self.operation, [KEY])

    def check(self) -> None:
        """Somebody appended."""
        self.room.check_and_complete(KEY)

    def blocked(self, work: Any) -> None:
        """Start `work` in a greenlet of its own, up to where it blocks or ends."""
        greenlet = gevent.spawn(work)
        self.greenlets.append(greenlet)
        gevent.sleep(0)

    def open(self) -> None:
        self.log.gate.set()
        gevent.joinall(self.greenlets, timeout=PATIENCE_S, raise_error=True)
        assert all(greenlet.ready() for greenlet in self.greenlets)

    def assert_answered_once(self) -> None:
        """With slices that are held, and all others given back once."""
        assert len(self.answers) == 1
        held = [piece for answer in self.answers[0] for piece in answer.slices]
        assert [piece.releases for piece in self.log.slices] == [0 if piece in held else 1 for piece in self.log.slices]
        assert not self.room.watched


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene()
    yield made
    made.log.gate.set()
    gevent.killall(made.greenlets)


def test_of_two_greenlets_that_ask_one_fetch_one_answers_and_none_leaks(scene: Scene) -> None:
    scene.watch()
    scene.log.gate.clear()
    scene.log.size_bytes = 10
    scene.blocked(scene.check)
    scene.blocked(scene.check)
    scene.open()
    scene.assert_answered_once()


def test_only_one_greenlet_reads_for_a_fetch_and_who_appends_meanwhile_goes_on(scene: Scene) -> None:
    scene.watch()
    scene.log.gate.clear()
    scene.blocked(scene.check)
    scene.blocked(scene.check)
    assert scene.log.waiting == 1
    assert scene.greenlets[1].ready()
    scene.open()


def test_what_is_appended_while_a_fetch_reads_answers_it(scene: Scene) -> None:
    scene.watch()
    scene.log.gate.clear()
    scene.blocked(scene.check)
    scene.log.size_bytes = 10
    scene.blocked(scene.check)
    scene.open()
    scene.assert_answered_once()


def test_what_is_appended_while_a_fetch_reads_first_answers_it(scene: Scene) -> None:
    scene.log.gate.clear()
    scene.blocked(scene.watch)
    scene.log.size_bytes = 10
    scene.check()
    scene.open()
    scene.assert_answered_once()


def test_a_deadline_in_a_read_answers_and_gives_the_other_read_back(scene: Scene) -> None:
    scene.watch()
    scene.log.gate.clear()
    scene.log.size_bytes = 10
    scene.blocked(scene.check)
    scene.blocked(lambda: scene.clock.advance(100))
    scene.open()
    scene.assert_answered_once()
    assert scene.expired == 1


def test_a_stop_while_a_fetch_reads_gives_everything_back(scene: Scene) -> None:
    scene.watch()
    scene.log.gate.clear()
    scene.log.size_bytes = 10
    scene.blocked(scene.check)
    scene.room.shutdown()
    scene.open()
    assert scene.answers == []
    assert [piece.releases for piece in scene.log.slices] == [1] * len(scene.log.slices)
    assert not scene.room.watched


def test_a_read_that_fails_leaves_nobody_waiting(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> bool:
        raise OSError("no")

    monkeypatch.setattr(DelayedFetch, "try_complete", lambda _: fail())
    with pytest.raises(OSError, match="no"):
        scene.watch()
    assert not scene.room.watched
