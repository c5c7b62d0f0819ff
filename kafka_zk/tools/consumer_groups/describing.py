"""--list and --describe: groups, their offsets and lag, their members, their states, in columns.

Role        Asks and prints.
Source      ConsumerGroupCommand: listGroups, describeGroups and what they call.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from kafka_zk.client.admin.group_results import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    ConsumerGroupState,
    GroupType,
    MemberDescription,
)
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.java_output import illegal_argument, partition_order, utf16_order
from kafka_zk.tools.consumer_groups.output import print_error
from kafka_zk.tools.consumer_groups.questions import Questions

MISSING = "-"
_REBALANCING = (
    ConsumerGroupState.PREPARING_REBALANCE,
    ConsumerGroupState.COMPLETING_REBALANCE,
    ConsumerGroupState.ASSIGNING,
    ConsumerGroupState.RECONCILING,
)
_NARROWEST = 15

# --- list ------------------------------------------------------------------------------------------------------------


def list_groups(questions: Questions) -> None:
    """Blocks. Raises JavaError."""
    options = questions.options
    if not options.has("type") and not options.has("state"):
        for group in questions.all_groups():
            print(group)
        return
    types = types_from(options.text("type"))
    states = states_from(options.text("state"))
    _print_listings(questions.listings(types, states), with_type=options.has("type"), with_state=options.has("state"))


def states_from(text: str | None) -> list[ConsumerGroupState]:
    """--state's value; none for no value. Raises JavaError."""
    return _named(ConsumerGroupState, text, "Invalid state list '{}'. Valid states are: {}")


def types_from(text: str | None) -> list[GroupType]:
    """--type's value; none for no value. Raises JavaError."""
    return _named(GroupType, text, "Invalid types list '{}'. Valid types are: {}")


Named = TypeVar("Named", ConsumerGroupState, GroupType)


def _named(kind: type[Named], text: str | None, refusal: str) -> list[Named]:
    if not text:
        return []
    found = list(dict.fromkeys(kind.parse(word.strip()) for word in text.split(",")))
    if kind.UNKNOWN in found:
        valid = ", ".join(str(each) for each in kind if each is not kind.UNKNOWN)
        raise illegal_argument(refusal.format(text, valid))
    return found


def _print_listings(groups: Sequence[ConsumerGroupListing], *, with_type: bool, with_state: bool) -> None:
    width = 10 + max([_NARROWEST, *(len(group.group_id) for group in groups)])
    rows = [("GROUP", "TYPE", "STATE")]
    rows += [
        (group.group_id, str(group.type or GroupType.UNKNOWN), str(group.state or ConsumerGroupState.UNKNOWN))
        for group in groups
    ]
    for group_id, type_name, state in rows:
        columns = [f"{group_id:{width}}"]
        columns += [f"{type_name:20}"] if with_type else []
        columns += [f"{state:20}"] if with_state else []
        print(" ".join(columns))


# --- describe --------------------------------------------------------------------------------------------------------


def describe_groups(questions: Questions) -> None:
    """Blocks. Raises JavaError, KafkaException."""
    options = questions.options
    described = questions.described(questions.groups())
    if not options.has("members") and not options.has("state"):
        rows = {name: _offset_rows(questions, group) for name, group in described.items()}
        for name in sorted(described, key=utf16_order):
            _print_offsets(described[name], rows[name])
        return
    for name in sorted(described, key=utf16_order):
        if options.has("members"):
            _print_members(described[name], verbose=options.has("verbose"))
        else:
            _print_state(described[name])


def _is_shown(group: ConsumerGroupDescription, row_count: int) -> bool:
    """Whether there is anything to show of the group; prints a note if its state is special."""
    name = group.group_id
    if group.state is ConsumerGroupState.DEAD:
        print_error(f"Consumer group '{name}' does not exist.")
    elif group.state is ConsumerGroupState.EMPTY:
        print(f"\nConsumer group '{name}' has no active members.", file=sys.stderr)
    elif group.state in _REBALANCING:
        print(f"\nWarning: Consumer group '{name}' is rebalancing.", file=sys.stderr)
    elif group.state is not ConsumerGroupState.STABLE:
        raise KafkaException(f"Expected a valid consumer group state, but found '{group.state}'.")
    return group.state is not ConsumerGroupState.DEAD and row_count > 0


