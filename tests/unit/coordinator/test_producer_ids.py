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


def test_the_first_caller_is_told_to_come_back(ids, controller):
    with pytest.raises(CoordinatorLoadInProgress):
        ids.next_producer_id()
    controller.give(1000)
    assert ids.next_producer_id() == 1000


def test_the_next_block_is_asked_for_once_and_before_this_one_ends(ids, controller):
    with pytest.raises(CoordinatorLoadInProgress):
        ids.next_producer_id()
    controller.give(0)
    assert [ids.next_producer_id() for _ in range(8)] == list(range(8))
    assert len(controller.asked) == 1
    assert [ids.next_producer_id() for _ in range(2)] == [8, 9]
    assert len(controller.asked) == 2
    controller.give(500)
    assert ids.next_producer_id() == 500


def test_ids_are_never_given_twice_when_the_controller_is_late(ids, controller):
    with pytest.raises(CoordinatorLoadInProgress):
        ids.next_producer_id()
    controller.give(0)
    given = [ids.next_producer_id() for _ in range(10)]
    with pytest.raises(CoordinatorLoadInProgress):
        ids.next_producer_id()
    controller.give(20)
    given += [ids.next_producer_id() for _ in range(8)]
    assert given == [*range(10), *range(20, 28)]


def test_after_an_error_it_is_tried_again_a_little_later(ids, controller, clock):
    with pytest.raises(CoordinatorLoadInProgress):
        ids.next_producer_id()
    controller.asked[-1].fail(RequestTimedOut())
    with pytest.raises(CoordinatorLoadInProgress):
        ids.next_producer_id()
    assert len(controller.asked) == 1
    clock.advance(50)
    with pytest.raises(CoordinatorLoadInProgress):
        ids.next_producer_id()
    assert len(controller.asked) == 2
    controller.asked[-1].complete(AllocateProducerIdsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
    clock.advance(50)
    with pytest.raises(CoordinatorLoadInProgress):
        ids.next_producer_id()
    controller.give(3)
    assert ids.next_producer_id() == 3
