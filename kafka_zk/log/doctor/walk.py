"""Walks the batches of a segment file read-only, however damaged it is, with their checksums.

Role        Plain. Reads through its own descriptor: the file is never opened for writing.
Invariants  Memory is bounded: one read of a mebibyte, or one batch up to WHOLE_BATCH_BYTES; a larger one (most likely a
            length that lies) has its checksum computed in pieces.
Source      FileLogInputStream; see SegmentFile.batches for the broker's own way.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Generator, Iterator
from typing import NamedTuple

from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.record.batch import (
    CRC_FROM,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_AT,
    Batch,
    BatchHeader,
    batch_size,
    computed_crc,
    read_header,
)
from kafka_zk.record.crc import crc32c

READ_BYTES = 1024 * 1024
WHOLE_BATCH_BYTES = 64 * 1024 * 1024
SEARCH_BYTES = 64 * 1024 * 1024
"""How far behind damage a batch is looked for."""


class Walked(NamedTuple):
    """One batch: where it is in the file, and whether its checksum is right.

    `batch()` is None for one that is too large to hold; the buffer is another one after the next step.
    """

    position: int
    header: BatchHeader
    is_intact: bool
    buffer: memoryview | None
    at: int

    def batch(self) -> Batch | None:
        return None if self.buffer is None else Batch(self.buffer, self.at, self.header)


class Ordinary:
    """What makes a batch unremarkable: `walk` passes over those, and keeps here what they tell.

    One is, if it follows on (`next_offset`; -1: nothing is known), ends below `until_offset`, lies before
    `index_position`, carries `leader_epoch`, has a right checksum, as many records as offsets, no producer and no
    delete horizon. Of many small batches nearly all are; looking closer at each takes more than twice as long.
    """

    __slots__ = ("index_position", "leader_epoch", "max_timestamp", "next_offset", "position", "until_offset")

    def __init__(self) -> None:
        self.next_offset = -1
        self.until_offset = -1
        self.index_position = -1
        self.leader_epoch = -2
        self.max_timestamp = -1
        self.position = 0
        """Behind the last batch that was passed over or yielded."""


def walk(descriptor: int, position: int, end: int, ordinary: Ordinary | None = None) -> Iterator[Walked]:
    """Every whole batch from `position` on, ordinary ones left out; ends where fewer bytes are left than a batch has.

    Raises CorruptMessage where the bytes cannot be a batch, OSError.
    """
    while end - position >= LOG_OVERHEAD:
        chunk = memoryview(os.pread(descriptor, min(READ_BYTES, end - position), position))
        size = batch_size(chunk)
        if size is None or position + size > end:
            return
        if size > len(chunk):
            if size > WHOLE_BATCH_BYTES:
                header = read_header(chunk)
                yield Walked(position, header, header.crc == _crc_in_pieces(descriptor, position, header), None, 0)
                position += size
                continue
            chunk = memoryview(os.pread(descriptor, size, position))
        position += yield from _walk_chunk(chunk, position, ordinary)


def _walk_chunk(chunk: memoryview, position: int, ordinary: Ordinary | None) -> Generator[Walked, None, int]:
    """The whole batches of a chunk that begins with one; how many bytes they are. Raises CorruptMessage."""
    at, length = 0, len(chunk)
    while True:
        if ordinary is not None and ordinary.next_offset >= 0:
            at = _pass_over(chunk, at, position, ordinary)
        size = batch_size(chunk, at)
        if size is None or at + size > length:
            return at
        header = read_header(chunk, at)
        yield Walked(position + at, header, header.crc == computed_crc(chunk, at, header), chunk, at)
        at += size


def _pass_over(chunk: memoryview, at: int, position: int, ordinary: Ordinary) -> int:
    """Where the first batch from `at` on begins that is not ordinary, or not whole."""
    length = len(chunk)
    unpack, crc_of, last_header = HEADER.unpack_from, crc32c, length - HEADER_SIZE
    expected, until, wanted_epoch = ordinary.next_offset, ordinary.until_offset, ordinary.leader_epoch
    last_at, latest = ordinary.index_position - position, ordinary.max_timestamp
    while at <= last_header and at < last_at:
        offset, size, epoch, magic, crc, attributes, delta, _, timestamp, producer_id, _, _, count = unpack(chunk, at)
        next_at = at + size + LOG_OVERHEAD
        if (
            offset != expected
            or next_at > length
            or magic != 2
            or size < HEADER_SIZE - LOG_OVERHEAD
            or offset + delta >= until
            or epoch != wanted_epoch
            or producer_id >= 0
            or count != delta + 1
            or delta < 0
            or attributes & DELETE_HORIZON_BIT
            or crc != crc_of(chunk[at + CRC_FROM : next_at])
        ):
            break
        expected = offset + count
        if timestamp > latest:
            latest = timestamp
        at = next_at
    ordinary.next_offset, ordinary.max_timestamp, ordinary.position = expected, latest, position + at
    return at


def next_batch(descriptor: int, position: int, end: int, next_offset: int) -> int | None:
    """Where behind damage at `position` an intact batch of magic 2 begins; None when there is none nearby.

    Its offset must be one that can follow `next_offset` soon: below the next multiple of 2^24.
    """
    limit = min(end, position + SEARCH_BYTES)
    high_bytes = next_offset.to_bytes(8, "big")[:5]
    wanted = re.compile(b"(?=" + re.escape(high_bytes) + rb"[\x00-\xff]{11}\x02)")
    while position < limit:
        chunk = os.pread(descriptor, min(READ_BYTES, limit - position), position)
        for match in wanted.finditer(chunk):
            found = position + match.start()
            head = os.pread(descriptor, HEADER_SIZE, found)
            try:
                header = read_header(head)
            except CorruptMessage:
                continue
            if header.base_offset < next_offset or header.size_bytes > min(end - found, WHOLE_BATCH_BYTES):
                continue
            if header.crc == computed_crc(os.pread(descriptor, header.size_bytes, found), 0, header):
                return found
        # A header may lie across two reads.
        position += max(len(chunk) - HEADER_SIZE, 1)
    return None


def is_zero(descriptor: int, position: int, end: int) -> bool:
    """Whether nothing but zeros is left: space that was preallocated, or that a crash left."""
    while position < end:
        chunk = os.pread(descriptor, min(READ_BYTES, end - position), position)
        if not chunk or chunk.count(0) != len(chunk):
            return False
        position += len(chunk)
    return True


def _crc_in_pieces(descriptor: int, position: int, header: BatchHeader) -> int:
    at = position + (CRC_FROM if header.magic == 2 else MAGIC_AT)
    end = position + header.size_bytes
    crc = 0
    while at < end:
        piece = os.pread(descriptor, min(READ_BYTES, end - at), at)
        crc = crc32c(piece, crc) if header.magic == 2 else zlib.crc32(piece, crc)
        at += len(piece)
    return crc
