"""--reset-offsets: which offset each partition gets, shown, exported, and committed where --execute says so.

Role        Asks, prints, and commits.
Invariants  A group with members is left alone. No offset lies outside of its log.
Source      ConsumerGroupCommand: resetOffsets, prepareOffsetsToReset, checkOffsetsRange.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from kafka_zk.client.admin.group_results import ConsumerGroupDescription, ConsumerGroupState
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.java_output import (
    JavaError,
    awaited,
    hash_order,
    illegal_argument,
    partition_order,
    print_log_line,
    runtime_error,
)
from kafka_zk.tools.common.java_times import before, parse_date_time, parse_duration
from kafka_zk.tools.common.java_values import lowest_bits
from kafka_zk.tools.common.options import UsageError
from kafka_zk.tools.consumer_groups.options import SCENARIOS
from kafka_zk.tools.consumer_groups.output import print_error
from kafka_zk.tools.consumer_groups.questions import Questions, offsets_only, topic_partitions, wrapped
from kafka_zk.tools.consumer_groups.reset_plan import csv_line, read_plan

LOGGER = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
NO_OFFSET = -1
_MAY_BE_RESET = (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD)

Offsets = dict[TopicPartition, int]


def reset_offsets(questions: Questions) -> None:
    """Blocks. Raises JavaError, UsageError, OptionError."""
    groups = questions.groups()
    prepared: dict[str, Offsets] = {}
    for group, description in questions.descriptions(groups).items():
        prepared[group] = _reset_group(questions, group, description)
    ordered = {group: prepared[group] for group in hash_order(prepared)}
    if questions.options.has("export"):
        is_single = len(questions.options.texts("group")) == 1
        lines = [
            csv_line(() if is_single else (group,), partition, offset)
            for group, offsets in ordered.items()
            for partition, offset in offsets.items()
        ]
        print("".join(lines))
        return
    # No line ends after a row: as in 3.9.
    if ordered:
        print("\n" + _row("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), end="")
    for group, offsets in ordered.items():
        for partition, offset in offsets.items():
            print(_row(group, partition.topic, str(partition.partition), str(offset)), end="")


def _row(group: str, topic: str, partition: str, offset: str) -> str:
    return f"{group:30} {topic:30} {partition:10} {offset:15}"


def _reset_group(
    questions: Questions, group: str, description: ConsumerGroupDescription | BrokerError | KafkaException
) -> Offsets:
    """Blocks. What the group gets; nothing while it has members."""
    if isinstance(description, BrokerError | KafkaException):
        failure = awaited(description)
        raise runtime_error(failure) from failure
    if description.state not in _MAY_BE_RESET:
        print_error(
            f"Assignments can only be reset if the group '{group}' is inactive, "
            f"but the current state is {description.state}."
        )
        return {}
    partitions = wrapped(lambda: _partitions(questions, group))
    offsets = _prepared(questions, group, partitions)
    if questions.options.has("execute") and not questions.options.has("dry-run"):
        try:
            questions.admin.alter_consumer_group_offsets(group, offsets, timeout_ms=questions.timeout_ms)
        except (BrokerError, KafkaException) as error:
            failure = awaited(error)
            raise runtime_error(failure) from failure
    return {partition: offsets[partition] for partition in partition_order(offsets)}


def _partitions(questions: Questions, group: str) -> list[TopicPartition]:
    """Blocks. Those in the scope of the options, those named with partitions first."""
    options = questions.options
    if options.has("all-topics"):
        return list(questions.committed(group))
    if options.has("topic"):
        topics = options.texts("topic")
        named = [each for topic in topics if ":" in topic for each in topic_partitions(topic)]
        whole = [topic for topic in topics if ":" not in topic]
        return named + (questions.partitions_of(whole) if whole else [])
    if not options.has("from-file"):
        raise UsageError("One of the reset scopes should be defined: --all-topics, --topic.")
    return []


# --- scenarios -------------------------------------------------------------------------------------------------------


def _prepared(questions: Questions, group: str, partitions: Sequence[TopicPartition]) -> Offsets:
    """Blocks. The new offset of each partition, by the scenario that was given."""
    for scenario, prepare in _SCENARIOS.items():
        if questions.options.has(scenario):
            return prepare(questions, group, partitions)
    listed = ", ".join(f"[{scenario}]" for scenario in SCENARIOS)
    raise UsageError(f"Option '[reset-offsets]' requires one of the following scenarios: [{listed}]")


def _to_offset(questions: Questions, group: str, partitions: Sequence[TopicPartition]) -> Offsets:
    offset = questions.options.long("to-offset")
    assert offset is not None, "the option was given"
    return _within_the_log(questions, _once_each(partitions, lambda _: offset))


def _to_earliest(questions: Questions, group: str, partitions: Sequence[TopicPartition]) -> Offsets:
    return questions.log_start_offsets(_once_each(partitions, _spec_of("Earliest")))


def _to_latest(questions: Questions, group: str, partitions: Sequence[TopicPartition]) -> Offsets:
    return questions.log_end_offsets(_once_each(partitions, _spec_of("Latest")))


def _shift_by(questions: Questions, group: str, partitions: Sequence[TopicPartition]) -> Offsets:
    committed = questions.committed(group)

    def shifted(partition: TopicPartition) -> int:
        shift = questions.options.long("shift-by")
        assert shift is not None, "the option was given"
        if partition not in committed:
            raise illegal_argument(
                f"Cannot shift offset for partition {partition} since there is no current committed offset"
            )
        return lowest_bits(committed[partition].offset + shift, 64)

    return _within_the_log(questions, _once_each(partitions, shifted))


def _to_date_time(questions: Questions, group: str, partitions: Sequence[TopicPartition]) -> Offsets:
    text = questions.options.text("to-datetime")
    assert text is not None, "the option was given"
    try:
        time_ms = parse_date_time(text)
    except JavaError as error:
        raise runtime_error(error) from error
    return _by_time(questions, partitions, time_ms)


def _by_duration(questions: Questions, group: str, partitions: Sequence[TopicPartition]) -> Offsets:
    text = questions.options.text("by-duration")
    assert text is not None, "the option was given"
    return _by_time(questions, partitions, before(time.time_ns(), parse_duration(text)))


def _by_time(questions: Questions, partitions: Sequence[TopicPartition], time_ms: int) -> Offsets:
    found = questions.log_offsets(_once_each(partitions, _spec_of("Timestamp")), time_ms)
    without = [partition for partition, offset in found.items() if offset == NO_OFFSET]
    for topic, number in without:
        print(f"\nWarn: Partition {number} from topic {topic} is empty. Falling back to latest known offset.")
    return {**found, **questions.log_end_offsets(without)}


def _from_file(questions: Questions, group: str, partitions: Sequence[TopicPartition]) -> Offsets:
    # Apache's tool reads the file twice, and reports unreadable lines twice.
    read_plan(questions.options)
    plan = read_plan(questions.options).get(group)
    if plan is None:
        print_error(f"No reset plan for group {group} found")
        return {}
    return _within_the_log(questions, {partition: plan[partition] for partition in partition_order(plan)})


def _to_current(questions: Questions, group: str, partitions: Sequence[TopicPartition]) -> Offsets:
    committed = offsets_only(questions.committed(group))
    kept = _once_each([each for each in partitions if each in committed], committed.__getitem__)
    return {**kept, **questions.log_end_offsets(each for each in partitions if each not in committed)}


_Prepare = Callable[[Questions, str, Sequence[TopicPartition]], Offsets]
_SCENARIOS: Mapping[str, _Prepare] = {
    "to-offset": _to_offset,
    "to-earliest": _to_earliest,
    "to-latest": _to_latest,
    "shift-by": _shift_by,
    "to-datetime": _to_date_time,
    "by-duration": _by_duration,
    "from-file": _from_file,
    "to-current": _to_current,
}


def _once_each(partitions: Iterable[TopicPartition], value: Callable[[TopicPartition], object]) -> Offsets:
    """Java collects them into a map, which refuses duplicate keys. Raises JavaError."""
    found: dict[TopicPartition, int] = {}
    for partition in partitions:
        offset = value(partition)
        if partition in found:
            raise JavaError(
                f"Duplicate key {partition} (attempted merging values {found[partition]} and {offset})",
                "java.lang.IllegalStateException",
            )
        found[partition] = offset  # type: ignore[assignment]  # a number, or what stands for it in that sentence
    return {partition: found[partition] for partition in partition_order(found)}


def _spec_of(name: str) -> Callable[[TopicPartition], object]:
    """What Java has in place of a number, as it would be printed."""
    return lambda _: f"org.apache.kafka.clients.admin.OffsetSpec${name}Spec"


def _within_the_log(questions: Questions, wanted: Mapping[TopicPartition, int]) -> Offsets:
    """Blocks. `wanted`, limited to the log's start and end."""
    starts = questions.log_start_offsets(wanted)
    ends = questions.log_end_offsets(wanted)
    found: Offsets = {}
    for partition, offset in wanted.items():
        found[partition] = max(starts[partition], min(offset, ends[partition]))
        if offset > ends[partition]:
            found[partition] = ends[partition]
            _warn(offset, "higher than latest", partition, ends[partition])
        elif offset < starts[partition]:
            _warn(offset, "lower than earliest", partition, starts[partition])
    return found


def _warn(offset: int, where: str, partition: TopicPartition, value: int) -> None:
    text = f"New offset ({offset}) is {where} offset for topic partition {partition}. Value will be set to {value}"
    print_log_line("WARN", text, LOGGER)
