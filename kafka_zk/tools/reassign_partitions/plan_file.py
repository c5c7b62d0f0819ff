"""The JSON files of kafka-reassign-partitions.sh: topics to move, and partitions with their new replicas.

Role        Pure. Refuses a file in Apache's words.
Source      ReassignPartitionsCommand: parseTopicsData, parsePartitionReassignmentData, parseExecuteAssignmentArgs,
            parseGenerateAssignmentArgs, formatAsReassignmentJson.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from kafka_zk.client.admin.log_dirs import Replica
from kafka_zk.java_hash import string_hash
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common import java_json
from kafka_zk.tools.common.java_output import JavaError, hash_order_by, partition_order
from kafka_zk.tools.common.java_values import drop_empty_tail, java_integer

VERSION = 1
ANY_LOG_DIR = "any"
Assignment = Mapping[TopicPartition, Sequence[int]]

T = TypeVar("T", bound=Hashable)


class Plan(NamedTuple):
    """What a file asks for: partitions in its order, maybe more than once, and replicas with a directory."""

    partitions: list[tuple[TopicPartition, list[int]]]
    log_dirs: dict[Replica, str]

    @property
    def topics(self) -> list[str]:
        return list(dict.fromkeys(partition.topic for partition, _ in self.partitions))


def failed(message: str) -> JavaError:
    return JavaError(message, "org.apache.kafka.server.common.AdminCommandFailedException")


def operation_failed(message: str) -> JavaError:
    return JavaError(message, "org.apache.kafka.server.common.AdminOperationException")


def read_plan(text: str) -> Plan:
    """Raises JavaError for what is no such file. Duplicates are left for `checked_for_execute`."""
    try:
        value = java_json.parsed_or_told(text)
    except JavaError as error:
        raise operation_failed(str(error)) from error
    entries = _entries(value, "partitions")
    plan = Plan([], {})
    for each in entries:
        fields = java_json.as_object(each)
        topic = java_json.as_string(java_json.field(fields, "topic"))
        index = java_json.as_integer(java_json.field(fields, "partition"))
        replicas = [*map(java_json.as_integer, java_json.as_list(java_json.field(fields, "replicas")))]
        log_dirs = [ANY_LOG_DIR] * len(replicas)
        if "log_dirs" in fields:
            log_dirs = [*map(java_json.as_string, java_json.as_list(fields["log_dirs"]))]
        partition = TopicPartition(topic, index)
        if len(replicas) != len(log_dirs):
            raise failed(
                f"Size of replicas list {java_list(replicas)} is different from size of log dirs list "
                f"{java_list(log_dirs)} for partition {partition}"
            )
        plan.partitions.append((partition, replicas))
        for broker_id, log_dir in zip(replicas, log_dirs, strict=True):
            if log_dir != ANY_LOG_DIR:
                plan.log_dirs[Replica(topic, index, broker_id)] = log_dir
    return plan


def checked_for_execute(plan: Plan) -> Assignment:
    """The new replicas of each partition. Raises JavaError for an empty list or a duplicate."""
    if not plan.partitions:
        raise failed("Partition reassignment list cannot be empty")
    if not all(replicas for _, replicas in plan.partitions):
        raise failed("Partition replica list cannot be empty")
    if twice := duplicates([partition for partition, _ in plan.partitions]):
        listed = ",".join(map(str, partition_order(twice)))
        raise failed(f"Partition reassignment contains duplicate topic partitions: {listed}")
    uneven = [(partition, number_order(duplicates(replicas))) for partition, replicas in plan.partitions]
    if any(numbers for _, numbers in uneven):
        listed = ". ".join(
            f"{partition} contains multiple entries for {','.join(map(str, numbers))}"
            for partition, numbers in uneven
            if numbers
        )
        raise failed(f"Partition replica lists may not contain duplicate entries: {listed}")
    return dict(plan.partitions)


def read_topics(text: str) -> list[str]:
    """The topics of --topics-to-move-json-file. Raises JavaError."""
    try:
        value = java_json.parsed(text)
    except ValueError:
        raise operation_failed("The input string is not a valid JSON") from None
    entries = map(java_json.as_object, _entries(value, "topics"))
    return [java_json.as_string(java_json.field(entry, "topic")) for entry in entries]


def checked_for_generate(text: str, broker_list: str) -> tuple[list[int], list[str]]:
    """The brokers and topics of --generate, each named once. Raises JavaError."""
    try:
        # An empty text is one empty number; only parts behind it are forgotten.
        brokers = [java_integer(word) for word in (drop_empty_tail(broker_list.split(",")) if broker_list else [""])]
    except ValueError as error:
        raise JavaError(str(error), "java.lang.NumberFormatException") from None
    if twice := duplicates(brokers):
        raise failed(f"Broker list contains duplicate entries: {java_list(number_order(twice))}")
    topics = read_topics(text)
    if named_twice := duplicates(topics):
        named_twice = hash_order_by(named_twice, string_hash)
        raise failed(f"List of topics to reassign contains duplicate entries: {java_list(named_twice)}")
    return brokers, topics


def _entries(value: Any, name: str) -> list[Any]:
    document = java_json.as_object(value)
    version = java_json.as_integer(document["version"]) if "version" in document else VERSION
    if version != VERSION:
        raise operation_failed(f"Not supported version field value {version}")
    return java_json.as_array(document[name]) if name in document else []


def plan_text(assignment: Assignment, log_dir_of: Callable[[Replica], str] = lambda _: ANY_LOG_DIR) -> str:
    """The JSON of an assignment, partitions in order, as Jackson writes it."""
    partitions = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "replicas": [*assignment[partition]],
            "log_dirs": [log_dir_of(Replica(*partition, broker_id)) for broker_id in assignment[partition]],
        }
        for partition in in_order(assignment)
    ]
    return json.dumps({"version": VERSION, "partitions": partitions}, separators=(",", ":"), ensure_ascii=False)


# --- orders and lists as Java has them --------------------------------------------------------------------------------


def in_order(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """By topic, then by number."""
    return sorted(partitions, key=lambda each: (each.topic.encode("utf-16-be", "surrogatepass"), each.partition))


def duplicates(items: Iterable[T]) -> list[T]:
    """Those that occur more than once, each once, in the order of their second occurrence."""
    seen: set[T] = set()
    found: dict[T, None] = {}
    for item in items:
        if item in seen:
            found[item] = None
        seen.add(item)
    return list(found)


def number_order(numbers: Iterable[int]) -> list[int]:
    """As a HashSet walks over them."""
    return hash_order_by(numbers, lambda number: number & 0xFFFFFFFF)


def java_list(items: Iterable[object]) -> str:
    return f"[{', '.join(map(str, items))}]"
