"""The CSV of --export and --from-file: topic,partition,offset of one group; the group before them of several.

Role        Pure, but for the reading of the file and the messages about unreadable lines.
Source      ConsumerGroupCommand.parseResetPlan, CsvUtils; Jackson's CsvMapper.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.java_files import read_file
from kafka_zk.tools.common.java_output import JavaError, illegal_argument, runtime_error, stack_trace
from kafka_zk.tools.common.java_values import java_integer, java_long, java_split
from kafka_zk.tools.common.options import Options

UNCHECKED_LENGTH = 24
_SAFE_FROM = "-"
_ONE_GROUP = ("topic", "partition", "offset")
_SEVERAL_GROUPS = ("group", *_ONE_GROUP)
_RECORDS = "org.apache.kafka.tools.consumer.group.CsvUtils$"
_SOURCE = "[Source: (StringReader)"
_NUMBERS = {"partition": ("int", java_integer), "offset": ("long", java_long)}

Plan = dict[str, dict[TopicPartition, int]]


def csv_line(group: Sequence[str], partition: TopicPartition, offset: int) -> str:
    """One line with its end. Jackson quotes texts that need it, and all long ones."""
    texts = [_quoted(text) for text in (*group, partition.topic)]
    return ",".join([*texts, str(partition.partition), str(offset)]) + "\n"


def _quoted(text: str) -> str:
    if len(text) <= UNCHECKED_LENGTH and all(character >= _SAFE_FROM for character in text):
        return text
    return '"' + text.replace('"', '""') + '"'


def read_plan(options: Options) -> Plan:
    """The plan in --from-file's file. Raises JavaError: a RuntimeException, an illegal argument."""
    path = options.text("from-file")
    assert path is not None, "the option was given"
    try:
        text = read_file(path)
    except JavaError as error:
        raise runtime_error(error) from error
    lines = java_split(text, "\n") if text else [""]
    groups = options.texts("group")
    is_old_format = _is_readable(lines)
    plan: Plan = {}
    for line in lines:
        try:
            if is_old_format and len(groups) == 1:
                values = [groups[0], *_record(line, _ONE_GROUP)]
            else:
                values = _record(line, _SEVERAL_GROUPS)
        except JavaError as error:
            raise runtime_error(error) from error
        group, topic, partition, offset = values
        if int(offset) < 0:
            raise illegal_argument("Invalid negative offset")
        plan.setdefault(str(group), {})[TopicPartition(str(topic), int(partition))] = int(offset)
    return plan


def _is_readable(lines: Sequence[str]) -> bool:
    """Whether the first line belongs to a plan for one group; errors in it go to stderr."""
    if not lines:
        return False
    try:
        _record(lines[0], _ONE_GROUP)
    except JavaError as error:
        print(stack_trace(error), end="", file=sys.stderr)
        return False
    return True


def _record(line: str, columns: Sequence[str]) -> list[str | int]:
    """The values of one line; numbers that are left out are 0. Raises JavaError."""
    if not line:
        raise JavaError(
            f"No content to map due to end-of-input\n at {_SOURCE}; line: UNKNOWN, column: UNKNOWN]",
            "com.fasterxml.jackson.databind.exc.MismatchedInputException",
        )
    # A line of the file ends at "\n" only; what follows another kind of line end in it is ignored.
    words = next(csv.reader(io.StringIO(line, newline="")), [])
    found: list[str | int] = []
    start = 1
    for index, column in enumerate(columns):
        word = words[index] if index < len(words) else ""
        found.append(_value(word, column, columns, start))
        start += len(word) + 1
    if len(words) > len(columns):
        extra = words[len(columns)]
        raise JavaError(
            f"Too many entries: expected at most {len(columns)} "
            f'(value #{len(columns)} ({len(extra)} chars) "{extra}")\n at {_SOURCE}; line: 1, column: {start}]',
            "com.fasterxml.jackson.dataformat.csv.CsvReadException",
        )
    return found


def _value(word: str, column: str, columns: Sequence[str], start: int) -> str | int:
    if column not in _NUMBERS:
        return word
    kind, parse = _NUMBERS[column]
    try:
        return parse(word.strip()) if word.strip() else 0
    except ValueError:
        record = "CsvRecordNoGroup" if tuple(columns) == _ONE_GROUP else "CsvRecordWithGroup"
        raise JavaError(
            f'Cannot deserialize value of type `{kind}` from String "{word}": not a valid `{kind}` value\n'
            f" at {_SOURCE}; line: 1, column: {start}] "
            f'(through reference chain: {_RECORDS}{record}["{column}"])',
            "com.fasterxml.jackson.databind.exc.InvalidFormatException",
        ) from None
