"""The controller's queue."""

import gevent

from kafka_zk.clock import SimClock
from kafka_zk.controller.events import (
    BrokerChange,
    ControlledShutdown,
    Expire,
    ListPartitionReassignments,
    PartitionModifications,
    Shutdown,
    TopicChange,
    UpdateMetadataResponseReceived,
)
from kafka_zk.controller.mailbox import Mailbox
from kafka_zk.protocol.errors import NotController, StaleControllerEpoch


def test_events_come_out_in_the_order_they_went_in():
    mailbox = Mailbox(SimClock())
    for event in (BrokerChange(), TopicChange(), PartitionModifications("t")):
        mailbox.put(event)
    assert [mailbox.take().event for _ in range(3)] == [BrokerChange(), TopicChange(), PartitionModifications("t")]


def test_a_change_that_already_waits_is_not_queued_again():
    mailbox = Mailbox(SimClock())
    for _ in range(3):
        mailbox.put(TopicChange())
        mailbox.put(PartitionModifications("t"))
    mailbox.put(PartitionModifications("u"))
    assert len(mailbox) == 3


def test_a_change_during_the_handling_of_the_last_one_is_queued():
    mailbox = Mailbox(SimClock())
    mailbox.put(TopicChange())
    mailbox.take()
    mailbox.put(TopicChange())
    assert len(mailbox) == 1


def test_every_answer_of_a_broker_counts():
    mailbox = Mailbox(SimClock())
    mailbox.put_answer(UpdateMetadataResponseReceived(1, 101, 1, 0))
    mailbox.put_answer(UpdateMetadataResponseReceived(1, 101, 1, 0))
    assert len(mailbox) == 2


def test_whoever_waits_for_a_dropped_event_is_told():
    mailbox = Mailbox(SimClock())
    listing = mailbox.put_request(ListPartitionReassignments(None))
    shutdown = mailbox.put_request(ControlledShutdown(1, 1))
    mailbox.put(TopicChange())
    mailbox.clear_and_put(Expire())
    assert isinstance(listing.error, NotController)
    assert isinstance(shutdown.error, StaleControllerEpoch)
    assert len(mailbox) == 1
    assert mailbox.take().event == Expire()


def test_a_dropped_change_may_be_queued_again():
    mailbox = Mailbox(SimClock())
    mailbox.put(TopicChange())
    mailbox.clear_and_put(Expire())
    mailbox.put(TopicChange())
    assert [mailbox.take().event for _ in range(2)] == [Expire(), TopicChange()]


def test_whoever_comes_behind_the_last_event_or_waits_for_a_place_then_is_told():
    mailbox = Mailbox(SimClock(), capacity=1)
    first = mailbox.put_request(ListPartitionReassignments(None))
    waiting = gevent.spawn(mailbox.put_request, ListPartitionReassignments(None))
    gevent.sleep(0)
    mailbox.end_with(Shutdown())
    late = gevent.spawn(mailbox.put_request, ControlledShutdown(1, 1))
    gevent.joinall([waiting, late], timeout=10, raise_error=True)
    assert isinstance(first.error, NotController)
    assert isinstance(waiting.value.error, NotController)
    assert isinstance(late.value.error, StaleControllerEpoch)
    assert mailbox.take().event == Shutdown()
    assert len(mailbox) == 0
