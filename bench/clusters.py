"""Clusters of brokers under test, as the benches of stops and restarts need them: ours, Apache's, or both in one."""

from __future__ import annotations

import itertools
import json
import struct
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from kafka_zk.protocol.messages.create_topics import (
    CREATE_TOPICS_REQUEST,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest, MetadataRequestTopic
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import ConnectionClosed, RawClient
from tests.support.zookeeper import EmbeddedZooKeeper

Kind = Literal["ours", "Apache"]
Member = OurBroker | ApacheBroker

OURS: Kind = "ours"
APACHE: Kind = "Apache"
KINDS: Mapping[str, tuple[Kind, ...]] = {"ours": (OURS,), "apache": (APACHE,), "mixed": (OURS, APACHE)}
"""The kinds of brokers of a cluster, in turn, by its name."""

PARTITION_COUNT = 6
IN_SYNC_TIMEOUT_S = 120
OVERRIDES = {
    "auto.create.topics.enable": "false",
    # A change of leaders that nobody asked for would be a silence of its own.
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.retry.backoff.ms": "500",
    "zookeeper.session.timeout.ms": "18000",
}


class Cluster:
    """Brokers with one topic of PARTITION_COUNT partitions, each with a replica at every broker."""

    def __init__(self, folder: Path, zookeeper: str, *, kinds: Sequence[Kind], count: int, topic: str) -> None:
        overrides = {**OVERRIDES, "offsets.topic.replication.factor": str(count)}
        self.topic = topic
        self.members: list[Member] = []
        for broker_id, kind in zip(range(count), itertools.cycle(kinds)):
            of_kind = OurBroker if kind == OURS else ApacheBroker
            self.members.append(of_kind(folder / str(broker_id), zookeeper, broker_id=broker_id, overrides=overrides))
        self._zk = KazooClient(zookeeper)

    def start(self, *, min_isr: int) -> None:
        for member in self.members:
            member.start()
        self._zk.start()
        wait_until(self._is_known_everywhere, "every broker knows all of them")
        topic = CreatableTopic(
            name=self.topic,
            num_partitions=PARTITION_COUNT,
            replication_factor=len(self.members),
            configs=[CreatableTopicConfig(name="min.insync.replicas", value=str(min_isr))],
        )
        with RawClient(self.members[0].bootstrap) as client:
            answer = client.send(CREATE_TOPICS_REQUEST, CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
        assert not answer.topics[0].error_code, answer
        self.wait_in_sync()

    def stop(self) -> None:
        for member in self.members:
            member.stop()
        self._zk.stop()
        self._zk.close()

    @property
    def bootstraps(self) -> list[str]:
        return [member.bootstrap for member in self.members]

    def wait_in_sync(self) -> None:
        wait_until(self._is_in_sync, "all are in sync", IN_SYNC_TIMEOUT_S)

    def partitions(self, member: Member) -> dict[int, tuple[int, list[int]]]:
        """Leader and ISR of each partition as a broker knows them; empty while it does not."""
        wanted = MetadataRequest(topics=[MetadataRequestTopic(name=self.topic)], allow_auto_topic_creation=False)
        try:
            with RawClient(member.bootstrap) as client:
                (topic,) = client.send(METADATA_REQUEST, wanted, 9).topics
        except (OSError, ConnectionClosed, struct.error):
            return {}
        return {each.partition_index: (each.leader_id, list(each.isr_nodes)) for each in topic.partitions}

    def leaders(self, member: Member) -> dict[int, int]:
        return {index: leader for index, (leader, _) in self.partitions(member).items()}

    def kind_of(self, broker_id: int) -> Kind:
        return OURS if isinstance(self.members[broker_id], OurBroker) else APACHE

    @property
    def controller(self) -> Kind | None:
        """The kind of the controller; none between two elections."""
        try:
            data, _ = self._zk.get("/controller")
        except NoNodeError:
            return None
        return self.kind_of(int(json.loads(data)["brokerid"]))

    def let_control(self, kind: Kind) -> None:
        """Hold elections, which are races, until a broker of this kind wins one and all are in sync under it."""
        while self.controller != kind:
            with suppress(NoNodeError):
                self._zk.delete("/controller")
            wait_until(lambda: self.controller is not None, "there is a controller")
        self.wait_in_sync()

    def _is_in_sync(self) -> bool:
        views = [self.partitions(each) for each in self.members]
        return all(
            len(view) == PARTITION_COUNT and all(len(isr) == len(self.members) for _, isr in view.values())
            for view in views
        )

    def _is_known_everywhere(self) -> bool:
        for member in self.members:
            with RawClient(member.bootstrap) as client:
                if len(client.send(METADATA_REQUEST, MetadataRequest(topics=[]), 9).brokers) < len(self.members):
                    return False
        return True


@contextmanager
def running_cluster(kinds: Sequence[Kind], count: int, topic: str, *, min_isr: int) -> Iterator[Cluster]:
    """A cluster with a ZooKeeper and a folder of its own, all of which end with the block."""
    with tempfile.TemporaryDirectory(prefix="kafka-zk-bench-") as folder_name:
        folder = Path(folder_name)
        zookeeper = EmbeddedZooKeeper(folder / "zookeeper")
        cluster = None
        try:
            zookeeper.start()
            cluster = Cluster(folder, f"{zookeeper.connect}/bench", kinds=kinds, count=count, topic=topic)
            cluster.start(min_isr=min_isr)
            yield cluster
        finally:
            if cluster is not None:
                cluster.stop()
            zookeeper.stop()
