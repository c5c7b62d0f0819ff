"""A controller that goes waits until the brokers have carried out what it told them last."""

from __future__ import annotations

from typing import Any

import gevent
from gevent.event import Event

from kafka_zk.clock import SimClock
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.controller.channel import BrokerChannels
from kafka_zk.controller.decisions.requests import BrokerRequest
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse

from .given import broker


class BusyBroker:
    """Answers each request once it may."""

    def __init__(self) -> None:
        self.asked_count = 0
        self.may_answer = Event()

    def send(self, request: Any, api_version: int, *, body: bytes | None = None) -> Any:
        self.asked_count += 1
        self.may_answer.wait()
        return UpdateMetadataResponse()

    def close(self) -> None:
        return


class AnyMetrics:
    def on_request_taken(self, broker_id: int, waited_ms: int) -> None:
        return

    def on_channel_removed(self, broker_id: int) -> None:
        return


def test_what_is_queued_and_what_is_under_way_is_waited_for() -> None:
    busy = {1: BusyBroker(), 2: BusyBroker()}
    heard: list[object] = []

    def connect(endpoint: EndPoint, broker_id: int) -> BusyBroker:
        return busy[broker_id]

    channels = BrokerChannels(
        controller_id=0,
        controller_epoch=1,
        listener=broker(1).endpoints[0].listener_name,
        connect=connect,
        clock=SimClock(),
        on_answer=heard.append,
        metrics=AnyMetrics(),
    )
    assert channels.wait_until_answered(0)
    for broker_id in busy:
        channels.add(broker(broker_id))
        for _ in range(2):
            channels.send(BrokerRequest(broker_id, 7, UpdateMetadataRequest(controller_epoch=1)))
    waiting = gevent.spawn(channels.wait_until_answered, 5)
    busy[1].may_answer.set()
    gevent.sleep(0.001)
    assert not waiting.dead
    assert not channels.wait_until_answered(0), "nobody waits for ever"
    busy[2].may_answer.set()
    assert waiting.get()
    assert [each.asked_count for each in busy.values()] == [2, 2]
    assert len(heard) == 4
    channels.stop()