class _OffsetRow(NamedTuple):
    group: str
    topic: str
    partition: str
    current_offset: str
    log_end_offset: str
    lag: str
    consumer_id: str
    host: str
    client_id: str


_OFFSETS_HEADER = _OffsetRow(
    "GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"
)


def _offset_rows(questions: Questions, group: ConsumerGroupDescription) -> list[_OffsetRow]:
    """Blocks. The partitions of each member, the one with most partitions first, then the unassigned ones."""
    committed = questions.committed(group.group_id)
    rows: list[_OffsetRow] = []
    assigned: set[TopicPartition] = set()

    def add(partitions: Sequence[TopicPartition], consumer_id: str, host: str, client_id: str) -> None:
        ends = questions.log_end_offsets(sorted(partitions, key=lambda each: each.partition))
        for partition, end in ends.items():
            offset = committed[partition].offset if partition in committed else None
            rows.append(
                _OffsetRow(
                    group.group_id,
                    partition.topic,
                    str(partition.partition),
                    MISSING if offset is None else str(offset),
                    str(end),
                    MISSING if offset is None else str(end - offset),
                    consumer_id,
                    host,
                    client_id,
                )
            )

    for member in sorted(group.members, key=lambda member: -len(member.assignment)):
        if member.assignment:
            assigned.update(member.assignment)
            add(partition_order(member.assignment), member.member_id, member.host, member.client_id)
    unassigned = [partition for partition in committed if partition not in assigned]
    if unassigned:
        add(unassigned, MISSING, MISSING, MISSING)
    return rows


def _print_offsets(group: ConsumerGroupDescription, rows: Sequence[_OffsetRow]) -> None:
    if not _is_shown(group, len(rows)):
        return

    def width(column: int) -> int:
        return max(_NARROWEST, *(len(row[column]) for row in rows))

    widths = (width(0), width(1), 10, 15, 15, 15, width(6), width(7), 0)
    for row in (_OFFSETS_HEADER, *rows):
        print("\n" + _line(row, widths), end="")


def _print_members(group: ConsumerGroupDescription, *, verbose: bool) -> None:
    rows = [_member_columns(group.group_id, member) for member in group.members]
    header = ("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS")
    widths = [_NARROWEST, _NARROWEST, 17, _NARROWEST, _NARROWEST, _NARROWEST]
    shown = _is_shown(group, len(rows))
    if shown:
        widths[:5] = [max(width, *(len(row[index]) for row in rows)) for index, width in enumerate(widths[:5])]
    columns = [0, 1, 2, 3, 4, 5] if shown and any(row[2] for row in rows) else [0, 1, 3, 4, 5]

    def line(row: Sequence[str]) -> str:
        return _line([row[index] for index in columns], [widths[index] for index in columns]) + " "

    print("\n" + line(header) + ("ASSIGNMENT" if verbose else ""))
    for member, row in zip(group.members, rows, strict=True):
        print(line(row) + (_assignment_text(member) if verbose else ""))


def _member_columns(group: str, member: MemberDescription) -> tuple[str, ...]:
    instance = member.group_instance_id or ""
    return (group, member.member_id, instance, member.host, member.client_id, str(len(member.assignment)))


def _assignment_text(member: MemberDescription) -> str:
    by_topic: dict[str, list[str]] = {}
    for topic, number in member.assignment:
        by_topic.setdefault(topic, []).append(str(number))
    lists = sorted(f"({','.join(sorted(numbers))})" for numbers in by_topic.values())
    return ", ".join(lists) if lists else MISSING


def _print_state(group: ConsumerGroupDescription) -> None:
    if not _is_shown(group, 1):
        return
    node = group.coordinator
    coordinator = f"{node.host}:{node.port}  ({node.id})"
    widths = (max(25, len(coordinator)), 25, 20, 15, 0)
    header = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
    row = (group.group_id, coordinator, group.partition_assignor, str(group.state), str(len(group.members)))
    print("".join("\n" + _line(each, widths) for each in (header, row)))


def _line(columns: Sequence[str], widths: Sequence[int]) -> str:
    return " ".join(f"{column:{width or 1}}" for column, width in zip(columns, widths, strict=True))
