"""Waiting: exactly one completion, by an event or by the deadline."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.clock import SimClock
from kafka_zk.replication.purgatory import DelayedOperation, Purgatory


class Waiting(DelayedOperation):
    def __init__(self, timeout_ms: int, ready: bool = False) -> None:
        super().__init__(timeout_ms)
        self.ready = ready
        self.answers: list[str] = []
        self.asked = 0
        self._expired = False

    def try_complete(self) -> bool:
        self.asked += 1
        return self.ready

    def on_expiration(self) -> None:
        self._expired = True

    def on_complete(self) -> None:
        self.answers.append("expired" if self._expired else "done")


def purgatory() -> tuple[Purgatory, SimClock]:
    clock = SimClock()
    return Purgatory("Test", clock), clock


def test_what_can_be_answered_at_once_is_never_watched() -> None:
    room, _ = purgatory()
    operation = Waiting(100, ready=True)
    assert room.complete_or_watch(operation, ["a"])
    assert operation.answers == ["done"]
    assert not room.watched


def test_an_event_on_any_key_completes_the_operation() -> None:
    room, _ = purgatory()
    operation = Waiting(100)
    assert not room.complete_or_watch(operation, ["a", "b"])
    operation.ready = True
    assert room.check_and_complete("b") == 1
    assert operation.answers == ["done"]


def test_an_event_that_changes_nothing_leaves_the_operation_waiting() -> None:
    room, _ = purgatory()
    operation = Waiting(100)
    room.complete_or_watch(operation, ["a"])
    assert room.check_and_complete("a") == 0
    assert operation.asked == 2
    assert operation.answers == []


def test_the_deadline_completes_what_no_event_did() -> None:
    room, clock = purgatory()
    operation = Waiting(100)
    room.complete_or_watch(operation, ["a"])
    clock.advance(99)
    assert operation.answers == []
    clock.advance(1)
    assert operation.answers == ["expired"]
    assert room.expired_count == 1


def test_after_an_event_the_deadline_does_nothing() -> None:
    room, clock = purgatory()
    operation = Waiting(100)
    room.complete_or_watch(operation, ["a"])
    operation.ready = True
    room.check_and_complete("a")
    clock.advance(1_000)
    assert operation.answers == ["done"]


def test_a_completed_operation_is_in_no_list_any_more() -> None:
    room, _ = purgatory()
    operation = Waiting(100)
    room.complete_or_watch(operation, ["a", "b", "c"])
    assert (room.waiting_count, room.watch_count) == (1, 3)
    operation.ready = True
    room.check_and_complete("a")
    assert (room.waiting_count, room.watch_count) == (0, 0)
    assert not room.watched


def test_an_operation_may_change_the_lists_while_they_are_walked() -> None:
    room, _ = purgatory()
    later = Waiting(100)

    class Inviting(Waiting):
        def on_complete(self) -> None:
            super().on_complete()
            room.complete_or_watch(later, ["a"])

    first, second = Inviting(100), Waiting(100)
    room.complete_or_watch(first, ["a"])
    room.complete_or_watch(second, ["a"])
    first.ready = second.ready = True
    assert room.check_and_complete("a") == 2
    assert room.waiting_count == 1
    later.ready = True
    assert room.check_and_complete("a") == 1


def test_shutdown_answers_nobody_and_leaves_no_deadline() -> None:
    room, clock = purgatory()
    operation = Waiting(100)
    room.complete_or_watch(operation, ["a"])
    room.shutdown()
    clock.advance(1_000)
    assert operation.answers == []


@given(st.lists(st.tuples(st.sampled_from(["event", "ready", "advance"]), st.integers(0, 4)), max_size=40))
def test_every_operation_completes_exactly_once(steps: list[tuple[str, int]]) -> None:
    room, clock = purgatory()
    operations = [Waiting(50 * (number + 1)) for number in range(5)]
    for number, operation in enumerate(operations):
        room.complete_or_watch(operation, [number % 2, "all"])
    for kind, number in steps:
        if kind == "event":
            room.check_and_complete("all" if number > 2 else number % 2)
        elif kind == "ready":
            operations[number].ready = True
        else:
            clock.advance(20 * number)
    clock.advance(10_000)
    assert [len(operation.answers) for operation in operations] == [1] * 5
    assert not room.watched


def test_a_bug_in_one_operation_keeps_no_other_waiting() -> None:
    class Faulty(Waiting):
        def on_complete(self) -> None:
            raise ValueError("a bug")

    room, _ = purgatory()
    operations = [Waiting(100), Faulty(100), Waiting(100)]
    for operation in operations:
        room.complete_or_watch(operation, ["a"])
        operation.ready = True
    assert room.check_and_complete("a") == 2
    assert [operation.answers for operation in operations] == [["done"], [], ["done"]]
    assert not room.watched
