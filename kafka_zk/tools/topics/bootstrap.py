"""kafka-topics.sh --bootstrap-server: what 3.9's tool does, through the admin client.

Role        Asks and prints. One function an action.
Source      TopicCommand.TopicService, DescribeOptions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from uuid import UUID

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import (
    ConfigEntry,
    ConfigResource,
    NewTopic,
    PartitionReassignment,
    ResourceType,
    TopicDescription,
    TopicPartitionInfo,
)
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import (
    BrokerError,
    ClusterAuthorizationFailed,
    LeaderNotAvailable,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
    UnsupportedVersion,
)
from kafka_zk.protocol.types import NULL_UUID, TopicPartition, uuid_to_base64
from kafka_zk.tools.common.java_output import hash_order, illegal_argument, java_uuid
from kafka_zk.tools.common.options import Options
from kafka_zk.tools.topics.options import (
    COLLISION_WARNING,
    PARTITION_REPORTS,
    configs,
    names_matching,
    replica_assignment,
)

REPLICATION_FACTOR_MAX = 32767
NEWS_WAIT_S, NEWS_PAUSE_S = 1.0, 0.02
MIN_ISR = "min.insync.replicas"


def run(options: Options, admin: AdminClient) -> None:
    """Do what was asked. Raises what `main` prints."""
    action = next(name for name in _ACTIONS if options.has(name))
    _ACTIONS[action](options, admin)


def _create(options: Options, admin: AdminClient) -> None:
    topic = _new_topic(options)
    if "." in topic.name or "_" in topic.name:
        print(COLLISION_WARNING)
    if topic.replication_factor is not None and not 1 <= topic.replication_factor <= REPLICATION_FACTOR_MAX:
        raise illegal_argument(f"The replication factor must be between 1 and {REPLICATION_FACTOR_MAX} inclusive")
    if topic.partition_count is not None and topic.partition_count < 1:
        raise illegal_argument("The partitions must be greater than 0")
    try:
        admin.create_topics([topic])
    except TopicAlreadyExists:
        if options.has("if-not-exists"):
            return
        raise
    _wait_until_known(topic.name, admin)
    print(f"Created topic {topic.name}.")


def _wait_until_known(name: str, admin: AdminClient) -> None:
    """Wait, for a second at most, until our broker knows a topic that the controller has created.

    Apache's tool takes longer to start than the update takes to arrive; with ours the next command might be too early.
    """
    deadline_s = time.monotonic() + NEWS_WAIT_S
    while time.monotonic() < deadline_s:
        try:
            admin.describe_topics([name])
        except (UnknownTopicOrPartition, LeaderNotAvailable):
            time.sleep(NEWS_PAUSE_S)
        except (BrokerError, KafkaException):
            return
        else:
            return


def _new_topic(options: Options) -> NewTopic:
    name = options.text("topic")
    assert name is not None, "checked before"
    partition_count, replication_factor = options.integer("partitions"), options.integer("replication-factor")
    assignment = replica_assignment(options)
    overrides = configs(options)
    if overrides:
        from kafka_zk.tools.topics.configs import check_overrides

        check_overrides(overrides)
    return NewTopic(name, partition_count, replication_factor, assignment, overrides)


def _list(options: Options, admin: AdminClient) -> None:
    print("\n".join(_topics(options, admin)))


def _alter(options: Options, admin: AdminClient) -> None:
    wanted = _new_topic(options)
    names = _topics(options, admin)
    _require_topics(names, options)
    if not names:
        return
    assert wanted.partition_count is not None, "checked before"
    assignments: dict[str, Sequence[Sequence[int]]] = {}
    if wanted.assignment:
        for name, topic in admin.describe_topics(names).items():
            assignments[name] = list(wanted.assignment.values())[len(topic.partitions) :]
    admin.create_partitions(dict.fromkeys(hash_order(names), wanted.partition_count), assignments)


def _delete(options: Options, admin: AdminClient) -> None:
    names = _topics(options, admin)
    _require_topics(names, options)
    if names:
        admin.delete_topics(names)


def _topics(options: Options, admin: AdminClient) -> list[str]:
    exclude_internal = options.has("exclude-internal")
    pattern = options.text("topic")
    names = sorted(topic.name for topic in admin.list_topics(internal=not exclude_internal))
    return names_matching(names, pattern, exclude_internal=exclude_internal)


def _require_topics(found: Sequence[str], options: Options) -> None:
    pattern = options.text("topic")
    if pattern and not found and not options.has("if-exists"):
        # Apache prints its Optional here, and scripts look for that.
        raise illegal_argument(f"Topic 'Optional[{pattern}]' does not exist as expected")


# --- describe --------------------------------------------------------------------------------------------------------


def _describe(options: Options, admin: AdminClient) -> None:
    topics = _topics_to_describe(options, admin)
    resources = {topic.name: ConfigResource(ResourceType.TOPIC, topic.name) for topic in topics}
    all_configs = admin.describe_configs(list(resources.values()))
    live = {node.id for node in admin.describe_cluster().nodes}
    reassignments = _reassignments(topics, admin)
    shows = _partition_filter(options, live)
    for topic in topics:
        entries = all_configs[resources[topic.name]]
        partitions = sorted(topic.partitions, key=lambda info: info.partition)
        if not any(map(options.has, PARTITION_REPORTS)) and (
            not options.has("topics-with-overrides") or any(not entry.is_default for entry in entries)
        ):
            print(_topic_line(topic, entries, reassignments))
        if options.has("topics-with-overrides"):
            continue
        min_isr = next((entry.value for entry in entries if entry.name == MIN_ISR), None)
        for info in partitions:
            reassignment = reassignments.get(TopicPartition(topic.name, info.partition))
            if shows(info, reassignment, int(min_isr or 1)):
                print(_partition_line(topic.name, info, reassignment))


def _topics_to_describe(options: Options, admin: AdminClient) -> list[TopicDescription]:
    """In Apache's order: that of a Java hash map."""
    id_text = options.text("topic-id")
    topic_id = NULL_UUID if id_text is None else _topic_id(id_text)
    if topic_id == NULL_UUID:
        names = _topics(options, admin)
        _require_topics(names, options)
        options.integer("partition-size-limit-per-response")
        described = admin.describe_topics(names)
        order = hash_order(hash_order(names, len(names)), len(names))
        return [described[name] for name in order]
    known = {topic.topic_id for topic in admin.list_topics(internal=not options.has("exclude-internal"))}
    if topic_id in known:
        return list(admin.describe_topics_by_id([topic_id]).values())
    if not options.has("if-exists"):
        raise illegal_argument(f"TopicId '{uuid_to_base64(topic_id)}' does not exist as expected")
    return []


