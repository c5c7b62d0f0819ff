"""What processes saw of transactions on partitions, and which of it must not be: a checker in the manner of Jepsen.

Each value is sent once. A `Transaction` is what one process polled and sent between a begin and an end, as it saw it;
a poll outside of transactions is one that sent nothing. Offsets that nobody was told are None. Processes read committed
data from where they began, in the order of their transactions in the history, and `Began` again after a seek.

What is found follows from what was seen, whatever happened between: a transaction of UNKNOWN outcome counts as
committed once anybody has polled one of its values.
Source      Jepsen's workload for Kafka (jepsen.redpanda.workload.queue), but for what Kafka allows: writes of
            transactions may interleave (G0), and reads may lag behind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple


class Outcome(Enum):
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class Seen(NamedTuple):
    """A value in a partition."""

    partition: int
    offset: int | None
    value: str


@dataclass(frozen=True)
class Transaction:
    process: str
    polled: tuple[Seen, ...] = ()
    sent: tuple[Seen, ...] = ()
    outcome: Outcome = Outcome.COMMITTED


@dataclass(frozen=True)
class Began:
    """The process reads from a place of its choice from now on."""

    process: str


History = Sequence[Transaction | Began]


class Anomaly(NamedTuple):
    kind: str
    what: str


LOST_WRITE, ABORTED_READ, TWO_VALUES = "lost write", "aborted read", "two values at one offset"
BACKWARD_POLL, DUPLICATE, CYCLE = "backward poll", "duplicate", "cycle of information"
NEVER_SENT = "never sent"


def anomalies(history: History) -> list[Anomaly]:
    """All that must not be, by the kinds above; none in a sound history."""
    transactions = [each for each in history if isinstance(each, Transaction)]
    return [
        *_two_values_at_one_offset(transactions),
        *_duplicates(transactions),
        *_never_sent(transactions),
        *_aborted_reads(transactions),
        *_lost_writes(transactions),
        *_backward_polls(history),
        *_cycles(transactions),
    ]


def _all_seen(transactions: Sequence[Transaction]) -> Iterator[Seen]:
    for each in transactions:
        yield from each.polled
        yield from each.sent


def _polled(transactions: Sequence[Transaction]) -> set[str]:
    return {seen.value for each in transactions for seen in each.polled}


def _writers(transactions: Sequence[Transaction]) -> dict[str, int]:
    """The number of the transaction that sent each value."""
    return {seen.value: number for number, each in enumerate(transactions) for seen in each.sent}


def _two_values_at_one_offset(transactions: Sequence[Transaction]) -> Iterator[Anomaly]:
    values: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
    for partition, offset, value in _all_seen(transactions):
        if offset is not None:
            values[partition, offset].add(value)
    for place, found in values.items():
        if len(found) > 1:
            yield Anomaly(TWO_VALUES, f"{place}: {sorted(found)}")


def _duplicates(transactions: Sequence[Transaction]) -> Iterator[Anomaly]:
    places: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    for each in transactions:
        for partition, offset, value in each.polled:
            assert offset is not None, "a poll tells offsets"
            places[value].add((partition, offset))
    for value, found in places.items():
        if len(found) > 1:
            yield Anomaly(DUPLICATE, f"{value} is at {sorted(found)}")


def _never_sent(transactions: Sequence[Transaction]) -> Iterator[Anomaly]:
    for value in sorted(_polled(transactions) - _writers(transactions).keys()):
        yield Anomaly(NEVER_SENT, value)


def _aborted_reads(transactions: Sequence[Transaction]) -> Iterator[Anomaly]:
    polled = _polled(transactions)
    for each in transactions:
        if each.outcome is Outcome.ABORTED:
            for seen in each.sent:
                if seen.value in polled:
                    yield Anomaly(ABORTED_READ, f"{seen} of {each}")


def _lost_writes(transactions: Sequence[Transaction]) -> Iterator[Anomaly]:
    """Committed values that nobody polled, where somebody has polled what is behind them.

    Of a transaction that left one value to be seen, all others are committed, too, and so are those without an offset:
    the readers are expected to have come to the end.
    """
    polled = _polled(transactions)
    last: defaultdict[int, int] = defaultdict(lambda: -1)
    for each in transactions:
        for partition, offset, _ in each.polled:
            assert offset is not None, "a poll tells offsets"
            last[partition] = max(last[partition], offset)
    for each in transactions:
        is_seen = any(seen.value in polled for seen in each.sent)
        if each.outcome is Outcome.COMMITTED or (each.outcome is Outcome.UNKNOWN and is_seen):
            for seen in each.sent:
                if seen.value not in polled and (seen.offset is None or seen.offset < last[seen.partition]):
                    yield Anomaly(LOST_WRITE, f"{seen} of {each}")


def _backward_polls(history: History) -> Iterator[Anomaly]:
    positions: dict[tuple[str, int], int] = {}
    for each in history:
        if isinstance(each, Began):
            positions = {key: position for key, position in positions.items() if key[0] != each.process}
            continue
        for partition, offset, value in each.polled:
            assert offset is not None, "a poll tells offsets"
            before = positions.get((each.process, partition), -1)
            if offset <= before:
                yield Anomaly(BACKWARD_POLL, f"{each.process} polls {value} at {offset} of {partition} after {before}")
            positions[each.process, partition] = offset


def _cycles(transactions: Sequence[Transaction]) -> Iterator[Anomaly]:
    """The first cycle in which each transaction polled what the one before it sent (G1c); one may be its own."""
    writers = _writers(transactions)
    sources = {
        number: {writers[seen.value] for seen in each.polled if seen.value in writers}
        for number, each in enumerate(transactions)
    }
    try:
        TopologicalSorter(sources).prepare()
    except CycleError as error:
        yield Anomaly(CYCLE, " -> ".join(str(transactions[number]) for number in error.args[1]))
