"""A system that gives the coordinator's thread only later: the call fails with that, and nothing else is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.consumer.records import OffsetAndMetadata
from tests.support.our_consumer import PATIENCE_S, poll_until, settings
from tests.unit.client.consumer.test_leaving import T0, Group, group

__all__ = ["group"]


@pytest.fixture
def no_thread_at_first(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    start, refused = threading.Thread.start, []

    def refuse_once(thread: threading.Thread) -> None:
        if thread.name == "kafka-coordinator-heartbeat-thread" and not refused:
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_once)


@pytest.fixture
def consumer(group: Group, no_thread_at_first: None) -> Iterator[KafkaConsumer]:
    made = KafkaConsumer(settings(group.broker.bootstrap, group_id="g"))
    yield made
    began_s = time.monotonic()
    made.close()
    assert time.monotonic() - began_s < PATIENCE_S / 3, "the close waits for nothing"


def fails_once(call: Callable[[], object]) -> None:
    with pytest.raises(RuntimeError, match="can't start new thread"):
        for _ in range(100):
            call()


def test_who_could_not_join_joins_at_a_later_poll(consumer: KafkaConsumer) -> None:
    consumer.subscribe(["t"])
    fails_once(lambda: consumer.poll(0.1))
    poll_until([consumer], lambda: consumer.assignment() == {T0})


def test_who_could_not_ask_for_committed_offsets_asks_again(consumer: KafkaConsumer) -> None:
    consumer.assign([T0])
    fails_once(lambda: consumer.poll(0.1))
    assert consumer.position(T0) == 5


def test_a_commit_that_could_not_be_sent_is_not_waited_for(consumer: KafkaConsumer, group: Group) -> None:
    consumer.assign([T0])
    fails_once(lambda: consumer.commit_sync({T0: OffsetAndMetadata(6)}))
    consumer.commit_sync({T0: OffsetAndMetadata(7)})
    assert group.heard == [("commit", (-1, 7))], "what failed is not sent later"
