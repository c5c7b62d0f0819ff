"""Producer ids: never twice, asked for in time, and an honest answer while there are none."""

import pytest

from kafka_zk.clock import SimClock
from kafka_zk.coordinator.transaction.producer_ids import ProducerIdManager
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import CoordinatorLoadInProgress, ErrorCode, RequestTimedOut
from kafka_zk.protocol.messages.allocate_producer_ids import AllocateProducerIdsResponse


class ControllerOfTest:
    def __init__(self) -> None:
        self.asked: list[Pending[AllocateProducerIdsResponse]] = []

    def send(self, request, *, timeout_ms=None):
        self.asked.append(Pending())
        return self.asked[-1]

    def give(self, first: int, count: int = 10) -> None:
        self.asked[-1].complete(AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=count))


@pytest.fixture
def controller() -> ControllerOfTest:
    return ControllerOfTest()


@pytest.fixture
def clock() -> SimClock:
    return SimClock()


@pytest.fixture
def ids(controller: ControllerOfTest, clock: SimClock) -> ProducerIdManager:
    return ProducerIdManager(broker_id=1, broker_epoch=lambda: 7, controller=controller, clock=clock)


def refused(answer: Pending[int]) -> bool:
    return isinstance(answer.error, CoordinatorLoadInProgress)


def test_the_first_callers_wait_for_the_controller_and_are_served_in_their_order(ids, controller):
    waiting = [ids.next_producer_id() for _ in range(3)]
    assert not any(answer.is_done for answer in waiting)
    controller.give(1000)
    assert [answer.value for answer in waiting] == [1000, 1001, 1002]
    assert ids.next_producer_id().value == 1003
    assert len(controller.asked) == 1


def test_nobody_waits_for_long(ids, controller, clock):
    first = ids.next_producer_id()
    clock.advance(600)
    second = ids.next_producer_id()
    clock.advance(399)
    assert not first.is_done
    clock.advance(1)
    assert refused(first) and not second.is_done
    controller.give(1000)
    assert second.value == 1000, "an id that was not given is not lost"


def test_who_waits_when_a_block_is_used_up_gets_the_first_of_the_next(ids, controller):
    waiting = [ids.next_producer_id() for _ in range(12)]
    controller.give(0, 10)
    assert [answer.value for answer in waiting[:10]] == list(range(10))
    assert not waiting[10].is_done
    late = ids.next_producer_id()
    controller.give(50)
    assert [answer.value for answer in (*waiting[10:], late)] == [50, 51, 52]


def test_the_next_block_is_asked_for_once_and_before_this_one_ends(ids, controller):
    ids.next_producer_id()
    controller.give(0)
    assert [ids.next_producer_id().value for _ in range(7)] == list(range(1, 8))
    assert len(controller.asked) == 1
    assert [ids.next_producer_id().value for _ in range(2)] == [8, 9]
    assert len(controller.asked) == 2
    controller.give(500)
    assert ids.next_producer_id().value == 500


def test_ids_are_never_given_twice_when_the_controller_is_late(ids, controller):
    answers = [ids.next_producer_id()]
    controller.give(0)
    answers += [ids.next_producer_id() for _ in range(10)]
    assert not answers[-1].is_done
    controller.give(20)
    answers += [ids.next_producer_id() for _ in range(7)]
    assert [answer.value for answer in answers] == [*range(10), *range(20, 28)]


def test_after_an_error_all_are_refused_and_it_is_tried_again_a_little_later(ids, controller, clock):
    waiting = [ids.next_producer_id() for _ in range(2)]
    controller.asked[-1].fail(RequestTimedOut())
    assert all(map(refused, waiting))
    assert refused(ids.next_producer_id())
    assert len(controller.asked) == 1
    clock.advance(50)
    waiting = [ids.next_producer_id()]
    assert len(controller.asked) == 2
    controller.asked[-1].complete(AllocateProducerIdsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
    assert all(map(refused, waiting))
    clock.advance(50)
    answer = ids.next_producer_id()
    controller.give(3)
    assert answer.value == 3
