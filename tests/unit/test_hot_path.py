"""What one produce and one fetch cost, counted in calls: dispatch, handler, replica manager, a real log, the answer.

Calls do not depend on the machine, so CI can hold them; times are bench's. A bound may be raised for a feature that is
worth it, in the commit that brings the feature. Python calls and calls into C are counted together: both cost.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from kafka_zk.api.dispatch import Dispatcher
from kafka_zk.network.request_metrics import RequestMetrics
from kafka_zk.protocol.header import encode_request_header
from kafka_zk.protocol.messages.fetch import FETCH_REQUEST, FetchPartition, FetchRequest, FetchTopic
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_zk.record import Record, build_batch
from tests.unit.replication.broker import Broker

pytestmark = pytest.mark.interpreted

PRODUCE_CALLS = 54
IDEMPOTENT_PRODUCE_CALLS = 73
CALLS_A_FURTHER_PARTITION = 34
FETCH_CALLS = 93


class Client:
    """A connection as dispatch and handlers see one."""

    received_ns = 5_000_000_000
    client_host = "127.0.0.1"
    principal = "User:ANONYMOUS"
    listener_name = "PLAINTEXT"
    must_authenticate = False

    def __init__(self) -> None:
        self.sent_stamp = [0, 0]


class Dispatched:
    """A broker that leads t-0 to t-2, behind its dispatcher."""

    def __init__(self, broker: Broker) -> None:
        broker.update_metadata({"t": {0: 1, 1: 1, 2: 1}})
        for index in range(3):
            broker.lead("t", index)
        self._broker = broker
        self._dispatcher = Dispatcher(broker.services, broker.registry, RequestMetrics(broker.metrics))
        self._client: Any = Client()
        self._sequence = 0

    def calls(self, frames: Callable[[], bytes]) -> Counter[str]:
        """What is called for one request, once everything is warm."""
        for _ in range(3):
            self._dispatcher.handle(memoryview(bytearray(frames())), self._client)
        frame = memoryview(bytearray(frames()))
        calls: Counter[str] = Counter()

        def note(caller: FrameType, event: str, argument: Any) -> None:
            if event == "call":
                calls[caller.f_code.co_qualname] += 1
            elif event == "c_call":
                calls[f"{argument.__qualname__} in {caller.f_code.co_qualname}"] += 1

        # Whoever listens to Python's collector (hypothesis does) would be counted, whenever it happens to run.
        gc.collect()
        gc.disable()
        sys.setprofile(note)
        try:
            parts = self._dispatcher.handle(frame, self._client)
        finally:
            sys.setprofile(None)
            gc.enable()
        assert isinstance(parts, list)
        assert len(parts) >= 2, "an answer"
        assert self.end_offset() == self.expected_end_offset
        return calls

    expected_end_offset = 0

    def end_offset(self) -> int:
        log = self._broker.partition("t", 0).log
        assert log is not None
        return log.log_end_offset

    def produce(self, *, partition_count: int = 1, producer_id: int = -1) -> bytes:
        batch = build_batch(
            [Record(0, self._broker.clock.wall_ms(), None, bytes(100))],
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=self._sequence if producer_id >= 0 else -1,
        )
        self._sequence += 1
        self.expected_end_offset += 1
        data = [PartitionProduceData(index=index, records=bytes(batch)) for index in range(partition_count)]
        request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=data)])
        return encode_request_header(0, 9, 7, "client") + PRODUCE_REQUEST.encode(request, 9)

    def fetch(self) -> bytes:
        wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        request = FetchRequest(max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic="t", partitions=[wanted])])
        return encode_request_header(1, 12, 7, "client") + FETCH_REQUEST.encode(request, 12)


@pytest.fixture
def dispatched(tmp_path: Path) -> Iterator[Dispatched]:
    broker = Broker(tmp_path)
    yield Dispatched(broker)
    broker.close()


def assert_at_most(bound: int, calls: Counter[str]) -> None:
    listing = "\n".join(f"{count:4d} {name}" for name, count in sorted(calls.items()))
    assert calls.total() <= bound, f"{calls.total()} calls, not {bound}:\n{listing}"
    # A path that lost a third of its calls is a different path: then the bound holds nothing any more.
    assert calls.total() > bound * 2 // 3, f"only {calls.total()} calls: lower the bound of {bound}"


def test_a_produce_of_one_record_costs_no_more_calls_than_it_did(dispatched: Dispatched) -> None:
    assert_at_most(PRODUCE_CALLS, dispatched.calls(dispatched.produce))


def test_idempotence_costs_a_produce_no_more_calls_than_it_did(dispatched: Dispatched) -> None:
    assert_at_most(IDEMPOTENT_PRODUCE_CALLS, dispatched.calls(lambda: dispatched.produce(producer_id=9)))


def test_a_further_partition_of_a_produce_costs_no_more_calls_than_it_did(dispatched: Dispatched) -> None:
    one = dispatched.calls(dispatched.produce)
    three = dispatched.calls(lambda: dispatched.produce(partition_count=3))
    three.subtract(one)
    assert_at_most(2 * CALLS_A_FURTHER_PARTITION, +three)


def test_a_fetch_of_one_partition_costs_no_more_calls_than_it_did(dispatched: Dispatched) -> None:
    dispatched.calls(dispatched.produce)
    assert_at_most(FETCH_CALLS, dispatched.calls(dispatched.fetch))


def test_no_request_is_logged_on_the_hot_path(dispatched: Dispatched) -> None:
    for calls in (dispatched.calls(dispatched.produce), dispatched.calls(dispatched.fetch)):
        assert not [name for name in calls if "Logger" in name or "Struct.__init__" in name]
