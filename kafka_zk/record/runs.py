"""Runs of consecutive batches: what a segment's indexes and producer state take from them.

Role        Pure. This is the twin of `_runs.pyx`, which is a hundred times faster; where that is not built, a recovery
            looks at each batch by itself.
Invariants  A batch gives an index entry when more than an interval of bytes came since the last one, itself not
            counted; the entry has the largest timestamp up to it. Both twins have the same functions and answers.
Source      Kafka 3.9 LogSegment: recover, append.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from itertools import groupby
from typing import NamedTuple, TypeAlias

from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.protocol.types import Buffer
from kafka_zk.record.batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_AT,
    BatchHeader,
    batch_size,
    computed_crc,
    read_header,
)

MAX_RELATIVE_OFFSET = 0x7FFFFFFF
REMEMBERED_BATCHES = 5
"""As many batches as are kept for a producer: of a longer run, the earlier ones do not matter."""

_HEAD = struct.Struct(">qi11xi8xq")
"""Of a batch of magic 2: base offset, length, last offset delta, max timestamp."""


class IndexEntry(NamedTuple):
    """A batch that the indexes of a segment name, and the largest timestamp up to it."""

    last_offset: int
    position: int
    max_timestamp: int
    offset_of_max_timestamp: int


class Indexing(NamedTuple):
    """What the indexes need of the batches of a segment so far; timestamp and its offset are -1 for none."""

    max_timestamp: int = -1
    offset_of_max_timestamp: int = -1
    bytes_since_entry: int = 0


class ProducerRow(NamedTuple):
    """The producer of a batch. `last_sequence` is -1 for none."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int


class Run(NamedTuple):
    """Plain batches that follow one another, up to `end`; `last` is where the last one begins.

    The last one is not taken in, since it is not known yet what follows it: entries, indexing, producers and
    `next_offset` are of the batches before it. Without any batch `end` and `last` are where the run should have begun.
    Of batches of one producer epoch that follow one another, `producers` has the last five.
    """

    end: int
    last: int
    next_offset: int
    entries: list[IndexEntry]
    indexing: Indexing
    producers: list[ProducerRow]


class IndexRun(NamedTuple):
    """`end`: of the batches that were taken in; `last_offset` of the last one, -1 for none."""

    end: int
    last_offset: int
    entries: list[IndexEntry]
    indexing: Indexing


PlainRun: TypeAlias = Callable[[Buffer, int, int, int, int, int, int, Indexing], Run]


def plain_run(
    buffer: Buffer,
    position: int,
    next_offset: int,
    segment_base: int,
    latest_epoch: int,
    buffer_at: int,
    interval_bytes: int,
    indexing: Indexing,
) -> Run:
    """The batches from `position` on up to the first that is not plain, or not whole.

    Plain is a magic 2 batch with a right crc, of no transaction and no control batch, whose offsets are at or behind
    `next_offset`, then behind one another, and at most 2^31-1 behind `segment_base`, of a leader epoch up to
    `latest_epoch`. `buffer_at` is the position of the buffer in its segment. Raises nothing.
    """
    found: list[tuple[int, BatchHeader]] = []
    end, follows = position, next_offset
    while (header := _plain_header(buffer, end, follows, segment_base, latest_epoch)) is not None:
        found.append((end, header))
        end += header.size_bytes
        follows = header.next_offset
    entries: list[IndexEntry] = []
    for at, header in found[:-1]:
        indexing = taken_in(
            indexing,
            entries,
            buffer_at + at,
            header.size_bytes,
            header.last_offset,
            header.max_timestamp,
            interval_bytes,
        )
        next_offset = header.next_offset
    last = found[-1][0] if found else position
    return Run(end, last, next_offset, entries, indexing, _producers([header for _, header in found[:-1]]))


def index_run(data: Buffer, position: int, data_at: int, interval_bytes: int, indexing: Indexing) -> IndexRun:
    """Take in the batches from `position` on, up to the first that is not whole or not of magic 2.

    `data_at` is the position of the data in its segment.
    """
    entries: list[IndexEntry] = []
    last_offset = -1
    while len(data) - position >= HEADER_SIZE and data[position + MAGIC_AT] == 2:
        base_offset, length, delta, max_timestamp = _HEAD.unpack_from(data, position)
        size = length + LOG_OVERHEAD
        if not HEADER_SIZE <= size <= len(data) - position:
            break
        last_offset = base_offset + delta
        indexing = taken_in(indexing, entries, data_at + position, size, last_offset, max_timestamp, interval_bytes)
        position += size
    return IndexRun(position, last_offset, entries, indexing)


def taken_in(
    indexing: Indexing,
    entries: list[IndexEntry],
    position: int,
    size_bytes: int,
    last_offset: int,
    max_timestamp: int,
    interval_bytes: int,
) -> Indexing:
    """What is known with one batch more, whose entry, if there is to be one, is added to `entries`."""
    largest, offset_of_largest, bytes_since_entry = indexing
    if max_timestamp > largest:
        largest, offset_of_largest = max_timestamp, last_offset
    if bytes_since_entry > interval_bytes:
        entries.append(IndexEntry(last_offset, position, largest, offset_of_largest))
        bytes_since_entry = 0
    return Indexing(largest, offset_of_largest, bytes_since_entry + size_bytes)


def _plain_header(
    buffer: Buffer, position: int, next_offset: int, segment_base: int, latest_epoch: int
) -> BatchHeader | None:
    try:
        size = batch_size(buffer, position)
        if size is None or size < HEADER_SIZE or position + size > len(buffer):
            return None
        header = read_header(buffer, position)
    except CorruptMessage:
        return None
    if (
        header.magic != 2
        or header.is_transactional
        or header.is_control
        or header.partition_leader_epoch > latest_epoch
        or header.base_offset < next_offset
        or not 0 <= header.last_offset - segment_base <= MAX_RELATIVE_OFFSET
        or computed_crc(buffer, position, header) != header.crc
    ):
        return None
    return header


def _producers(headers: list[BatchHeader]) -> list[ProducerRow]:
    rows: list[ProducerRow] = []
    of_producers = (header for header in headers if header.has_producer_id)
    for (producer_id, epoch), batches in groupby(of_producers, lambda each: (each.producer_id, each.producer_epoch)):
        for header in deque(batches, REMEMBERED_BATCHES):
            delta = header.last_offset_delta
            rows.append(
                ProducerRow(producer_id, epoch, header.last_sequence, header.last_offset, delta, header.max_timestamp)
            )
    return rows


def compiled_run() -> PlainRun | None:
    """The compiled twin; None where it was not built."""
    try:
        from kafka_zk.record._runs import plain_run as compiled
    except ImportError:
        return None
    return compiled
