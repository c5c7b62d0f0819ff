"""Which of the records sent under a producer id are in a log, and where.

Role        Pure.
Rule        Records are sent with the sequences 0, 1, 2 ... in order, so a leader has appended exactly a prefix of them.
            A batch keeps its sequences when the cleaner takes records or all of it away before a later one: what the
            sequences say arrived did arrive, also where no offset is known any more. The last batch of a producer is
            kept until the producer expires; then offsets may be missing that were of these records.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from kafka_zk.client.errors import KafkaException
from kafka_zk.record.batch import BatchHeader


class ProducerIdentity(NamedTuple):
    """What a leader tells repeated records by, together with their sequence."""

    producer_id: int
    epoch: int


class Arrival(NamedTuple):
    """`length` records from `sequence` on stand at `offset` and after."""

    sequence: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Records 0 to before `count` arrived; `runs` say where, in order, as far as batches are still there.

    `missing`: the first offsets behind the last arrival, (first, end exclusive), of which no batch is left; None where
    there are none.
    """

    count: int
    runs: tuple[Arrival, ...]
    missing: tuple[int, int] | None = None


class LateRecords(KafkaException):
    """Records of a writer that was replaced came to the log behind the place where its successor begins."""


def arrivals(headers: Iterable[BatchHeader], identity: ProducerIdentity, *, start: int, end: int) -> Arrivals:
    """Of all of a log's batches from offset `start` to before `end`, in order.

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
        if header.producer_epoch > identity.epoch:
            continue
        if header.producer_epoch < identity.epoch:
            raise LateRecords(
                f"offsets {header.base_offset} to {header.last_offset} hold records of an earlier run that arrived "
                "after this one had counted; they may be duplicates"
            )
        # Sequences begin at 0 with each identity, which never sends more than they can count.
        runs.append(Arrival(header.base_sequence, header.base_offset, header.last_offset - header.base_offset + 1))
        count = max(count, header.last_sequence + 1)
        # They come in order: what is missing before is of others, or told by this one's sequences.
        missing = None
    if missing is None and end > position:
        missing = (position, end)
    return Arrivals(count, tuple(runs), missing)
