"""Cluster operations of the jobs, on the driver: partitions, offsets, topic creation, commits.

Role        Acts: each function opens and closes its own client. Blocks.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import NewTopic, TopicDescription
from kafka_zk.client.admin.offset_listing import ListedOffset, OffsetSpec
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError, is_retriable
from kafka_zk.protocol.types import NULL_UUID, TopicPartition
from kafka_zk.spark.client_secrets import resolved
from kafka_zk.spark.jobs.outcome import JobError

Offsets = dict[TopicPartition, int]
REQUEST_TIMEOUT_MS = 30_000
"""How long to wait for what a broker does not know yet, where request.timeout.ms does not say."""
RETRY_S = 0.2


def cluster_properties(bootstrap: str, kafka: Mapping[str, str]) -> dict[str, str]:
    return {**kafka, "bootstrap.servers": bootstrap}


def is_one_cluster(first: Mapping[str, str], second: Mapping[str, str]) -> bool:
    """Whether both are the same cluster, by its id."""
    if first["bootstrap.servers"] == second["bootstrap.servers"]:
        return True
    return cluster_id(first) == cluster_id(second)


def cluster_id(properties: Mapping[str, str]) -> str:
    with AdminClient(resolved(properties)) as admin:
        return admin.describe_cluster().cluster_id


def topic_names(properties: Mapping[str, str]) -> list[str]:
    """Of all topics, internal ones too, sorted."""
    with AdminClient(resolved(properties)) as admin:
        return sorted(listing.name for listing in admin.list_topics(internal=True))


def partition_counts(
    properties: Mapping[str, str], topics: Iterable[str], *, known: Collection[str] = ()
) -> dict[str, int]:
    """Counts of existing topics; waits a while for those of `known`, as a broker that just started may not have
    heard of them."""
    return {name: len(topic.partitions) for name, topic in _described(properties, topics, known).items()}


def topic_ids(properties: Mapping[str, str], topics: Iterable[str], *, known: Collection[str] = ()) -> dict[str, str]:
    """As text, of the topics that are there and have one; a topic that is recreated has another. Waits for those of
    `known` as `partition_counts` does."""
    described = _described(properties, topics, known)
    return {name: str(topic.topic_id) for name, topic in described.items() if topic.topic_id != NULL_UUID}


def _described(
    properties: Mapping[str, str], topics: Iterable[str], known: Collection[str]
) -> dict[str, TopicDescription]:
    wanted = sorted(set(topics))
    deadline_s = time.monotonic() + int(properties.get("request.timeout.ms", REQUEST_TIMEOUT_MS)) / 1000
    with AdminClient(resolved(properties)) as admin:
        while True:
            there = {listing.name for listing in admin.list_topics(internal=True)}
            is_last = time.monotonic() >= deadline_s
            try:
                if is_last or there.issuperset(known):
                    return admin.describe_topics([name for name in wanted if name in there])
            except BrokerError as error:
                # No leader known yet, or a topic known to only some brokers.
                if is_last or not is_retriable(error.code):
                    raise
            time.sleep(RETRY_S)


@dataclass(frozen=True, slots=True)
class MakeTopics:
    """How missing topics are created. `counts`: topics to make besides, and with how many partitions where
    that is more than what is needed."""

    configs: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


def ensure_topics(properties: Mapping[str, str], needed: Mapping[str, int], make: MakeTopics | None) -> None:
    """Ensure that each topic has enough partitions, creating missing ones if allowed. Raises JobError."""
    to_make = {**needed, **make.counts} if make else {}
    there = partition_counts(properties, {**needed, **to_make})
    for name, count in sorted(needed.items()):
        if name not in there and not make:
            raise JobError(f"topic {name} does not exist; create it with {_partitions(count)}, or set create-topics")
        if there.get(name, count) < count:
            raise JobError(f"topic {name} has {_partitions(there[name])}, but {count} are needed")
    missing = {name: count for name, count in sorted(to_make.items()) if name not in there}
    if make and missing:
        with AdminClient(resolved(properties)) as admin:
            admin.create_topics([NewTopic(name, count, configs=make.configs) for name, count in missing.items()])


def _partitions(count: int) -> str:
    return f"{count} partition{'' if count == 1 else 's'}"


def end_offsets(properties: Mapping[str, str], partitions: Iterable[TopicPartition]) -> Offsets:
    """High watermarks. Raises JobError if a leader does not return one."""
    with AdminClient(resolved(properties)) as admin:
        listed = admin.list_offsets(dict.fromkeys(sorted(partitions), OffsetSpec.LATEST))
    found: Offsets = {}
    for each, answer in listed.items():
        if not isinstance(answer, ListedOffset):
            raise JobError(f"could not fetch the end offset of {each}: {answer}")
        found[each] = answer.offset
    return found


def topic_ends(properties: Mapping[str, str], topic: str) -> Offsets:
    """End offsets of all partitions. Raises JobError if the topic does not exist."""
    count = partition_counts(properties, [topic]).get(topic)
    if count is None:
        raise JobError(f"topic {topic} does not exist")
    return end_offsets(properties, [TopicPartition(topic, index) for index in range(count)])


def committed_offsets(properties: Mapping[str, str], group: str) -> Offsets:
    """A group's committed offsets, by partition."""
    with AdminClient(resolved(properties)) as admin:
        return dict(sorted(admin.list_consumer_group_offsets(group).items()))


def commit_offsets(properties: Mapping[str, str], group: str, offsets: Offsets) -> None:
    """Commit offsets for a group. Raises JobError if the coordinator refuses, for example because it has members, or
    cannot be reached."""
    try:
        with AdminClient(resolved(properties)) as admin:
            admin.alter_consumer_group_offsets(group, offsets)
    except (BrokerError, KafkaException) as error:
        raise JobError(f"could not commit offsets for group {group}: {error}") from error
