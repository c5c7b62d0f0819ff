"""Transactions beside Apache: `python -m bench.transactions`. Commits every 100 ms, and 1,000 slow producers.

Our broker and Apache Kafka 3.9.1 on one ZooKeeper, in turns, with the same requests. What a producer waits for is
measured as its user sees it: from the request to commit until the first partition of the next transaction is added,
with the pauses that Java's producer makes while the coordinator still writes markers.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

import gevent

from bench.brokers import Broker, apache_broker, our_broker
from bench.process import cpu_seconds, resident_mb, run_bench
from kafka_zk.network.channel import BrokerChannel
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafka_zk.protocol.messages.end_txn import EndTxnRequest
from kafka_zk.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_zk.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_zk.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_zk.record import Record, build_batch
from tests.support.zookeeper import EmbeddedZooKeeper

TOPIC, PARTITIONS = "bench-transactions", 4
OVERRIDES: Mapping[str, str] = {
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}

COMMIT_INTERVAL_S = 0.1
RECORD_BYTES, RECORDS_PER_BATCH, IN_FLIGHT = 1_000, 16, 5
SLOW_PRODUCERS, CONNECTIONS = 1_000, 20
SLOW_INTERVAL_S = 1.0
OPEN_IDS, OPEN_ID = 10_000, "an-id-of-usual-length"

ADD_RETRY_S = 0.02
"""Java's TransactionManager: ADD_PARTITIONS_RETRY_BACKOFF_MS, for the first partition of a transaction."""

FIND_VERSION, INIT_VERSION, ADD_VERSION, END_VERSION, PRODUCE_VERSION = 4, 4, 3, 3, 9
TRANSACTION = 1

RATE_FLOOR, P99_CEILING, CORE_SHARE_CEILING = 1.2, 0.8, 0.20


class Committed(NamedTuple):
    """Of one producer that commits every 100 ms."""

    records_a_second: float
    commit_p50_ms: float
    commit_p99_ms: float
    cpu_us_a_record: float


class Slow(NamedTuple):
    """Of 1,000 producers with a transaction a second each."""

    transactions_a_second: float
    core_share: float
    commit_p99_ms: float


class Open(NamedTuple):
    """Of ids that begin a transaction and never end it."""

    megabytes: float


class Producer:
    """One transactional producer on a connection that it may share."""

    def __init__(self, channel: BrokerChannel, transactional_id: str, partition: int, records_per_batch: int) -> None:
        self._channel = channel
        self._transactional_id = transactional_id
        self._partition = partition
        self._sequence = 0
        self._records = [Record(index, 0, None, bytes(RECORD_BYTES)) for index in range(records_per_batch)]
        request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
        answer = self._until(lambda: channel.send(request, INIT_VERSION))
        self._who = {
            "transactional_id": transactional_id,
            "producer_id": answer.producer_id,
            "producer_epoch": answer.producer_epoch,
        }

    def add(self) -> None:
        """Begin a transaction."""
        request = AddPartitionsToTxnRequest(
            **{f"v3_and_below_{name}": value for name, value in self._who.items()},
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=TOPIC, partitions=[self._partition])],
        )

        def ask() -> Any:
            answer = self._channel.send(request, ADD_VERSION)
            return answer.results_by_topic_v3_and_below[0].results_by_partition[0]

        self._until(ask)

    def produce(self) -> Pending[Any]:
        """The answer to come to one batch."""
        batch = build_batch(
            self._records,
            producer_id=self._who["producer_id"],
            producer_epoch=self._who["producer_epoch"],
            base_sequence=self._sequence,
            transactional=True,
        )
        self._sequence += len(self._records)
        data = [
            TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=self._partition, records=batch)])
        ]
        request = ProduceRequest(transactional_id=self._transactional_id, acks=-1, timeout_ms=30_000, topic_data=data)
        return self._channel.submit(request, PRODUCE_VERSION)

    def commit(self) -> None:
        self._until(lambda: self._channel.send(EndTxnRequest(committed=True, **self._who), END_VERSION))

    def _until(self, ask: Callable[[], Any]) -> Any:
        """Ask until the coordinator is there, and has ended what it was doing."""
        while True:
            answer = ask()
            code = ErrorCode(getattr(answer, "error_code", getattr(answer, "partition_error_code", 0)))
            if code is ErrorCode.NONE:
                return answer
            assert code in (
                ErrorCode.CONCURRENT_TRANSACTIONS,
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
                ErrorCode.NOT_COORDINATOR,
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
            ), code
            gevent.sleep(ADD_RETRY_S)


