"""How long writers stand still while a broker stops in order: `python -m bench.controlled_stops`.

One writer for each partition, acks=all, one record in flight. The broker that leads most partitions is stopped with
SIGTERM and started again once it is gone; the longest time between two acknowledgements around the stop is its silence.
"""

from __future__ import annotations

import argparse
import itertools
import struct
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from bench.process import run_bench
from kafka_zk.protocol.messages.create_topics import CREATE_TOPICS_REQUEST, CreatableTopic, CreateTopicsRequest
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest, MetadataRequestTopic
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_zk.record import Record, build_batch
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import ConnectionClosed, RawClient
from tests.support.zookeeper import EmbeddedZooKeeper

TOPIC = "bench-stops"
PARTITION_COUNT = 6
FLOOR_S = 1.0
"""Apache's brokers among themselves: at most so long."""

QUIET_S, AFTERWARDS_S, RETRY_S = 2.0, 3.0, 0.01
PRODUCE_TIMEOUT_MS = 30_000
RECORD = Record(0, 1_000, None, bytes(100))
OVERRIDES = {
    "auto.create.topics.enable": "false",
    # A change of leaders that nobody asked for would be a silence of its own.
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.retry.backoff.ms": "500",
    "zookeeper.session.timeout.ms": "18000",
}

Member = OurBroker | ApacheBroker


class Writer:
    """Writes to one partition, each record once the one before is acknowledged.

    It asks for the leader again soon after each refusal, so that what is measured is the brokers' part of a silence.
    """

    def __init__(self, bootstraps: list[str], partition: int) -> None:
        self.acknowledged_s: list[float] = []
        self.refusals: list[tuple[float, str]] = []
        self._bootstraps = bootstraps
        self._partition = partition
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def silence(self, since_s: float, until_s: float) -> tuple[float, float]:
        """The longest time without an acknowledgement, and when it began."""
        times = [each for each in list(self.acknowledged_s) if since_s <= each <= until_s]
        return max((after - before, before) for before, after in itertools.pairwise([since_s, *times, until_s]))

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._write_until_refused()
            except (OSError, ConnectionClosed, struct.error) as error:
                self._note(repr(error))
            self._stopped.wait(RETRY_S)

    def _write_until_refused(self) -> None:
        with RawClient(self._leader()) as client:
            while not self._stopped.is_set():
                data = PartitionProduceData(index=self._partition, records=bytes(build_batch([RECORD])))
                topic = TopicProduceData(name=TOPIC, partition_data=[data])
                request = ProduceRequest(acks=-1, timeout_ms=PRODUCE_TIMEOUT_MS, topic_data=[topic])
                (answered,) = client.send(PRODUCE_REQUEST, request, 9).responses[0].partition_responses
                if answered.error_code:
                    self._note(f"code {answered.error_code}")
                    return
                self.acknowledged_s.append(time.monotonic())
                self._stopped.wait(RETRY_S)

    def _leader(self) -> str:
        """Where the leader is, by the first broker that says so. Raises OSError."""
        wanted = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=False)
        for bootstrap in self._bootstraps:
            try:
                with RawClient(bootstrap) as client:
                    answer = client.send(METADATA_REQUEST, wanted, 9)
            except (OSError, ConnectionClosed, struct.error):
                continue
            addresses = {broker.node_id: f"{broker.host}:{broker.port}" for broker in answer.brokers}
            leaders = {each.partition_index: each.leader_id for each in answer.topics[0].partitions}
            # The next time another one is asked: this one may not have heard yet.
            self._bootstraps = [*self._bootstraps[1:], self._bootstraps[0]]
            if leaders.get(self._partition) in addresses:
                return addresses[leaders[self._partition]]
        raise OSError("nobody knows the leader")

    def _note(self, what: str) -> None:
        self.refusals.append((time.monotonic(), what))


class Stop(NamedTuple):
    """One controlled stop. `kind`: of the broker that went and of those that lead after it."""

    kind: str
    took_s: float
    silence_s: float
    began_s: float
    concerns_ours: bool
    told: Counter[str]


def kind_of(member: Member) -> str:
    return "ours" if isinstance(member, OurBroker) else "Apache"


def members(folder: Path, zookeeper: str, *, count: int, is_mixed: bool) -> list[Member]:
    """Brokers of one cluster; in a mixed one every second is Apache's."""
    made: list[Member] = []
    for broker_id in range(count):
        if is_mixed and broker_id % 2:
            made.append(ApacheBroker(folder / str(broker_id), zookeeper, broker_id=broker_id, overrides=OVERRIDES))
        else:
            made.append(OurBroker(folder / str(broker_id), zookeeper, broker_id=broker_id, overrides=OVERRIDES))
    return made


def partitions(bootstrap: str) -> dict[int, tuple[int, list[int]]]:
    """Leader and ISR of each partition; empty while they are not known."""
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=False)
    try:
        with RawClient(bootstrap) as client:
            (topic,) = client.send(METADATA_REQUEST, wanted, 9).topics
    except (OSError, ConnectionClosed):
        return {}
    return {each.partition_index: (each.leader_id, list(each.isr_nodes)) for each in topic.partitions}


