"""Resets input topics to the requested offsets and intermediate topics to their ends.

Role        Asks and prints, through a consumer of the application's group.
Source      StreamsResetter: maybeResetInputAndSeekToEndIntermediateTopicOffsets and what it calls.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.java_files import read_file
from kafka_zk.tools.common.java_output import JavaError, hash_order, partition_order
from kafka_zk.tools.common.java_times import before, parse_date_time, parse_duration
from kafka_zk.tools.common.java_values import java_integer, java_long, java_split, lowest_bits
from kafka_zk.tools.common.options import Options
from kafka_zk.tools.streams_application_reset.options import application_id

NOT_FOUND = 1
_UNBOXED_NULL = (
    'Cannot invoke "java.lang.Long.longValue()" because the return value of "java.util.Map.get(Object)" is null'
)


def reset_and_seek(options: Options, properties: Mapping[str, str], all_topics: Collection[str]) -> int:
    """Blocks. The exit code: 1 if a topic is missing. Raises JavaError, and what a consumer raises."""
    inputs, intermediates = options.texts("input-topics"), options.texts("intermediate-topics")
    if not inputs and not intermediates:
        print("No input or intermediate topics specified. Skipping seek.")
        return 0
    if inputs:
        print(f"Reset-offsets for input topics [{', '.join(inputs)}]")
    if intermediates:
        print(f"Seek-to-end for intermediate topics [{', '.join(intermediates)}]")
    code = 0
    # The space that is missing after the second "Topic:" is missing in Apache's too.
    for kind, topics, prefix in (("input", inputs, "Topic: "), ("intermediate", intermediates, "Topic:")):
        missing = [topic for topic in topics if topic not in all_topics]
        if missing:
            print(f"Following {kind} topics are not found, skipping them")
            print("".join(f"{prefix}{topic}\n" for topic in missing), end="")
            code = NOT_FOUND
    wanted = hash_order(
        (topic for topic in (*inputs, *intermediates) if topic in all_topics), len(inputs) + len(intermediates)
    )
    if wanted:
        _seek(options, properties, wanted)
        print("Done.")
    return code


def _seek(options: Options, properties: Mapping[str, str], topics: Sequence[str]) -> None:
    consumer = KafkaConsumer(
        {
            **properties,
            "group.id": application_id(options),
            "enable.auto.commit": False,
            "key.deserializer": "ByteArrayDeserializer",
            "value.deserializer": "ByteArrayDeserializer",
        }
    )
    try:
        partitions = [TopicPartition(topic, number) for topic in topics for number in consumer.partitions_for(topic)]
        consumer.assign(partitions)
        inputs = partition_order(each for each in partitions if each.topic in options.texts("input-topics"))
        intermediates = partition_order(each for each in partitions if each not in inputs)
        if inputs:
            _reset(options, consumer, inputs)
        if intermediates:
            _seek_to_end(options, consumer, intermediates)
        if not options.has("dry-run"):
            for partition in partitions:
                consumer.position(partition)
            consumer.commit_sync()
    except _ParseError:
        print("ERROR: Resetting offsets failed.", file=sys.stderr)
        raise
    finally:
        consumer.close()


def _seek_to_end(options: Options, consumer: KafkaConsumer, partitions: Sequence[TopicPartition]) -> None:
    group = application_id(options)
    print(f"Following intermediate topics offsets will be reset to end (for consumer group {group})")
    for partition in partitions:
        print(f"Topic: {partition.topic}")
    consumer.seek_to_end(partitions)


def _reset(options: Options, consumer: KafkaConsumer, partitions: Sequence[TopicPartition]) -> None:
    group = application_id(options)
    print(f"Following input topics offsets will be reset to (for consumer group {group})")
    scenario = next((name for name in _SCENARIOS if options.has(name)), "to-earliest")
    _SCENARIOS[scenario](options, consumer, partitions)
    for partition in partitions:
        position = consumer.position(partition)
        print(f"Topic: {partition.topic} Partition: {partition.partition} Offset: {position}")


# --- scenarios -------------------------------------------------------------------------------------------------------


class _ParseError(JavaError):
    """An exception that Java's method declares: it is printed twice."""


def _to_offset(options: Options, consumer: KafkaConsumer, partitions: Sequence[TopicPartition]) -> None:
    offset = options.long("to-offset")
    assert offset is not None, "the option was given"
    _seek_within(consumer, partitions, dict.fromkeys(_sized_order(partitions), offset))


