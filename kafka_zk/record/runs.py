"""Runs of batches that need no thought, for whoever checks a whole segment.

Role        Pure. This is the twin of `_runs.pyx`, which is a hundred times quicker; without it nobody asks for runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.record.batch import batch_size, computed_crc, read_header

Row: TypeAlias = tuple[int, int, int, int]
"""A batch: position in the buffer, size in bytes, last offset, largest timestamp."""

ProducerRow: TypeAlias = tuple[int, int, int, int, int]
"""What a batch says of its producer: index of its row, producer id and epoch, last sequence, last offset delta."""

PlainRun: TypeAlias = Callable[[memoryview, int, int, int, int, bool], tuple[list[Row], list[ProducerRow]]]

MAX_RELATIVE_OFFSET = 0x7FFFFFFF


def plain_run(
    buffer: memoryview, position: int, next_offset: int, segment_base: int, latest_epoch: int, with_producers: bool
) -> tuple[list[Row], list[ProducerRow]]:
    """The batches from `position` on up to the first that is not plain, or not whole.

    Plain is a magic 2 batch with a right crc, of no transaction and no control batch, whose offsets are at or behind
    `next_offset`, then behind one another, and at most 2^31-1 behind `segment_base`, of a leader epoch up to
    `latest_epoch`, and without a producer unless `with_producers`. Raises nothing.
    """
    rows: list[Row] = []
    producers: list[ProducerRow] = []
    while True:
        try:
            size = batch_size(buffer, position)
            if size is None or position + size > len(buffer):
                break
            header = read_header(buffer, position)
        except CorruptMessage:
            break
        if (
            header.magic != 2
            or header.is_transactional
            or header.is_control
            or header.partition_leader_epoch > latest_epoch
            or header.base_offset < next_offset
            or not 0 <= header.last_offset - segment_base <= MAX_RELATIVE_OFFSET
            or (header.has_producer_id and not with_producers)
            or computed_crc(buffer, position, header) != header.crc
        ):
            break
        if header.has_producer_id:
            row = len(rows)
            delta = header.last_offset_delta
            producers.append((row, header.producer_id, header.producer_epoch, header.last_sequence, delta))
        rows.append((position, size, header.last_offset, header.max_timestamp))
        next_offset = header.next_offset
        position += size
    return rows, producers


def compiled_run() -> PlainRun | None:
    """The quick one; None where it was not built."""
    try:
        from kafka_zk.record._runs import plain_run as compiled
    except ImportError:
        return None
    return compiled
