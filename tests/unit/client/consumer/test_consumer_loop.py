"""What goes on in every call that waits: the program is known to be alive, positions are asked for, others may fail."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

import pytest

from kafka_zk.client.consumer.consumer_loop import ConsumerLoop
from kafka_zk.client.consumer.errors import NoOffsetForPartition
from kafka_zk.client.consumer.listener import ConsumerInterceptor, ConsumerInterceptors
from kafka_zk.client.consumer.positions import Positions
from kafka_zk.client.consumer.records import ConsumerRecord, ConsumerRecords, OffsetAndMetadata
from kafka_zk.client.consumer.subscription_state import ResetStrategy, SubscriptionState
from kafka_zk.client.network.backoff import ExponentialBackoff
from kafka_zk.client.network.metadata import ClusterMetadata, MetadataSettings
from kafka_zk.clock import SimClock
from kafka_zk.protocol.types import TopicPartition

T0 = TopicPartition("t", 0)


class Parts:
    """Stands for network, fetcher, positions and member at once: records come at the third turn."""

    next_due_ms = None
    is_asking = True

    is_closed = False

    def __init__(self) -> None:
        self.told: list[str] = []
        self.turns = 0
        self.network = self
        self.metadata = self

    def raise_if_refused(self) -> None: ...

    def note_poll(self) -> None:
        self.told.append("alive")

    def poll(self, timeout_s: float) -> None:
        self.turns += 1

    def collect(self) -> dict[TopicPartition, list[Any]]:
        return {T0: ["record"]} if self.turns == 2 else {}

    def advance(self) -> None: ...

    def advance_positions(self) -> None: ...

    def send_fetches(self) -> None: ...


def test_a_program_that_waits_in_one_long_poll_is_alive_all_the_time() -> None:
    parts = cast(Any, Parts())
    subscriptions = SubscriptionState(ResetStrategy.EARLIEST)
    loop = ConsumerLoop(parts, subscriptions, parts, parts, parts, SimClock(), retry_backoff_ms=100)
    assert loop.fetch(3600) == {T0: ["record"]}
    assert parts.told == ["alive"] * 3


def test_a_missing_position_without_a_policy_is_told_at_every_poll() -> None:
    subscriptions = SubscriptionState(ResetStrategy.NONE)
    subscriptions.assign([T0])
    subscriptions.request_reset(T0)
    metadata = ClusterMetadata([], MetadataSettings(1000, ExponentialBackoff(1, 1, lambda: 0.5)))
    positions = Positions(
        subscriptions, cast(Any, None), metadata, SimClock(), retry_backoff_ms=100, request_timeout_ms=30_000
    )
    for _ in range(2):
        with pytest.raises(NoOffsetForPartition):
            positions.advance()


class Failing(ConsumerInterceptor):
    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        raise ValueError("not today")

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        raise ValueError("not today")

    def close(self) -> None:
        raise ValueError("not today")


class Emptying(ConsumerInterceptor):
    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        return ConsumerRecords()


def test_an_interceptor_that_fails_costs_no_record_and_no_commit(caplog: pytest.LogCaptureFixture) -> None:
    records = ConsumerRecords({T0: [ConsumerRecord("t", 0, 1, -1, None, None, b"v")]})
    failing = ConsumerInterceptors([Failing()])
    with caplog.at_level(logging.WARNING):
        assert failing.on_consume(records) is records
        failing.on_commit({T0: OffsetAndMetadata(2)})
        failing.close()
    assert len(caplog.records) == 3
    assert not ConsumerInterceptors([Failing(), Emptying()]).on_consume(records)