def _to_earliest(options: Options, consumer: KafkaConsumer, partitions: Sequence[TopicPartition]) -> None:
    consumer.seek_to_beginning(partitions)


def _to_latest(options: Options, consumer: KafkaConsumer, partitions: Sequence[TopicPartition]) -> None:
    consumer.seek_to_end(partitions)


def _shift_by(options: Options, consumer: KafkaConsumer, partitions: Sequence[TopicPartition]) -> None:
    shift = options.long("shift-by")
    assert shift is not None, "the option was given"
    wanted = {partition: lowest_bits(consumer.position(partition) + shift, 64) for partition in partitions}
    _seek_within(consumer, partitions, {partition: wanted[partition] for partition in _sized_order(partitions)})


def _to_date_time(options: Options, consumer: KafkaConsumer, partitions: Sequence[TopicPartition]) -> None:
    text = options.text("to-datetime")
    assert text is not None, "the option was given"
    try:
        time_ms = parse_date_time(text)
    except JavaError as error:
        raise _ParseError(str(error), error.java_class) from None
    _seek_to_time(consumer, partitions, time_ms)


def _by_duration(options: Options, consumer: KafkaConsumer, partitions: Sequence[TopicPartition]) -> None:
    text = options.text("by-duration")
    assert text is not None, "the option was given"
    _seek_to_time(consumer, partitions, before(time.time_ns(), parse_duration(text)))


def _from_file(options: Options, consumer: KafkaConsumer, partitions: Sequence[TopicPartition]) -> None:
    path = options.text("from-file")
    assert path is not None, "the option was given"
    try:
        text = read_file(path)
    except JavaError as error:
        raise _ParseError(str(error), error.java_class) from error.__cause__
    _seek_within(consumer, partitions, plan_from(text))


_SCENARIOS: Mapping[str, Callable[[Options, KafkaConsumer, Sequence[TopicPartition]], None]] = {
    "to-offset": _to_offset,
    "to-earliest": _to_earliest,
    "to-latest": _to_latest,
    "shift-by": _shift_by,
    "to-datetime": _to_date_time,
    "by-duration": _by_duration,
    "from-file": _from_file,
}


def plan_from(text: str) -> dict[TopicPartition, int]:
    """topic,partition,offset a line. Raises JavaError."""
    if not text:
        raise _ParseError("Error parsing reset plan CSV file. It is empty,", "java.text.ParseException")
    found: dict[TopicPartition, int] = {}
    for line in java_split(text, "\n"):
        parts = java_split(line, ",")
        if len(parts) != 3:
            raise _ParseError(
                "Reset plan CSV file is not following the format `TOPIC,PARTITION,OFFSET`.", "java.text.ParseException"
            )
        try:
            found[TopicPartition(parts[0], java_integer(parts[1]))] = java_long(parts[2])
        except ValueError as error:
            raise JavaError(str(error), "java.lang.NumberFormatException") from None
    return {partition: found[partition] for partition in partition_order(found)}


def _sized_order(partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
    """A map made for exactly that many partitions."""
    return partition_order(partitions, len(partitions))


def _seek_to_time(consumer: KafkaConsumer, partitions: Sequence[TopicPartition], time_ms: int) -> None:
    found = consumer.offsets_for_times(dict.fromkeys(partitions, time_ms))
    for partition in partitions:
        offset = found.get(partition)
        if offset is not None:
            consumer.seek(partition, offset.offset)
            continue
        consumer.seek_to_end([partition])
        print(
            f"Partition {partition.partition} from topic {partition.topic} is empty, without a committed record. "
            "Falling back to latest known offset."
        )


def _seek_within(
    consumer: KafkaConsumer, partitions: Sequence[TopicPartition], wanted: Mapping[TopicPartition, int]
) -> None:
    """Blocks. Seek to `wanted`, limited to the log's start and end."""
    ends, starts = consumer.end_offsets(partitions), consumer.beginning_offsets(partitions)
    found = {}
    for partition, offset in wanted.items():
        if partition not in ends:
            raise JavaError(_UNBOXED_NULL, "java.lang.NullPointerException")
        start, end = starts[partition], ends[partition]
        if offset >= end:
            print(f"New offset ({offset}) is higher than latest offset. Value will be set to {end}")
        elif offset <= start:
            print(f"New offset ({offset}) is lower than earliest offset. Value will be set to {start}")
        found[partition] = end if offset >= end else max(offset, start)
    for partition in partitions:
        if partition not in found:
            raise JavaError(_UNBOXED_NULL, "java.lang.NullPointerException")
        consumer.seek(partition, found[partition])