def checked(answer: Any) -> None:
    """The records are in the log."""
    code = ErrorCode(answer.responses[0].partition_responses[0].error_code)
    assert code is ErrorCode.NONE, code


def one_producer(broker: Broker, seconds: float) -> Committed:
    """As much as it can send, five batches in flight, and a commit each 100 ms."""
    channel = BrokerChannel.connect("127.0.0.1", broker.port, client_id="bench")
    producer = Producer(channel, "bench-one", 0, RECORDS_PER_BATCH)
    commits: list[float] = []
    batch_count = 0
    before, began = cpu_seconds(broker.pid), time.monotonic()
    producer.add()
    while time.monotonic() - began < seconds:
        until, waiting = time.monotonic() + COMMIT_INTERVAL_S, deque[Pending[Any]]()
        while time.monotonic() < until:
            waiting.append(producer.produce())
            batch_count += 1
            if len(waiting) == IN_FLIGHT:
                checked(waiting.popleft().result(30_000))
        for each in waiting:
            checked(each.result(30_000))
        asked = time.monotonic()
        producer.commit()
        producer.add()
        commits.append((time.monotonic() - asked) * 1000)
    took = time.monotonic() - began
    used = cpu_seconds(broker.pid) - before
    producer.commit()
    channel.close()
    record_count = batch_count * RECORDS_PER_BATCH
    return Committed(record_count / took, median(commits), quantiles(commits, n=100)[98], used / record_count * 1e6)


def many_producers(broker: Broker, seconds: float) -> Slow:
    """Each sends one record and commits it, once a second."""
    channels = [BrokerChannel.connect("127.0.0.1", broker.port, client_id="bench") for _ in range(CONNECTIONS)]
    producers = [
        Producer(channels[index % CONNECTIONS], f"bench-{index}", index % PARTITIONS, 1)
        for index in range(SLOW_PRODUCERS)
    ]
    commits: list[float] = []

    def live(producer: Producer, first_s: float, until: float) -> None:
        gevent.sleep(first_s)
        while time.monotonic() < until:
            began = time.monotonic()
            producer.add()
            checked(producer.produce().result(30_000))
            asked = time.monotonic()
            producer.commit()
            commits.append((time.monotonic() - asked) * 1000)
            gevent.sleep(max(0.0, began + SLOW_INTERVAL_S - time.monotonic()))

    before, began = cpu_seconds(broker.pid), time.monotonic()
    lives = [
        gevent.spawn(live, producer, index / SLOW_PRODUCERS * SLOW_INTERVAL_S, began + seconds)
        for index, producer in enumerate(producers)
    ]
    gevent.joinall(lives, raise_error=True)
    took = time.monotonic() - began
    used = cpu_seconds(broker.pid) - before
    for channel in channels:
        channel.close()
    return Slow(len(commits) / took, used / took, quantiles(commits, n=100)[98])