def _topic_id(text: str) -> UUID:
    try:
        return java_uuid(text)
    except ValueError as error:
        raise illegal_argument(str(error)) from None


def _reassignments(
    topics: Sequence[TopicDescription], admin: AdminClient
) -> Mapping[TopicPartition, PartitionReassignment]:
    partitions = [TopicPartition(topic.name, info.partition) for topic in topics for info in topic.partitions]
    try:
        return admin.list_partition_reassignments(partitions)
    except (UnsupportedVersion, ClusterAuthorizationFailed):
        # An older broker, or no permission to ask: describe without it.
        return {}


_Shows = Callable[[TopicPartitionInfo, PartitionReassignment | None, int], bool]


def _partition_filter(options: Options, live_brokers: Collection[int]) -> _Shows:
    """Whether a partition (with its reassignment and min.insync.replicas) is to be printed."""
    filters: dict[str, _Shows] = {
        "under-replicated-partitions": lambda info, moving, _: replication_factor(info, moving) > len(info.isr),
        "under-min-isr-partitions": lambda info, _, min_isr: info.leader is None or len(info.isr) < min_isr,
        "at-min-isr-partitions": lambda info, _, min_isr: len(info.isr) == min_isr,
        "unavailable-partitions": lambda info, *_: info.leader is None or info.leader not in live_brokers,
    }
    chosen = [filters[report] for report in PARTITION_REPORTS if options.has(report)]
    return lambda info, moving, min_isr: not chosen or any(shows(info, moving, min_isr) for shows in chosen)


def replication_factor(info: TopicPartitionInfo, reassignment: PartitionReassignment | None) -> int:
    """The target number of replicas: during a reassignment, those being added do not count."""
    if reassignment is not None and set(info.replicas) & {
        *reassignment.adding_replicas,
        *reassignment.removing_replicas,
    }:
        return len(reassignment.replicas) - len(reassignment.adding_replicas)
    return len(info.replicas)


def _topic_line(
    topic: TopicDescription,
    entries: Sequence[ConfigEntry],
    reassignments: Mapping[TopicPartition, PartitionReassignment],
) -> str:
    first = topic.partitions[0]
    factor = replication_factor(first, reassignments.get(TopicPartition(topic.name, first.partition)))
    values = {entry.name: entry.value for entry in entries if not entry.is_default}
    shown = [name for name in hash_order((entry.name for entry in entries), len(entries)) if name in values]
    columns = [f"Topic: {topic.name}"]
    if topic.topic_id != NULL_UUID:
        columns.append(f"TopicId: {uuid_to_base64(topic.topic_id)}")
    columns += [
        f"PartitionCount: {len(topic.partitions)}",
        f"ReplicationFactor: {factor}",
        f"Configs: {','.join(f'{name}={_shown(values[name])}' for name in shown)}",
    ]
    return "\t".join(columns)


def _shown(value: str | None) -> str:
    return "null" if value is None else value


def _partition_line(topic: str, info: TopicPartitionInfo, reassignment: PartitionReassignment | None) -> str:
    columns = [
        f"\tTopic: {topic}",
        f"Partition: {info.partition}",
        f"Leader: {'none' if info.leader is None else info.leader}",
        f"Replicas: {_ids(info.replicas)}",
        f"Isr: {_ids(info.isr)}",
    ]
    if reassignment is not None:
        columns.append(f"Adding Replicas: {_ids(reassignment.adding_replicas)}")
        columns.append(f"Removing Replicas: {_ids(reassignment.removing_replicas)}")
    # Eligible leader replicas are KRaft's.
    return "\t".join([*columns, "Elr: N/A", "LastKnownElr: N/A"])


def _ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))


_ACTIONS: dict[str, Callable[[Options, AdminClient], None]] = {
    "create": _create,
    "alter": _alter,
    "list": _list,
    "describe": _describe,
    "delete": _delete,
}
