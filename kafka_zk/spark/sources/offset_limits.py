"""Where a query starts and ends: the options starting... and ending..., resolved per partition.

Role        Pure. A limit says what to look up; the caller asks the cluster or the indexes of segments.
Source      Spark 4.2 KafkaSourceProvider.getKafkaOffsetRangeLimit, JsonUtils.partitionOffsets, KafkaOffsetReaderAdmin.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.sources.errors import SourceOptionError
from kafka_zk.spark.whole_number import whole_number

LATEST = -1
EARLIEST = -2
NOT_FOUND = -1
"""The offset of a look-up by time where no record is as late."""


class Side(enum.Enum):
    STARTING = "starting"
    ENDING = "ending"


class Kind(enum.Enum):
    LATEST = "latest"
    EARLIEST = "earliest"
    OFFSETS = "offsets"
    TIMESTAMPS = "timestamps"


@dataclass(frozen=True, slots=True)
class OffsetLimit:
    """One side of a range. `numbers` are offsets (or LATEST, EARLIEST) or times in ms; `timestamp` is for all."""

    side: Side
    kind: Kind
    option: str
    numbers: Mapping[TopicPartition, int] = field(default_factory=dict)
    timestamp: int | None = None
    falls_back_to_latest: bool = True
    """What a time behind the last record means; else it is an error."""

    def look_ups(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """What to look up: LATEST, EARLIEST or a time. Specific offsets need no look-up.

        Raises SourceOptionError where the option names other partitions than there are.
        """
        if self.kind is Kind.LATEST:
            return dict.fromkeys(partitions, LATEST)
        if self.kind is Kind.EARLIEST:
            return dict.fromkeys(partitions, EARLIEST)
        if self.timestamp is not None:
            return dict.fromkeys(partitions, self.timestamp)
        self._check_names(partitions)
        if self.kind is Kind.TIMESTAMPS:
            return {partition: self.numbers[partition] for partition in partitions}
        return {partition: self.numbers[partition] for partition in partitions if self.numbers[partition] < 0}

    def resolve(
        self, partition: TopicPartition, answers: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]
    ) -> int:
        """The offset for one partition, from what the look-ups answered and where the log ends.

        Raises SourceOptionError where no record is as late as a starting time.
        """
        if partition not in answers:
            return self.numbers[partition]
        found = answers[partition]
        if found != NOT_FOUND or self.kind is not Kind.TIMESTAMPS:
            return found
        if self.falls_back_to_latest:
            return latest[partition]
        timestamp = self.numbers.get(partition, self.timestamp)
        raise SourceOptionError(
            f"Partition {partition} has no record at or after timestamp {timestamp} of the option {self.option}; "
            "startingOffsetsByTimestampStrategy=latest would start at its end."
        )

    def _check_names(self, partitions: Collection[TopicPartition]) -> None:
        if set(partitions) == set(self.numbers):
            return
        raise SourceOptionError(
            f"The option {self.option} must name every partition that is read (-1 is latest, -2 earliest); it names "
            f"{', '.join(map(str, sorted(self.numbers)))}, but read are {', '.join(map(str, sorted(partitions)))}."
        )


def read_limit(options: Mapping[str, str], side: Side, default: Kind) -> OffsetLimit:
    """The limit that options say. `options` look their names up without regard to case. Raises SourceOptionError."""
    falls_back = side is Side.ENDING or _strategy(options) == "latest"
    name = f"{side.value}Timestamp"
    if name in options:
        timestamp = _number(name, options[name])
        return OffsetLimit(side, Kind.TIMESTAMPS, name, timestamp=timestamp, falls_back_to_latest=falls_back)
    name = f"{side.value}OffsetsByTimestamp"
    if name in options:
        numbers = _read_numbers(name, options[name])
        if any(number < 0 for number in numbers.values()):
            raise SourceOptionError(f"The option {name} has a time before 1970.")
        return OffsetLimit(side, Kind.TIMESTAMPS, name, numbers, falls_back_to_latest=falls_back)
    name = f"{side.value}Offsets"
    text = options.get(name, default.value).strip()
    if text.lower() in (Kind.LATEST.value, Kind.EARLIEST.value):
        return OffsetLimit(side, Kind(text.lower()), name)
    return OffsetLimit(side, Kind.OFFSETS, name, _read_numbers(name, text))


def check_batch_limits(start: OffsetLimit, end: OffsetLimit) -> None:
    """A batch query reads from where something is to where it ends. Raises SourceOptionError."""
    if start.kind is Kind.LATEST:
        raise SourceOptionError("The option startingOffsets can't be latest in a batch query.")
    if end.kind is Kind.EARLIEST:
        raise SourceOptionError("The option endingOffsets can't be earliest in a batch query.")
    for limit, number, word in ((start, LATEST, "latest"), (end, EARLIEST, "earliest")):
        wrong = [each for each, offset in limit.numbers.items() if limit.kind is Kind.OFFSETS and offset == number]
        if wrong:
            raise SourceOptionError(f"The option {limit.option} for {wrong[0]} can't be {word} in a batch query.")


def _strategy(options: Mapping[str, str]) -> str:
    strategy = options.get("startingOffsetsByTimestampStrategy", "error").strip().lower()
    if strategy not in ("error", "latest"):
        raise SourceOptionError(
            f"The option startingOffsetsByTimestampStrategy must be error or latest, not {strategy}."
        )
    return strategy


def _number(name: str, text: str) -> int:
    number = whole_number(text)
    if number is None or number < 0:
        raise SourceOptionError(f"The option {name} must be a time in ms since 1970, not {text!r}.")
    return number


def _read_numbers(name: str, text: str) -> dict[TopicPartition, int]:
    numbers = parse_partition_numbers(text)
    if numbers is None:
        raise SourceOptionError(
            f'The option {name} must be earliest, latest or JSON like {{"topicA":{{"0":23,"1":-1}}}}, not {text}'
            if name.endswith("Offsets")
            else f'The option {name} must be JSON like {{"topicA":{{"0":1000,"1":1000}}}}, not {text}'
        )
    return numbers


def parse_partition_numbers(text: str) -> dict[TopicPartition, int] | None:
    """{"topic": {"partition": number}} read; None for anything else."""
    try:
        content = json.loads(text)
        return {
            TopicPartition(topic, int(index)): number
            for topic, numbers in content.items()
            for index, number in numbers.items()
            if _is_number(number)
        }
    except (ValueError, AttributeError):
        return None


def _is_number(number: object) -> bool:
    if type(number) is not int or number < EARLIEST:
        raise ValueError(number)
    return True
