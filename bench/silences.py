"""Who notices a stop: writers with acks=all, one a partition, and a group that reads what they write."""

from __future__ import annotations

import itertools
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest, MetadataRequestTopic
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_zk.record import Record, build_batch
from tests.support.raw_client import ConnectionClosed, RawClient

RETRY_S = 0.01
POLL_S = 0.05
PRODUCE_TIMEOUT_MS = 30_000
RECORD = Record(0, 1_000, None, bytes(100))


def longest(times: Sequence[float], since_s: float, until_s: float) -> tuple[float, float]:
    """The longest time without an event between the two, and when it began."""
    inside = [each for each in times if since_s <= each <= until_s]
    return max((after - before, before) for before, after in itertools.pairwise([since_s, *inside, until_s]))


def percentile(sorted_values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    return sorted_values[max(0, -int(-share * len(sorted_values) // 1) - 1)]


class Summary(NamedTuple):
    """Of many silences, in seconds."""

    p50_s: float
    p99_s: float
    max_s: float

    @classmethod
    def of(cls, values_s: Sequence[float]) -> Summary:
        ordered = sorted(values_s)
        return cls(percentile(ordered, 0.5), percentile(ordered, 0.99), ordered[-1])

    def __str__(self) -> str:
        return f"{self.p50_s:5.2f} {self.p99_s:5.2f} {self.max_s:5.2f} s"


class Writer:
    """Writes to one partition, each record once the one before is acknowledged.

    It asks for the leader again soon after each refusal, so that what is measured is the brokers' part of a silence.
    """

    def __init__(self, bootstraps: list[str], topic: str, partition: int) -> None:
        self.acknowledged_s: list[float] = []
        self.refusals: list[tuple[float, str]] = []
        self._bootstraps = bootstraps
        self._topic = topic
        self._partition = partition
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def silence(self, since_s: float, until_s: float) -> tuple[float, float]:
        """The longest time without an acknowledgement, and when it began."""
        return longest(list(self.acknowledged_s), since_s, until_s)

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
                topic = TopicProduceData(name=self._topic, partition_data=[data])
                request = ProduceRequest(acks=-1, timeout_ms=PRODUCE_TIMEOUT_MS, topic_data=[topic])
                (answered,) = client.send(PRODUCE_REQUEST, request, 9).responses[0].partition_responses
                if answered.error_code:
                    self._note(f"code {answered.error_code}")
                    return
                self.acknowledged_s.append(time.monotonic())
                self._stopped.wait(RETRY_S)

    def _leader(self) -> str:
        """Where the leader is, by the first broker that says so. Raises OSError."""
        wanted = MetadataRequest(topics=[MetadataRequestTopic(name=self._topic)], allow_auto_topic_creation=False)
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


class Reader:
    """A member of a group that reads the topic with our consumer, its settings at their defaults.

    `failures`: errors that a poll raised; it goes on after each.
    """

    def __init__(self, bootstraps: Sequence[str], topic: str, group: str) -> None:
        self.read_s: dict[int, list[float]] = defaultdict(list)
        """When records were handed out, by partition."""
        self.failures: list[str] = []
        self._config = {
            "bootstrap.servers": ",".join(bootstraps),
            "group.id": group,
            "auto.offset.reset": "earliest",
            "key.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
            "value.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
        }
        self._topic = topic
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        with KafkaConsumer(self._config) as consumer:
            consumer.subscribe([self._topic])
            while not self._stopped.is_set():
                try:
                    partitions = {record.partition for record in consumer.poll(POLL_S)}
                except KafkaException as error:
                    self.failures.append(repr(error))
                    continue
                now_s = time.monotonic()
                for partition in partitions:
                    self.read_s[partition].append(now_s)


def silence_of(readers: Sequence[Reader], partition_count: int, since_s: float, until_s: float) -> float:
    """The longest time in which a group got no record of one partition."""
    times = [
        sorted(each for reader in readers for each in list(reader.read_s[index])) for index in range(partition_count)
    ]
    return max(longest(each, since_s, until_s)[0] for each in times)
