"""kafka-topics.sh --zookeeper host:port[/chroot]: the tool of 2.8, which reads and writes ZooKeeper itself.

Role        Parses, connects, lists and describes; zookeeper_changes creates, alters and deletes. No broker is
            needed. Texts and exit codes are those of 2.8.
Invariants  Reading changes nothing: a chroot that does not exist counts as empty, and is not created.
Source      kafka.admin.TopicCommand of 2.8 (ZookeeperTopicService).
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from functools import partial

from kafka_zk.config.errors import ConfigException
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import NO_LEADER, TopicPartition, uuid_to_base64
from kafka_zk.tools.common.endings import exit_code_of
from kafka_zk.tools.common.java_output import (
    JavaError,
    hash_order,
    illegal_argument,
    log_error,
    show_warnings,
    stack_trace,
)
from kafka_zk.tools.common.options import Options, usage_of
from kafka_zk.tools.common.zookeeper_option import connected
from kafka_zk.tools.topics.options import (
    PARTITION_REPORTS,
    ZOOKEEPER_OPTIONS,
    check_for_zookeeper,
    check_one_connection,
    names_matching,
)
from kafka_zk.zk.entity_configs import entity_configs
from kafka_zk.zk.errors import NoNode, ZkError
from kafka_zk.zk.registration import live_broker_ids
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.topics import partition_leaderships, topic_assignments, topic_names, topics_marked_for_deletion
from kafka_zk.zk.znodes import PartitionLeadership, PartitionReplicas, TopicAssignment

LOGGER = "kafka.admin.TopicCommand$"
FAILURE_TEXT = "Error while executing topic command : "
# 2.8 kept these two in other packages.
_OLD_NAMES = {
    "org.apache.kafka.server.common.AdminCommandFailedException": "kafka.common.AdminCommandFailedException",
    "org.apache.kafka.server.common.AdminOperationException": "kafka.admin.AdminOperationException",
}


def main(arguments: Sequence[str]) -> int:
    show_warnings()
    return exit_code_of(
        lambda: _run(arguments),
        tool="topics",
        tell=_tell_as_thrown,
        usage=partial(usage_of, variant="zookeeper"),
        failures=(JavaError, ZkError),
    )


def _tell_as_thrown(error: Exception) -> None:
    print(f'Exception in thread "main" {_trace(error)}', end="", file=sys.stderr)


def _run(arguments: Sequence[str]) -> int:
    options = Options(ZOOKEEPER_OPTIONS, arguments)
    check_one_connection(options)
    check_for_zookeeper(options)
    with connected(options) as zk:
        try:
            _act(options, zk)
        except (JavaError, ConfigException, BrokerError) as error:
            print(f"{FAILURE_TEXT}{error}")
            log_error(LOGGER, _trace(error))
            return 1
    return 0


def _trace(error: BaseException) -> str:
    text = stack_trace(error)
    for new, old in _OLD_NAMES.items():
        text = text.replace(new, old)
    return text


def _act(options: Options, zk: ZkClient) -> None:
    if options.has("list"):
        _list(_topics(options, zk), zk)
    elif options.has("describe"):
        names = _topics(options, zk)
        _require_topics(names, options)
        _describe(names, options, zk)
    else:
        _change(options, zk)


def _change(options: Options, zk: ZkClient) -> None:
    from kafka_zk.tools.topics import zookeeper_changes as changes

    if options.has("create"):
        changes.create(options, zk)
        return
    names = _topics(options, zk)
    # 2.8 reads the values of --alter before it checks whether the topic exists.
    change = changes.read_change(options) if options.has("alter") else None
    _require_topics(names, options)
    if change is None:
        changes.delete(names, zk)
    else:
        changes.alter(names, change, zk)


def _require_topics(found: Sequence[str], options: Options) -> None:
    pattern = options.text("topic")
    if pattern is not None and not found and not options.has("if-exists"):
        raise illegal_argument(f"Topic '{pattern}' does not exist as expected")


def _topics(options: Options, zk: ZkClient) -> list[str]:
    return names_matching(
        sorted(all_topics(zk)), options.text("topic"), exclude_internal=options.has("exclude-internal")
    )


def all_topics(zk: ZkClient) -> list[str]:
    """Blocks. Every topic; empty if there is no cluster."""
    try:
        return topic_names(zk)
    except NoNode:
        return []


def _list(names: Sequence[str], zk: ZkClient) -> None:
    marked = set(topics_marked_for_deletion(zk))
    for name in names:
        print(f"{name} - marked for deletion" if name in marked else name)


# --- describe --------------------------------------------------------------------------------------------------------


def _describe(names: Sequence[str], options: Options, zk: ZkClient) -> None:
    live = _live_broker_ids(zk)
    marked = set(topics_marked_for_deletion(zk))
    assignments = topic_assignments(zk, names)
    configs = entity_configs(zk, [f"topics/{name}" for name in names])
    leaderships = partition_leaderships(
        zk, [TopicPartition(name, index) for name, topic in assignments.items() for index in topic.partitions]
    )
    only_partitions = any(map(options.has, PARTITION_REPORTS))
    only_overrides = options.has("topics-with-overrides")
    for name in names:
        topic = assignments.get(name)
        if topic is None:
            print(f"Topic {name} doesn't exist!")
            continue
        overrides = configs[f"topics/{name}"]
        mark = "\tMarkedForDeletion: true" if name in marked else ""
        if not only_partitions and (overrides or not only_overrides):
            print(_topic_line(name, topic, overrides) + mark)
        if only_overrides:
            continue
        for index, replicas in sorted(topic.partitions.items()):
            leadership = leaderships.get(TopicPartition(name, index))
            if _shows(options, leadership, replicas, live):
                print(_partition_line(name, index, replicas, leadership) + mark)


def _live_broker_ids(zk: ZkClient) -> set[int]:
    try:
        return set(live_broker_ids(zk))
    except NoNode:
        return set()


def _topic_line(name: str, topic: TopicAssignment, overrides: dict[str, str]) -> str:
    columns = [f"Topic: {name}"]
    if topic.topic_id is not None:
        columns.append(f"TopicId: {uuid_to_base64(topic.topic_id)}")
    factor = len(next(iter(topic.partitions.values())).replicas) if topic.partitions else 0
    shown = hash_order(overrides, len(overrides))
    columns += [
        f"PartitionCount: {len(topic.partitions)}",
        f"ReplicationFactor: {factor}",
        f"Configs: {','.join(f'{key}={overrides[key]}' for key in shown)}",
    ]
    return "\t".join(columns)


def _partition_line(topic: str, index: int, replicas: PartitionReplicas, leadership: PartitionLeadership | None) -> str:
    leader = _leader(leadership)
    isr = leadership.isr if leadership else ()
    columns = [
        f"\tTopic: {topic}",
        f"Partition: {index}",
        f"Leader: {'none' if leader is None else leader}",
        f"Replicas: {','.join(map(str, replicas.replicas))}",
        f"Isr: {','.join(map(str, isr))}",
    ]
    return "\t".join(columns)


def _leader(leadership: PartitionLeadership | None) -> int | None:
    return None if leadership is None or leadership.leader == NO_LEADER else leadership.leader


def _shows(
    options: Options, leadership: PartitionLeadership | None, replicas: PartitionReplicas, live_brokers: Collection[int]
) -> bool:
    if not any(map(options.has, PARTITION_REPORTS)):
        return True
    isr_count = len(leadership.isr) if leadership else 0
    if options.has("under-replicated-partitions") and len(replicas.replicas) > isr_count:
        return True
    return options.has("unavailable-partitions") and _leader(leadership) not in live_brokers
