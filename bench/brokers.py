"""The two brokers under test, each a process of its own on the same ZooKeeper, under one face."""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kafka_zk.protocol.messages.api_versions import API_VERSIONS_REQUEST, ApiVersionsRequest
from kafka_zk.protocol.messages.create_topics import (
    CREATE_TOPICS_REQUEST,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafka_zk.protocol.messages.list_offsets import (
    LIST_OFFSETS_REQUEST,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest, MetadataRequestTopic
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import ConnectionClosed, RawClient

LATEST = -1
# What kafka-run-class.sh and kafka-server-start.sh give a broker; the tests' own options are for a fast start.
APACHE_JVM = ("-server", "-Xms1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
              "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true")  # fmt: skip
TEST_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
NO_CONFIGS: Mapping[str, str] = {}
OVERRIDES = {"auto.create.topics.enable": "false", "queued.max.requests": "500"}
COMPILED_LINE = "Codec: compiled, record walker: compiled, hot path: compiled"


class Broker:
    """One broker that serves. `ready_s` is the time from its start to the first Metadata answer that names it."""

    def __init__(self, name: str, process: OurBroker | ApacheBroker) -> None:
        self.name = name
        self._process = process
        self.ready_s = 0.0

    def launch(self) -> None:
        """Start it, and wait only until its port is known: Apache's is, and it may take minutes to open it."""
        if isinstance(self._process, ApacheBroker):
            self._process.launch()
        else:
            self._process.start()

    def start(self) -> None:
        started = time.monotonic()
        self.launch()
        wait_until(self._is_ready, f"{self.name} serves")
        self.ready_s = time.monotonic() - started

    def stop(self) -> None:
        self._process.stop()

    def kill(self) -> None:
        self._process.kill()

    @property
    def is_running(self) -> bool:
        return self._process.process.is_running

    @property
    def bootstrap(self) -> str:
        return self._process.bootstrap

    @property
    def port(self) -> int:
        return self._process.port

    @property
    def pid(self) -> int:
        return self._process.process.pid

    def runs_compiled(self) -> bool:
        """What our broker says of itself; the pure twin would make every figure meaningless."""
        return COMPILED_LINE in self._process.process.output()

    def log(self) -> str:
        """Everything that it has said so far."""
        return self._process.process.output()

    def log_end(self, line_count: int = 30) -> str:
        """The last lines of the broker's output: why a load failed."""
        return "\n".join(self._process.process.output().splitlines()[-line_count:])

    def _is_ready(self) -> bool:
        try:
            with RawClient(self._process.bootstrap) as client:
                return bool(client.send(METADATA_REQUEST, MetadataRequest(topics=[]), 9).brokers)
        except (OSError, ConnectionClosed, struct.error):
            return False

    def create_topic(self, name: str, partition_count: int, configs_by_name: Mapping[str, str] = NO_CONFIGS) -> None:
        """Create it, and wait until each partition has a leader."""
        # Nothing may roll or be deleted while it is measured.
        wanted_configs = {"retention.ms": "-1", **configs_by_name}
        configs = [CreatableTopicConfig(name=key, value=value) for key, value in wanted_configs.items()]
        topic = CreatableTopic(name=name, num_partitions=partition_count, replication_factor=1, configs=configs)
        with RawClient(self._process.bootstrap) as client:
            answer = client.send(CREATE_TOPICS_REQUEST, CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
            assert not answer.topics[0].error_code, (self.name, answer)
            wanted = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)

            def is_led() -> bool:
                (found,) = client.send(METADATA_REQUEST, wanted, 9).topics
                return len(found.partitions) == partition_count and all(not p.error_code for p in found.partitions)

            wait_until(is_led, f"{name} is led")

    def record_count(self, topic: str, partition_count: int) -> int:
        """The records in all partitions of a topic that nothing was deleted from."""
        partitions = [ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in range(partition_count)]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=partitions)])
        with RawClient(self._process.bootstrap) as client:
            (answer,) = client.send(LIST_OFFSETS_REQUEST, request, 5).topics
        assert not any(partition.error_code for partition in answer.partitions), (self.name, answer)
        return sum(partition.offset for partition in answer.partitions)

    @contextmanager
    def log_evicted(self) -> Iterator[None]:
        """Meanwhile its segments leave the page cache again and again, as far as nobody reads them just then."""
        files = [os.open(path, os.O_RDONLY) for path in self._process.log_dir.glob("*/*.log")]
        for fileno in files:
            os.fsync(fileno)
        over = threading.Event()

        def evict() -> None:
            while not over.wait(0.001):
                for fileno in files:
                    os.posix_fadvise(fileno, 0, 0, os.POSIX_FADV_DONTNEED)

        evicting = threading.Thread(target=evict)
        evicting.start()
        try:
            yield
        finally:
            over.set()
            evicting.join()
            for fileno in files:
                os.close(fileno)

    def open_connections(self, count: int) -> list[RawClient]:
        """Connections that have each had one ApiVersions answered, and then say nothing."""
        clients: list[RawClient] = []
        for _ in range(count):
            # One after the other: a full listen backlog would cost each of them a second.
            clients.append(RawClient(self._process.bootstrap))
            clients[-1].send(API_VERSIONS_REQUEST, ApiVersionsRequest(), 2)
        return clients


def our_broker(folder: Path, zookeeper: str, overrides: Mapping[str, str] = NO_CONFIGS) -> Broker:
    return Broker("kafka_zk", OurBroker(folder, f"{zookeeper}/ours", overrides={**OVERRIDES, **overrides}))


def apache_broker(folder: Path, zookeeper: str, overrides: Mapping[str, str] = NO_CONFIGS) -> Broker:
    both = {**OVERRIDES, **overrides}
    broker = ApacheBroker(folder, f"{zookeeper}/apache", overrides=both, heap="1g", jvm_options=APACHE_JVM)
    command = broker.process.command
    command[:] = [word for word in command if word not in TEST_JVM]
    return Broker("Apache 3.9.1", broker)
