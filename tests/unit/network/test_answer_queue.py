"""The order of one connection's answers, and when its next request may start: without a socket, as rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from kafka_zk.network.answer_queue import MAX_UNANSWERED, AnswerQueue, Deferred, State
from kafka_zk.network.errors import CloseConnection
from kafka_zk.network.parts import Parts

LIMIT = 100
NOW_NS = 1_000
SMALL: Parts = [b"a"]


@dataclass
class Slice:
    """Bytes of a segment, which take no memory."""

    size_bytes: int = 1_000_000
    fileno: int = -1
    position: int = 0
    is_cold: bool = False
    is_intact: bool = True
    release_count: int = field(default=0, compare=False)

    def release(self) -> None:
        self.release_count += 1


class Given:
    """A queue, how often its connection was woken, and answers that are still to come."""

    def __init__(self) -> None:
        self.woken = 0
        self.queue = AnswerQueue(LIMIT, self._woken)

    def _woken(self) -> None:
        self.woken += 1

    def later(self, *, lets_next_start: bool = True) -> Deferred:
        answer = Deferred(lets_next_start=lets_next_start)
        self.queue.take(answer)
        return answer

    def state(self, now_ns: int = NOW_NS) -> State:
        return self.queue.state(lambda: now_ns)

    def sends(self) -> Parts:
        """What leaves now."""
        self.queue.collect()
        parts = self.queue.hand_out()
        self.queue.sent(parts)
        return parts


@pytest.fixture
def given() -> Given:
    return Given()


# --- whether the next request may start ------------------------------------------------------------------------------


def nothing_asked(given: Given) -> None:
    pass


def answered(given: Given) -> None:
    given.queue.take(SMALL)


def without_answer(given: Given) -> None:
    given.queue.take([])


def muted(given: Given) -> None:
    given.queue.mute(NOW_NS + 1)


def muted_until_now(given: Given) -> None:
    given.queue.mute(NOW_NS)


def muted_for_less_afterwards(given: Given) -> None:
    given.queue.mute(NOW_NS + 1)
    given.queue.mute(NOW_NS - 1)


def a_produce_waits(given: Given) -> None:
    given.later()


def a_fetch_waits(given: Given) -> None:
    given.later(lets_next_start=False)


def a_fetch_is_there_behind_a_produce(given: Given) -> None:
    given.later()
    given.later(lets_next_start=False).complete(SMALL)


def a_fetch_was_there_at_once(given: Given) -> None:
    answer = Deferred(lets_next_start=False)
    answer.complete(SMALL)
    given.queue.take(answer)
    given.queue.collect()


def as_many_wait_as_may(given: Given) -> None:
    for _ in range(MAX_UNANSWERED):
        given.later()


def one_fewer_waits(given: Given) -> None:
    for _ in range(MAX_UNANSWERED - 1):
        given.later()


def the_first_of_as_many_is_there(given: Given) -> None:
    first = given.later()
    for _ in range(MAX_UNANSWERED - 1):
        given.later()
    first.complete(SMALL)
    given.queue.collect()


def large_answers_wait_for_the_client(given: Given) -> None:
    given.queue.take([bytes(LIMIT)])


def large_answers_wait_for_another(given: Given) -> None:
    given.later()
    given.queue.take([bytes(LIMIT)])


def a_late_answer_is_large(given: Given) -> None:
    given.later()
    given.later().complete([bytes(LIMIT)])


def slices_are_large(given: Given) -> None:
    given.queue.take([b"head", Slice()])


def large_answers_have_left(given: Given) -> None:
    given.queue.take([bytes(LIMIT)])
    given.sends()


@pytest.mark.parametrize(
    ("history", "state"),
    [
        (nothing_asked, State.OPEN),
        (answered, State.OPEN),
        (without_answer, State.OPEN),
        (muted, State.MUTED),
        (muted_until_now, State.OPEN),
        (muted_for_less_afterwards, State.MUTED),
        (a_produce_waits, State.OPEN),
        (a_fetch_waits, State.HELD),
        (a_fetch_is_there_behind_a_produce, State.HELD),
        (a_fetch_was_there_at_once, State.OPEN),
        (as_many_wait_as_may, State.FULL),
        (one_fewer_waits, State.OPEN),
        (the_first_of_as_many_is_there, State.OPEN),
        (large_answers_wait_for_the_client, State.UNSENT),
        (large_answers_wait_for_another, State.UNSENT),
        (a_late_answer_is_large, State.UNSENT),
        (slices_are_large, State.OPEN),
        (large_answers_have_left, State.OPEN),
    ],
)
def test_the_state_says_what_has_to_pass_before_the_next_request(
    history: Callable[[Given], None], state: State, given: Given
) -> None:
    history(given)
    assert given.state() is state


def test_a_mute_ends_with_its_time(given: Given) -> None:
    muted(given)
    assert [given.state(NOW_NS + later) for later in (0, 1, 0)] == [State.MUTED, State.OPEN, State.OPEN]


@pytest.mark.parametrize(
    ("before", "answer", "asks"),
    [
        (nothing_asked, SMALL, False),
        (nothing_asked, [], False),
        (nothing_asked, [b"head", Slice()], False),
        (nothing_asked, [bytes(LIMIT)], True),
        (muted, SMALL, True),
        (a_produce_waits, SMALL, True),
        (nothing_asked, Deferred(lets_next_start=True), True),
        (nothing_asked, Deferred(lets_next_start=False), True),
    ],
)
def test_only_behind_some_answers_the_state_has_to_be_asked(
    before: Callable[[Given], None], answer: Parts | Deferred, asks: bool, given: Given
) -> None:
    before(given)
    assert given.queue.take(answer) is asks
    assert asks or given.state() is State.OPEN


# --- the order of answers ---------------------------------------------------------------------------------------------


def test_answers_leave_in_the_order_of_their_requests(given: Given) -> None:
    first, second = given.later(), given.later()
    given.queue.take([b"3"])
    second.complete([b"2"])
    assert given.sends() == []
    first.complete([b"1"])
    assert given.sends() == [b"1", b"2", b"3"]


def test_what_is_ready_does_not_wait_for_what_comes_behind_it(given: Given) -> None:
    given.queue.take([b"1"])
    late = given.later()
    assert given.sends() == [b"1"]
    late.complete([b"2"])
    assert given.sends() == [b"2"]


def test_each_answer_is_handed_out_once(given: Given) -> None:
    given.queue.take([b"1"])
    assert [given.sends(), given.sends()] == [[b"1"], []]


def test_whoever_completes_an_answer_wakes_the_connection(given: Given) -> None:
    first, second = given.later(), given.later()
    second.complete(SMALL)
    first.fail(CloseConnection("no"))
    assert given.woken == 2


def test_the_connection_knows_whether_waiting_is_of_use(given: Given) -> None:
    queue = given.queue
    assert (queue.is_empty, queue.next_is_ready, queue.waiting_count) == (True, False, 0)
    first, second = given.later(), given.later()
    second.complete(SMALL)
    assert (queue.is_empty, queue.next_is_ready, queue.waiting_count) == (False, False, 2)
    first.complete(SMALL)
    assert (queue.is_empty, queue.next_is_ready, queue.waiting_count) == (False, True, 2)
    assert queue.collect()
    assert (queue.is_empty, queue.next_is_ready, queue.waiting_count) == (False, False, 0)
    queue.sent(queue.hand_out())
    assert queue.is_empty


# --- memory and slices ------------------------------------------------------------------------------------------------


def test_bytes_count_from_when_they_are_there_until_they_have_left(given: Given) -> None:
    queue = given.queue
    late = given.later()
    queue.take([bytes(3), Slice()])
    assert queue.unsent_bytes == 3
    late.complete([bytes(4)])
    assert queue.unsent_bytes == 7
    queue.collect()
    parts = queue.hand_out()
    assert queue.unsent_bytes == 7
    queue.sent(parts)
    assert queue.unsent_bytes == 0


def outgoing(given: Given, piece: Slice) -> None:
    given.queue.take([piece])


def sent(given: Given, piece: Slice) -> None:
    given.queue.take([piece])
    given.sends()


def behind_another(given: Given, piece: Slice) -> None:
    given.later()
    given.queue.take([piece])


def completed_behind_another(given: Given, piece: Slice) -> None:
    given.later()
    given.later().complete([piece])


@pytest.mark.parametrize("place", [outgoing, sent, behind_another, completed_behind_another])
def test_a_slice_is_released_once_wherever_the_end_finds_it(
    place: Callable[[Given, Slice], None], given: Given
) -> None:
    piece = Slice()
    place(given, piece)
    given.queue.close()
    assert (piece.release_count, given.queue.unsent_bytes) == (1, 0)


def test_an_answer_that_comes_after_the_end_is_released_and_wakes_nobody(given: Given) -> None:
    late = given.later()
    given.queue.close()
    piece = Slice()
    late.complete([piece])
    assert (piece.release_count, given.queue.unsent_bytes, given.woken) == (1, 0, 0)


# --- ends -------------------------------------------------------------------------------------------------------------


def test_a_failed_answer_ends_the_queue_when_its_turn_has_come(given: Given) -> None:
    first, failed = given.later(), given.later()
    behind, later = Slice(), given.later()
    later.complete([behind])
    failed.fail(CloseConnection("unsupported version"))
    assert not given.queue.collect()
    first.complete([b"1"])
    with pytest.raises(CloseConnection, match="unsupported version"):
        given.queue.collect()
    assert given.queue.hand_out() == [b"1"], "what was asked before is answered"
    assert (given.queue.is_empty, behind.release_count) == (True, 1)


@pytest.mark.parametrize("gone", [False, True])
def test_who_makes_the_answers_is_told_when_nobody_waits_for_more(gone: bool, given: Given) -> None:
    told: list[tuple[str, bool]] = []
    answers = {name: given.later() for name in ("done", "first", "second")}
    for name, answer in answers.items():
        answer.when_left(lambda how, name=name: told.append((name, how)))  # type: ignore[misc]
    answers["done"].complete(SMALL)
    given.queue.leave(gone)
    assert told == [("first", gone), ("second", gone)]


def test_who_is_told_of_the_end_may_answer_at_once(given: Given) -> None:
    answer = given.later(lets_next_start=False)
    answer.when_left(lambda gone: answer.complete([b"what there is"]))
    given.queue.leave(False)
    assert given.sends() == [b"what there is"]
    assert given.state() is State.OPEN
