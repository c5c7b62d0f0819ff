"""Which of the records sent under a producer id are in a log, and where.

Role        Pure.
Rule        Records are sent with the sequences 0, 1, 2 ... in order, so a leader has appended exactly a prefix of them.
            A batch keeps its sequences when the cleaner removes records or all of it before a later one: what the
            sequences show was appended, even if its offset is no longer known. The last batch of a producer is
            kept until the producer expires; then offsets of these records may be missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from kafka_zk.client.errors import KafkaException
from kafka_zk.record.batch import BatchHeader


class ProducerIdentity(NamedTuple):
    """Identifies duplicates for a leader, together with the sequence."""

    producer_id: int
    epoch: int


class Arrival(NamedTuple):
    """`length` records from `sequence` on are at `offset` and after."""

    sequence: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Records 0 to before `count` were appended; `runs` say where, in order, as far as batches still exist.

    `missing`: the first offsets behind the last arrival, (first, end exclusive), of which no batch is left; None where
    there are none.
    """

    count: int
    runs: tuple[Arrival, ...]
    missing: tuple[int, int] | None = None


class LateRecords(KafkaException):
    """Records of a replaced writer were appended after the start of its successor."""


def arrivals(headers: Iterable[BatchHeader], identity: ProducerIdentity, *, start: int, end: int) -> Arrivals:
    """Check all of a log's batches from offset `start` to before `end`, in order.

    Raises LateRecords for batches of an earlier epoch of the same producer.
    """
    runs: list[Arrival] = []
    count = 0
    position, missing = start, None
    for header in headers:
        if missing is None and header.base_offset > position:
            missing = (position, header.base_offset)
        position = header.next_offset
        if header.producer_id != identity.producer_id:
            continue
        if header.is_control:
            continue
        if header.producer_epoch > identity.epoch:
            continue
        if header.producer_epoch < identity.epoch:
            raise LateRecords(
                f"offsets {header.base_offset} to {header.last_offset} hold records of an earlier run that arrived "
                "after this one had counted; they may be duplicates"
            )
        # Sequences begin at 0 with each identity, which never sends more than they can number.
        runs.append(Arrival(header.base_sequence, header.base_offset, header.last_offset - header.base_offset + 1))
        count = max(count, header.last_sequence + 1)
        # Batches come in order: gaps before belong to others, or are covered by this one's sequences.
        missing = None
    if missing is None and end > position:
        missing = (position, end)
    return Arrivals(count, tuple(runs), missing)
