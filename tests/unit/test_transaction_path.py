"""What one transaction costs, counted in calls: three requests through dispatch, and what ends it in the background.

As in test_hot_path, whose way of counting this is: the coordinator, the leader of the partition and its log are real,
and in one broker, as they are for most transactions of a small cluster. A transaction adds one partition, produces one
record to it and commits. Calls do not depend on the machine; the seconds are those of bench.transactions.
"""

from __future__ import annotations

import gc
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from kafka_zk import giving_way
from kafka_zk.api.dispatch import Dispatcher
from kafka_zk.coordinator.transaction.coordinator import TransactionCoordinator
from kafka_zk.network.pending import Pending, completed
from kafka_zk.network.request_metrics import RequestMetrics
from kafka_zk.protocol.header import encode_request_header
from kafka_zk.protocol.internal_topics import TRANSACTION_STATE_TOPIC
from kafka_zk.protocol.messages.add_partitions_to_txn import (
    ADD_PARTITIONS_TO_TXN_REQUEST,
    ADD_PARTITIONS_TO_TXN_RESPONSE,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kafka_zk.protocol.messages.end_txn import END_TXN_REQUEST, END_TXN_RESPONSE, EndTxnRequest
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PRODUCE_RESPONSE,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_zk.record import Record, build_batch
from kafka_zk.replication.serving.transaction_verifier import TransactionVerifier
from tests.unit.replication.broker import BROKER_ID, Broker
from tests.unit.test_hot_path import Client, assert_at_most

pytestmark = pytest.mark.interpreted

ADD_CALLS = 128
PRODUCE_CALLS = 161
END_CALLS = 145
FINISH_CALLS = 211

ID = "an-id-of-usual-length"
ADD_VERSION, PRODUCE_VERSION, END_VERSION = 3, 9, 3


class Coordinated:
    """A broker that coordinates transactions and leads t-0, behind its dispatcher. Background tasks run in `finish`."""

    def __init__(self, path: Path) -> None:
        self.broker = broker = Broker(path, {"transaction.partition.verification.enable": "true"})
        broker.update_metadata({"t": {0: BROKER_ID}, TRANSACTION_STATE_TOPIC: {0: BROKER_ID}})
        peers: Any = SimpleNamespace(node=lambda broker_id: broker.cache.snapshot.brokers.get(broker_id))
        ids: Any = SimpleNamespace(next_producer_id=lambda: completed(7))
        self.coordinator = coordinator = TransactionCoordinator(
            config=broker.config,
            clock=broker.clock,
            replica_manager=broker.manager,
            metadata_cache=broker.cache,
            metrics=broker.metrics,
            peers=peers,
            broker_id=BROKER_ID,
            marker_writer=broker.services.marker_writer,
            producer_ids=ids,
            state_partition_count=lambda: 1,
            gone_partitions=lambda partitions: (),
        )
        coordinator.startup()
        broker.services.transaction_coordinator = coordinator
        broker.services.transaction_verifier = TransactionVerifier(
            broker_id=BROKER_ID,
            own_coordinator=coordinator.verify_here,
            hosted=broker.manager.hosted,
            peers=peers,
            metadata_cache=broker.cache,
            partition_for=coordinator.partition_for,
            is_enabled=lambda: True,
            clock=broker.clock,
            metrics=broker.metrics,
        )
        broker.lead("t", 0)
        broker.lead(TRANSACTION_STATE_TOPIC, 0)
        self.finish()
        self.dispatcher = Dispatcher(broker.services, broker.registry, RequestMetrics(broker.metrics))
        self.client: Any = Client()
        self.sequence = 0
        begun = coordinator.init_producer_id(ID, timeout_ms=60_000, expected=None).value
        self.who: dict[str, Any] = {
            "transactional_id": ID,
            "producer_id": begun.producer_id,
            "producer_epoch": begun.producer_epoch,
        }

    def finish(self) -> None:
        """Run what was left to the background, until nothing is left."""
        manager = self.coordinator._manager
        for tasks in (manager._tasks, self.coordinator._completions):
            for task in tasks._waiting():
                task()

    def add(self) -> bytes:
        request = AddPartitionsToTxnRequest(
            **{f"v3_and_below_{name}": value for name, value in self.who.items()},
            v3_and_below_topics=[AddPartitionsToTxnTopic(name="t", partitions=[0])],
        )
        head = encode_request_header(ADD_PARTITIONS_TO_TXN_REQUEST.api_key, ADD_VERSION, 7, "client")
        return head + ADD_PARTITIONS_TO_TXN_REQUEST.encode(request, ADD_VERSION)

    def produce(self) -> bytes:
        batch = build_batch(
            [Record(0, self.broker.clock.wall_ms(), None, bytes(100))],
            producer_id=self.who["producer_id"],
            producer_epoch=self.who["producer_epoch"],
            base_sequence=self.sequence,
            transactional=True,
        )
        self.sequence += 1
        data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=bytes(batch))])]
        request = ProduceRequest(transactional_id=ID, acks=-1, timeout_ms=1000, topic_data=data)
        head = encode_request_header(PRODUCE_REQUEST.api_key, PRODUCE_VERSION, 7, "client")
        return head + PRODUCE_REQUEST.encode(request, PRODUCE_VERSION)

    def end(self) -> bytes:
        request = EndTxnRequest(committed=True, **self.who)
        head = encode_request_header(END_TXN_REQUEST.api_key, END_VERSION, 7, "client")
        return head + END_TXN_REQUEST.encode(request, END_VERSION)

    def answer(self, frame: bytes) -> bytes:
        """The body of the answer to a request, with the header's correlation id."""
        parts = self.dispatcher.handle(memoryview(bytearray(frame)), self.client)
        made = parts.value if isinstance(parts, Pending) else parts
        assert made, "an answer"
        return b"".join(part if isinstance(part, bytes) else part.read() for part in made)[4:]

    def transaction(self) -> list[Counter[str]]:
        """What is called for each step of one transaction."""
        added, add_calls = counted(self.answer, self.add())
        produced, produce_calls = counted(self.answer, self.produce())
        ended, end_calls = counted(self.answer, self.end())
        _, finish_calls = counted(self.finish)
        of_added = ADD_PARTITIONS_TO_TXN_RESPONSE.decode(memoryview(added), ADD_VERSION, 5)
        (of_topic,) = of_added.results_by_topic_v3_and_below
        (of_produced,) = PRODUCE_RESPONSE.decode(memoryview(produced), PRODUCE_VERSION, 5).responses
        codes = (
            of_topic.results_by_partition[0].partition_error_code,
            of_produced.partition_responses[0].error_code,
            END_TXN_RESPONSE.decode(memoryview(ended), END_VERSION, 5).error_code,
        )
        assert codes == (0, 0, 0)
        described = self.coordinator.describe(ID)
        assert "CompleteCommit" in repr(described), described
        return [add_calls, produce_calls, end_calls, finish_calls]

    def close(self) -> None:
        self.coordinator.shutdown()
        self.broker.close()


def counted(function: Callable[..., Any], *arguments: Any) -> tuple[Any, Counter[str]]:
    """The result of a call, and what it called: functions of Python and of C."""
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
        result = function(*arguments)
    finally:
        sys.setprofile(None)
        gc.enable()
    return result, calls


@pytest.fixture
def coordinated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Coordinated]:
    # On a busy machine a request would let others in, whose calls are not its own.
    monkeypatch.setattr(giving_way, "_now", lambda: 0)
    monkeypatch.setattr(giving_way, "SLICE_S", math.inf)
    made = Coordinated(tmp_path)
    yield made
    made.close()


def test_a_transaction_costs_no_more_calls_than_it_did(coordinated: Coordinated) -> None:
    for _ in range(3):
        coordinated.transaction()
    added, produced, ended, finished = coordinated.transaction()
    for bound, calls in (
        (ADD_CALLS, added),
        (PRODUCE_CALLS, produced),
        (END_CALLS, ended),
        (FINISH_CALLS, finished),
    ):
        assert_at_most(bound, calls)