def in_sync(all_members: list[Member]) -> bool:
    views = [partitions(each.bootstrap) for each in all_members]
    return all(
        len(view) == PARTITION_COUNT and all(len(isr) == len(all_members) for _, isr in view.values()) for view in views
    )


def create_topic(bootstrap: str, replication_factor: int) -> None:
    topic = CreatableTopic(name=TOPIC, num_partitions=PARTITION_COUNT, replication_factor=replication_factor)
    with RawClient(bootstrap) as client:
        answer = client.send(CREATE_TOPICS_REQUEST, CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
    assert not answer.topics[0].error_code, answer


def stop_once(all_members: list[Member], writers: list[Writer], kind: str | None) -> Stop:
    """Stop the broker (of a kind, if told) that leads most partitions, and start it again."""
    by_id = {each.broker_id: each for each in all_members}
    before = {index: leader for index, (leader, _) in partitions(all_members[0].bootstrap).items()}
    chosen = [each for each in all_members if kind in (None, kind_of(each))]
    leaving = max(chosen, key=lambda each: list(before.values()).count(each.broker_id))
    others = [each for each in all_members if each is not leaving]
    began_s = time.monotonic()
    leaving.stop()
    gone_s = time.monotonic()
    time.sleep(AFTERWARDS_S)
    until_s = time.monotonic()
    after = {index: leader for index, (leader, _) in partitions(others[0].bootstrap).items()}
    moved = [index for index, leader in before.items() if leader == leaving.broker_id]
    to = {kind_of(by_id[after[index]]) for index in moved if after[index] in by_id}
    (silence_s, since_s), slowest = max(
        ((writer.silence(began_s - 0.5, until_s), writer) for writer in writers), key=lambda pair: pair[0]
    )
    told = Counter(what for at_s, what in slowest.refusals if since_s <= at_s <= since_s + silence_s)
    leaving.start()
    wait_until(lambda: in_sync(all_members), "all are in sync again", 120)
    name = f"{kind_of(leaving)} -> {'+'.join(sorted(to)) or 'nobody'}"
    return Stop(name, gone_s - began_s, silence_s, since_s - began_s, "ours" in name, told)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.controlled_stops", description=__doc__)
    parser.add_argument("--stops", type=int, default=20, help="number of stops (default 20)")
    parser.add_argument(
        "--replicas", type=int, default=3, choices=(2, 3), help="number of brokers, and replication factor"
    )
    parser.add_argument("--mixed", action="store_true", help="every second broker, and every second stop, is Apache's")
    parser.add_argument("--check", action="store_true", help=f"exit 1 where writers are silent for over {FLOOR_S} s")
    given = parser.parse_args()
    stops: list[Stop] = []
    with tempfile.TemporaryDirectory(prefix="kafka-zk-bench-") as folder_name:
        folder = Path(folder_name)
        zookeeper = EmbeddedZooKeeper(folder / "zookeeper")
        cluster: list[Member] = []
        writers: list[Writer] = []
        try:
            zookeeper.start()
            cluster = members(folder, f"{zookeeper.connect}/stops", count=given.replicas, is_mixed=given.mixed)
            for member in cluster:
                member.start()
            wait_until(lambda: partitions(cluster[0].bootstrap) is not None, "the first broker serves")
            create_topic(cluster[0].bootstrap, given.replicas)
            wait_until(lambda: in_sync(cluster), "all are in sync", 120)
            bootstraps = [member.bootstrap for member in cluster]
            writers = [Writer(bootstraps, index) for index in range(PARTITION_COUNT)]
            for number in range(given.stops):
                time.sleep(QUIET_S)
                kind = (("ours", "Apache")[number % 2]) if given.mixed else None
                stops.append(stop_once(cluster, writers, kind))
                print(
                    f"{number + 1:4d}  {stops[-1].kind:24}  silence {stops[-1].silence_s:6.2f} s from "
                    f"{stops[-1].began_s:6.2f} s on   stopped in {stops[-1].took_s:5.2f} s  "
                    f"{', '.join(f'{what} x{count}' for what, count in stops[-1].told.items())}",
                    flush=True,
                )
        finally:
            for writer in writers:
                writer.stop()
            for member in cluster:
                member.stop()
            zookeeper.stop()
    for kind in sorted({stop.kind for stop in stops}):
        silences = sorted(stop.silence_s for stop in stops if stop.kind == kind)
        median_s = silences[len(silences) // 2]
        print(f"{kind:24}  {len(silences)} stops: median {median_s:.2f} s, longest {silences[-1]:.2f} s")
    too_long = [stop for stop in stops if stop.concerns_ours and stop.silence_s > FLOOR_S]
    return 1 if given.check and too_long else 0


if __name__ == "__main__":
    run_bench(main)
