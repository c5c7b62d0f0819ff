"""Each broker of a cluster stopped and started in turn, under load: `python -m bench.rolling_restart`.

An idempotent producer with acks=all, its settings at their defaults, sends to every partition at a fixed pace; a group
of two members reads. Then the topic is read once more from its start: each acknowledged record must be there once.
"""

from __future__ import annotations

import argparse
import struct
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence

from bench.clusters import KINDS, PARTITION_COUNT, Cluster, running_cluster
from bench.process import run_bench
from bench.silences import Reader, longest, silence_of
from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.protocol.types import TopicPartition
from tests.support.processes import wait_until

TOPIC = "bench-rolling"
REPLICAS, MIN_ISR, MEMBERS = 3, 2, 2
PACE_S, QUIET_S = 0.01, 1.0
PRODUCER_FLOOR_S, MEMBER_FLOOR_S = 1.0, 3.0
BYTES = "org.apache.kafka.common.serialization.ByteArray"


class Producer:
    """Sends numbered records to one partition after the other, without waiting for acknowledgements."""

    def __init__(self, bootstraps: Sequence[str]) -> None:
        self.acknowledged_s: dict[int, list[float]] = defaultdict(list)
        """When records were acknowledged, by partition."""
        self.acknowledged: set[int] = set()
        self.failures: list[str] = []
        self._producer = KafkaProducer(
            {
                "bootstrap.servers": ",".join(bootstraps),
                "key.serializer": f"{BYTES}Serializer",
                "value.serializer": f"{BYTES}Serializer",
            }
        )
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._producer.close()

    def silence(self, since_s: float, until_s: float) -> float:
        """The longest time in which no record of one partition was acknowledged."""
        return max(longest(list(self.acknowledged_s[index]), since_s, until_s)[0] for index in range(PARTITION_COUNT))

    def _run(self) -> None:
        number = 0
        while not self._stopped.wait(PACE_S):
            for partition in range(PARTITION_COUNT):
                self._send(number, partition)
                number += 1

    def _send(self, number: int, partition: int) -> None:
        def note(_: object, error: Exception | None) -> None:
            if error is not None:
                self.failures.append(repr(error))
                return
            self.acknowledged.add(number)
            self.acknowledged_s[partition].append(time.monotonic())

        self._producer.send(TOPIC, struct.pack(">q", number), partition=partition, callback=note)


def restart_each(cluster: Cluster) -> None:
    for member in cluster.members:
        member.stop()
        member.start()
        cluster.wait_in_sync()


def numbers_in_the_topic(bootstraps: Sequence[str]) -> Counter[int]:
    config = {
        "bootstrap.servers": ",".join(bootstraps),
        "auto.offset.reset": "earliest",
        "key.deserializer": f"{BYTES}Deserializer",
        "value.deserializer": f"{BYTES}Deserializer",
    }
    found: Counter[int] = Counter()
    with KafkaConsumer(config) as consumer:
        partitions = [TopicPartition(TOPIC, index) for index in consumer.partitions_for(TOPIC)]
        ends = consumer.end_offsets(partitions)
        consumer.assign(partitions)
        while any(consumer.position(each) < end for each, end in ends.items()):
            found.update(struct.unpack(">q", record.value)[0] for record in consumer.poll(1))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.rolling_restart", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often all brokers are restarted (default 3)")
    parser.add_argument("--cluster", default="ours", choices=KINDS, help="whose three brokers (default ours)")
    parser.add_argument(
        "--check",
        action="store_true",
        help=f"exit 1 where anything is refused, lost or doubled, the producer is silent for over {PRODUCER_FLOOR_S} s "
        f"or a member for over {MEMBER_FLOOR_S} s",
    )
    given = parser.parse_args()
    silences_s: list[tuple[float, float]] = []
    clients: list[Producer | Reader] = []
    with running_cluster(KINDS[given.cluster], REPLICAS, TOPIC, min_isr=MIN_ISR) as cluster:
        try:
            producer = Producer(cluster.bootstraps)
            clients.append(producer)
            readers = [Reader(cluster.bootstraps, TOPIC, "bench-rolling") for _ in range(MEMBERS)]
            clients += readers
            wait_until(
                lambda: len({index for each in readers for index in each.read_s}) == PARTITION_COUNT, "members read"
            )
            for number in range(given.rounds):
                began_s = time.monotonic()
                restart_each(cluster)
                time.sleep(QUIET_S)
                until_s = time.monotonic()
                group_s = silence_of(readers, PARTITION_COUNT, began_s, until_s)
                silences_s.append((producer.silence(began_s, until_s), group_s))
                print(
                    f"round {number + 1}: all restarted in {until_s - began_s:.1f} s; silence of the producer "
                    f"{silences_s[-1][0]:.2f} s, of the group {silences_s[-1][1]:.2f} s",
                    flush=True,
                )
        finally:
            for client in clients:
                client.stop()
        found = numbers_in_the_topic(cluster.bootstraps)
    lost = len(producer.acknowledged - found.keys())
    doubled = sum(count > 1 for count in found.values())
    print(
        f"{len(producer.acknowledged)} acknowledged, {len(producer.failures)} refused, {lost} lost, {doubled} doubled"
    )
    for failure in [*producer.failures[:3], *(each for reader in readers for each in reader.failures[:3])]:
        print(f"failed: {failure}")
    is_good = not (producer.failures or lost or doubled)
    is_fast = all(producer_s <= PRODUCER_FLOOR_S and group_s <= MEMBER_FLOOR_S for producer_s, group_s in silences_s)
    return 1 if given.check and not (is_good and is_fast) else 0


if __name__ == "__main__":
    run_bench(main)
