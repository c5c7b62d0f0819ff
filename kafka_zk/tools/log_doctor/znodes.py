"""The znodes that data directories imply: what can be restored of a lost ZooKeeper.

Role        Pure.
Invariants  The leader of a partition is the replica with the highest leader epoch, then the longest log: it has every
            committed record. The ISR are the replicas equal to it; others catch up and join.
            The leader epoch is one above every one ever seen, also in a znode that is replaced: if a missing replica
            led in the last epoch and comes back, its records of that epoch must not be taken for ours.
            Producer ids continue after the largest one seen: a new producer must not be taken for an old one, whose
            records it would seem to repeat.
            Configs are not in the directories. Traces of compaction reveal cleanup.policy; internal topics have known
            ones; retention.ms=-1 keeps everything until the operator restores the configs.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from kafka_zk.admin.internal_topics import defaults_of
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.log.doctor.partition import PartitionReport
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.znodes import (
    ClusterIdZNode,
    ConfigEntityZNode,
    PartitionLeadership,
    PartitionReplicas,
    ProducerIdBlock,
    ProducerIdBlockZNode,
    TopicAssignment,
    TopicPartitionStateZNode,
    TopicZNode,
    documents,
)

BLOCK_SIZE = 1000
KEEP_EVERYTHING = {"retention.ms": "-1", "retention.bytes": "-1"}


class Replica(NamedTuple):
    """One partition in a directory of a broker."""

    broker_id: int
    report: PartitionReport

    @property
    def reach(self) -> tuple[int, int]:
        return self.report.latest_epoch, self.report.end_after_start


@dataclass(slots=True)
class Implied:
    """Path and data of each znode, parents and configs first; `warnings` are sentences for the operator."""

    znodes: list[tuple[str, bytes]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def imply(replicas: Iterable[Replica], cluster_id: str | None, *, broker_retention: bool) -> Implied:
    """What the replicas in all given directories imply."""
    implied = Implied()
    if cluster_id is None:
        implied.warnings.append("no meta.properties has a cluster id; the first broker to start creates a new one")
    else:
        implied.znodes.append((ClusterIdZNode.PATH, ClusterIdZNode.encode(cluster_id)))
    topics: dict[str, dict[int, list[Replica]]] = defaultdict(lambda: defaultdict(list))
    largest_producer_id, first_broker_id = -1, -1
    for replica in sorted(replicas, key=lambda each: each.broker_id):
        topic_partition = replica.report.task.topic_partition
        topics[topic_partition.topic][topic_partition.partition].append(replica)
        largest_producer_id = max(largest_producer_id, replica.report.largest_producer_id)
        first_broker_id = replica.broker_id if first_broker_id < 0 else first_broker_id
    for topic, partitions in sorted(topics.items()):
        _imply_topic(topic, partitions, implied, broker_retention=broker_retention)
    if largest_producer_id >= 0:
        first = largest_producer_id // BLOCK_SIZE * BLOCK_SIZE
        block = ProducerIdBlock(first_broker_id, first, first + BLOCK_SIZE - 1)
        implied.znodes.append((ProducerIdBlockZNode.PATH, ProducerIdBlockZNode.encode(block)))
    return implied


def beyond(data: bytes, before: bytes) -> bytes:
    """What replaces the content `before` of a znode: `data`, but with a leader epoch above that one's, and without
    giving out producer ids again. ZooKeeper may know of epochs and ids of brokers whose directories are missing."""
    try:
        ours, theirs = json.loads(data), json.loads(before)
        if "leader_epoch" in ours:
            their_epoch = int(theirs["leader_epoch"])
            if (
                theirs == ours | {"leader_epoch": their_epoch, "controller_epoch": 0}
                and their_epoch > ours["leader_epoch"]
            ):
                return before  # An earlier run wrote it: no controller has the epoch 0.
            ours["leader_epoch"] = max(ours["leader_epoch"], documents.epoch(their_epoch + 1))
            return json.dumps(ours, separators=(",", ":")).encode()
        if "block_end" in ours and int(theirs["block_end"]) >= int(ours["block_end"]):
            return before
    except (ValueError, KeyError, TypeError, OverflowError):
        pass  # It holds something else, or an epoch without a next one, which brokers cannot read.
    return data


def _imply_topic(
    topic: str, partitions: Mapping[int, Sequence[Replica]], implied: Implied, *, broker_retention: bool
) -> None:
    refusal = _refusal(topic, partitions)
    if refusal:
        implied.warnings.append(f"skipping topic {topic}: {refusal}")
        return
    missing = sorted(set(range(max(partitions) + 1)) - partitions.keys())
    if missing:
        implied.warnings.append(
            f"topic {topic}: partitions {', '.join(map(str, missing))} are in none of these directories; if no other "
            "broker has them, their records are lost and producers will fail to write to them"
        )
    configs = _configs(topic, partitions, broker_retention=broker_retention)
    implied.znodes.append((ConfigEntityZNode.path(f"topics/{topic}"), ConfigEntityZNode.encode(configs)))
    leaders = {index: max(replicas, key=lambda each: each.reach) for index, replicas in partitions.items()}
    assignment = TopicAssignment(
        {
            index: PartitionReplicas(_leader_first(leaders[index], replicas))
            for index, replicas in sorted(partitions.items())
        },
        _topic_id(partitions),
    )
    implied.znodes.append((TopicZNode.path(topic), TopicZNode.encode(assignment)))
    for index, replicas in sorted(partitions.items()):
        leader = leaders[index]
        equal = [each for each in replicas if each.reach == leader.reach]
        leadership = PartitionLeadership(
            leader=leader.broker_id,
            leader_epoch=leader.report.latest_epoch + 1,
            isr=_leader_first(leader, equal),
            controller_epoch=0,
        )
        path = TopicPartitionStateZNode.path(TopicPartition(topic, index))
        implied.znodes.append((path, TopicPartitionStateZNode.encode(leadership)))


def _refusal(topic: str, partitions: Mapping[int, Sequence[Replica]]) -> str:
    """Why a topic is left out; empty if it is not."""
    ids = {each.report.topic_id for replicas in partitions.values() for each in replicas} - {None}
    if len(ids) > 1:
        return "its partitions have different topic ids"
    for index, replicas in sorted(partitions.items()):
        brokers = [each.broker_id for each in replicas]
        if len(set(brokers)) < len(brokers):
            return f"partition {index} occurs twice on one broker"
        for each in replicas:
            if each.report.failure:
                return f"partition {index} of broker {each.broker_id} cannot be opened: {each.report.failure}"
    return ""


def _topic_id(partitions: Mapping[int, Sequence[Replica]]) -> UUID | None:
    """None if no replica has one: the controller generates it."""
    every = (each.report.topic_id for replicas in partitions.values() for each in replicas)
    return next((topic_id for topic_id in every if topic_id is not None), None)


def _configs(topic: str, partitions: Mapping[int, Sequence[Replica]], *, broker_retention: bool) -> dict[str, str]:
    defaults = BrokerConfig.from_properties({"zookeeper.connect": "none:2181"})
    configs = dict(defaults_of(topic, defaults).configs)
    if any(each.report.was_compacted for replicas in partitions.values() for each in replicas):
        configs.setdefault("cleanup.policy", "compact")
    if not broker_retention and configs.get("cleanup.policy") != "compact":
        configs.update(KEEP_EVERYTHING)
    return configs


def _leader_first(leader: Replica, replicas: Sequence[Replica]) -> tuple[int, ...]:
    return leader.broker_id, *(each.broker_id for each in replicas if each.broker_id != leader.broker_id)