def open_ids(broker: Broker, _: float) -> Open:
    """What OPEN_IDS transactions take that begin and never end; each turn has ids of its own."""
    channel = BrokerChannel.connect("127.0.0.1", broker.port, client_id="bench")
    before = resident_mb(broker.pid)
    turn = time.monotonic_ns()
    for index in range(OPEN_IDS):
        Producer(channel, f"{OPEN_ID}-{turn}-{index}", index % PARTITIONS, 1).add()
    channel.close()
    return Open(resident_mb(broker.pid) - before)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.transactions", description=__doc__)
    parser.add_argument("--seconds", type=float, default=8, help="seconds of each load on each broker (default 8)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of both brokers (default 3), after one that warms")
    parser.add_argument("--ours-alone", action="store_true", help="without Apache, for profiling")
    parser.add_argument("--check", action="store_true", help="exit 1 when a floor of docs/performance.md is missed")
    options = parser.parse_args()
    makers = [("ours", our_broker)] if options.ours_alone else [("ours", our_broker), ("apache", apache_broker)]
    with tempfile.TemporaryDirectory(prefix="kafka-zk-bench-") as folder_name:
        folder = Path(folder_name)
        zookeeper = EmbeddedZooKeeper(folder / "zookeeper")
        brokers: list[Broker] = []
        try:
            zookeeper.start()
            for name, make in makers:
                broker = make(folder / name, zookeeper.connect, OVERRIDES)
                brokers.append(broker)
                broker.start()
                _prepare(broker)
            return _compare(brokers, options)
        finally:
            for broker in brokers:
                broker.stop()
            zookeeper.stop()


def _prepare(broker: Broker) -> None:
    broker.create_topic(TOPIC, PARTITIONS)
    channel = BrokerChannel.connect("127.0.0.1", broker.port, client_id="bench")
    request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=["bench-one"])
    while channel.send(request, FIND_VERSION).coordinators[0].error_code != ErrorCode.NONE:
        gevent.sleep(0.1)
    channel.close()


def _compare(brokers: list[Broker], options: argparse.Namespace) -> int:
    print(f"{'':40}" + "".join(f"{name:>12}" for name in ("kafka_zk", "Apache")[: len(brokers)]))
    missed: list[str] = []
    for title, load, of_row in (
        ("one producer, a commit each 100 ms", one_producer, _one),
        ("1,000 producers, one commit a second", many_producers, _many),
        (f"{OPEN_IDS:,} ids that begin and never end", open_ids, _open),
    ):
        print(title)
        turns = [[load(broker, options.seconds) for broker in brokers] for _ in range(options.rounds + 1)][1:]
        missed += of_row(turns)
    for sentence in missed:
        print(f"floor missed: {sentence}")
    return 1 if missed and options.check else 0


def _one(turns: list[list[Any]]) -> list[str]:
    rate = _row("  records a second", turns, "records_a_second", ",.0f")
    _row("  commit and begin, p50, ms", turns, "commit_p50_ms", ".2f")
    p99 = _row("  commit and begin, p99, ms", turns, "commit_p99_ms", ".2f")
    _row("  broker CPU a record, us", turns, "cpu_us_a_record", ".2f")
    missed = []
    if rate is not None and rate < RATE_FLOOR:
        missed.append(f"{rate:.2f} of Apache's records a second, not {RATE_FLOOR}")
    if p99 is not None and p99 > P99_CEILING:
        missed.append(f"{p99:.2f} of Apache's p99 of a commit, not {P99_CEILING}")
    return missed


def _many(turns: list[list[Any]]) -> list[str]:
    _row("  transactions a second", turns, "transactions_a_second", ",.0f")
    _row("  share of a core", turns, "core_share", ".3f")
    _row("  commit, p99, ms", turns, "commit_p99_ms", ".2f")
    share = median(both[0].core_share for both in turns)
    return [] if share < CORE_SHARE_CEILING else [f"{share:.2f} of a core, not {CORE_SHARE_CEILING}"]


def _open(turns: list[list[Any]]) -> list[str]:
    _row("  resident memory, MB more", turns, "megabytes", ".1f")
    return []


def _row(title: str, turns: list[list[Any]], figure: str, form: str) -> float | None:
    """Print the medians; returns the median of the turns' ratios, if there are two brokers."""
    columns = list(zip(*([getattr(each, figure) for each in both] for both in turns), strict=True))
    text = f"{title:40}" + "".join(f"{format(median(column), form):>12}" for column in columns)
    ratio = median(ours / apache for ours, apache in zip(*columns, strict=True)) if len(columns) == 2 else None
    print(text + ("" if ratio is None else f"{ratio:14.2f}"), flush=True)
    return ratio


if __name__ == "__main__":
    run_bench(main)
