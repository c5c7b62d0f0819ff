"""The cleaner's passes over a log, one chunk at a time, run in a helper process.

Role        Plain. Reads and writes by descriptor and position; between two chunks all state is in the arguments
            passed back and forth, and in the key table, a file in memory.
Invariants  A chunk that is restarted from the same state gives the same result: keys are put with their largest
            offset, bytes are written to the same place. The cleaned segment's indexes get entries by batch.
Source      Kafka 3.9 Cleaner.buildOffsetMapForSegment, cleanInto, growBuffersOrFail; LogSegment.append of 3.9.1.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_zk.log.cleaner.batch_filter import (
    Filtered,
    FilterRules,
    LastRecord,
    control_type,
    filter_batch,
    horizon_after,
    rewrite_batch,
)
from kafka_zk.log.cleaner.transactions import CleanedTransactions
from kafka_zk.log.files.transaction_index import AbortedTransaction
from kafka_zk.log.helper.wire import Descriptor
from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.protocol.types import Buffer
from kafka_zk.record.batch import HEADER_SIZE, HEADER_SIZE_UP_TO_MAGIC, Batch, batch_size, read_header
from kafka_zk.record.compression import Codec, codec_for_id
from kafka_zk.record.filtering import FilterRun, filter_run, map_run, put_key, put_keys
from kafka_zk.record.legacy import messages
from kafka_zk.record.runs import IndexEntry, Indexing, taken_in
from kafka_zk.record.walking import index_run


class Source(NamedTuple):
    """A segment's bytes, and how much of them to read at a time."""

    size_bytes: int
    max_message_bytes: int
    chunk_bytes: int


class TableRules(NamedTuple):
    """The key table: a file in memory of `size_bytes`, to hold at most `limit` keys, hashed with `seed`."""

    size_bytes: int
    seed: bytes
    limit: int
    start_offset: int
    """Of the dirty section: what lies before it does not enter."""


@dataclass(slots=True)
class MapState:
    """The progress of the key table. `position` and `buffer_bytes` are those of the current segment."""

    buffer_bytes: int
    position: int = 0
    key_count: int = 0
    latest_offset: int = -1
    is_full: bool = False
    record_count: int = 0
    read_bytes: int = 0
    transactions: CleanedTransactions = field(default_factory=CleanedTransactions)


class PassRules(NamedTuple):
    """The rules for all batches of one segment; see FilterRules."""

    table_bytes: int
    seed: bytes
    latest_offset: int
    now_ms: int
    delete_retention_ms: int
    keep_legacy_tombstones: bool
    last_records: Mapping[int, LastRecord]
    index_interval_bytes: int


@dataclass(slots=True)
class FilterState:
    """The progress of rewriting a segment into a cleaned one, which has `written_bytes` so far."""

    buffer_bytes: int
    transactions: CleanedTransactions
    position: int = 0
    written_bytes: int = 0
    indexed: Indexed = field(default_factory=lambda: Indexed())


@dataclass(slots=True)
class Indexed:
    """What the indexes of the cleaned segment must know of the batches written so far; -1 for none."""

    first_timestamp: int = -1
    last_offset: int = -1
    indexing: Indexing = field(default_factory=Indexing)


class Counts(NamedTuple):
    """Counts of one chunk; without records of discarded batches."""

    read_bytes: int = 0
    read_count: int = 0
    written_bytes: int = 0
    kept_count: int = 0
    keyless_count: int = 0


class FilteredChunk(NamedTuple):
    state: FilterState
    entries: list[IndexEntry]
    aborted: list[AbortedTransaction]
    counts: Counts


def map_chunk(table: Descriptor, rules: TableRules, source: Descriptor, shape: Source, state: MapState) -> MapState:
    """Blocks. Put the keys of one chunk into the table. Raises CorruptMessage, InvalidRecord, OSError."""
    slots = _mapped(table, rules.size_bytes, rules.seed)
    until = min(shape.size_bytes, state.position + shape.chunk_bytes)
    while state.position < until and not state.is_full:
        buffer = _read_buffer(source.fileno, state, shape)
        taken = _map_buffer(slots, rules, buffer, state)
        state.position += taken
        state.read_bytes += taken
        if not taken and not state.is_full:
            _grow(state, shape, buffer)
    return state


def filter_chunk(
    table: Descriptor, rules: PassRules, source: Descriptor, shape: Source, target: Descriptor, state: FilterState
) -> FilteredChunk:
    """Blocks. Append the retained records of one chunk of a segment to the cleaned one.

    Raises CorruptMessage, InvalidRecord, UnknownServerError (does not decompress), OSError.
    """
    detailed = FilterRules(
        _mapped(table, rules.table_bytes, rules.seed),
        rules.seed,
        rules.latest_offset,
        rules.now_ms,
        rules.delete_retention_ms,
        rules.keep_legacy_tombstones,
        rules.last_records,
    )
    last_offsets = frozenset(last.data_offset for last in rules.last_records.values())
    entries: list[IndexEntry] = []
    counts = Counts()
    until = min(shape.size_bytes, state.position + shape.chunk_bytes)
    while state.position < until:
        buffer = _read_buffer(source.fileno, state, shape)
        parts = _Parts()
        taken = _filter_buffer(buffer, detailed, last_offsets, state.transactions, parts)
        state.position += taken
        if not taken:
            _grow(state, shape, buffer)
        data = memoryview(b"".join(parts.data))
        _write(target.fileno, data, state.written_bytes)
        entries += _index(data, state, rules.index_interval_bytes)
        state.written_bytes += len(data)
        counts = Counts(
            counts.read_bytes + taken,
            counts.read_count + parts.read_count,
            counts.written_bytes + len(data),
            counts.kept_count + parts.kept_count,
            counts.keyless_count + parts.keyless_count,
        )
    return FilteredChunk(state, entries, state.transactions.take_kept(), counts)


class _Parts:
    """The retained parts of one buffer."""

    __slots__ = ("data", "kept_count", "keyless_count", "read_count")

    def __init__(self) -> None:
        self.data: list[Buffer] = []
        self.read_count = self.kept_count = self.keyless_count = 0

    def add(self, part: Filtered | FilterRun) -> None:
        self.read_count += part.read_count
        self.kept_count += part.kept_count
        self.keyless_count += part.keyless_count


def _filter_buffer(
    buffer: memoryview,
    rules: FilterRules,
    last_offsets: frozenset[int],
    transactions: CleanedTransactions,
    parts: _Parts,
) -> int:
    """Returns how many bytes of `buffer` were whole batches."""
    position = 0
    while True:
        run = filter_run(rules.table, rules.seed, rules.latest_offset, rules.now_ms, last_offsets, buffer, position)
        parts.data += [buffer[start:end] for start, end in run.ranges]
        parts.add(run)
        position = run.position
        batch = _whole_batch(buffer, position)
        if batch is None:
            return position
        if run.selection is None:
            part = filter_batch(batch, rules, transactions)
        else:
            horizon = horizon_after(batch.header, rules, is_needed=run.selection.has_tombstones)
            if run.payload is None:
                place: tuple[Buffer, int, int] = (buffer, position + HEADER_SIZE, batch.end)
            else:
                place = (run.payload, 0, len(run.payload))
            part = rewrite_batch(batch, *place, run.selection, horizon)
        if part.data is not None:
            parts.data.append(part.data)
        parts.add(part)
        position = batch.end


def _map_buffer(slots: memoryview, rules: TableRules, buffer: memoryview, state: MapState) -> int:
    """Returns how many bytes of `buffer` were whole batches, now in the table."""
    position = 0
    while True:
        run = map_run(slots, rules.seed, state.key_count, rules.limit, buffer, position, rules.start_offset)
        state.key_count, state.is_full = run.key_count, run.is_full
        state.latest_offset = max(state.latest_offset, run.latest_offset)
        state.record_count += run.record_count
        position = run.position
        batch = None if state.is_full else _whole_batch(buffer, position)
        if batch is None:
            return position
        _map_batch(slots, rules, batch, state)
        if state.is_full:
            return position
        position = batch.end


def _map_batch(slots: memoryview, rules: TableRules, batch: Batch, state: MapState) -> None:
    """Add one batch that is not plain."""
    if not batch.is_valid():
        raise CorruptMessage(f"Record is corrupt: the batch at offset {batch.header.base_offset} fails its crc")
    header = batch.header
    if header.magic < 2:
        _map_legacy(slots, rules, batch, state)
    elif header.is_control:
        state.transactions.may_discard_marker(header.producer_id, header.last_offset, control_type(batch))
        state.record_count += 1
    elif state.transactions.is_aborted_data(
        header.producer_id, header.last_offset, is_transactional=header.is_transactional
    ):
        state.record_count += header.record_count
    else:
        _map_records(slots, rules, batch, state)
    if not state.is_full and header.last_offset >= rules.start_offset:
        state.latest_offset = max(state.latest_offset, header.last_offset)


def _map_records(slots: memoryview, rules: TableRules, batch: Batch, state: MapState) -> None:
    header = batch.header
    payload: Buffer = batch.payload
    if header.codec_id != Codec.NONE and header.record_count:
        payload = codec_for_id(header.codec_id).decompress(payload)
    state.key_count, last_put, state.is_full, taken = put_keys(
        slots,
        rules.seed,
        state.key_count,
        rules.limit,
        payload,
        0,
        len(payload),
        header.record_count,
        header.base_offset,
        rules.start_offset,
    )
    state.latest_offset = max(state.latest_offset, last_put)
    state.record_count += taken


def _map_legacy(slots: memoryview, rules: TableRules, batch: Batch, state: MapState) -> None:
    for message in messages(batch):
        record = message.record
        if record.key is not None and record.offset >= rules.start_offset:
            if state.key_count >= rules.limit:
                state.is_full = True
                return
            state.key_count += put_key(slots, rules.seed, record.key, record.offset)
            state.latest_offset = max(state.latest_offset, record.offset)
        state.record_count += 1


def _read_buffer(fileno: int, state: MapState | FilterState, shape: Source) -> memoryview:
    size_bytes = min(state.buffer_bytes, shape.size_bytes - state.position)
    buffer = os.pread(fileno, size_bytes, state.position)
    if len(buffer) < size_bytes:
        raise CorruptMessage(f"The segment ends at {state.position + len(buffer)}, before its size {shape.size_bytes}")
    return memoryview(buffer)


def _whole_batch(buffer: memoryview, position: int) -> Batch | None:
    """The batch at `position`; None when it is not there as a whole. Raises CorruptMessage."""
    size = batch_size(buffer, position)
    if size is None or position + size > len(buffer):
        return None
    return Batch(buffer, position, read_header(buffer, position))


def _grow(state: MapState | FilterState, shape: Source, buffer: memoryview) -> None:
    """Enlarge the buffer: no batch was complete. Raises CorruptMessage if none can be."""
    size, left = batch_size(buffer), shape.size_bytes - state.position
    if size is None and len(buffer) < left:
        size = HEADER_SIZE_UP_TO_MAGIC  # Not even that was read.
    if size is None or size > left:
        raise CorruptMessage(
            f"Log segment may be corrupt, batch size {size} > {left} bytes left in segment at position {state.position}"
        )
    state.buffer_bytes = min(2 * state.buffer_bytes, max(shape.max_message_bytes, size))


def _index(data: memoryview, state: FilterState, interval_bytes: int) -> list[IndexEntry]:
    """Index the batches of `data`, which follow the written ones; returns their index entries."""
    indexed, position = state.indexed, 0
    entries: list[IndexEntry] = []
    while position < len(data):
        if indexed.last_offset < 0:
            indexed.first_timestamp = read_header(data, position).max_timestamp
        run = index_run(data, position, state.written_bytes, interval_bytes, indexed.indexing)
        entries += run.entries
        indexed.indexing = run.indexing
        if run.last_offset >= 0:
            indexed.last_offset = run.last_offset
        position = run.end
        if position < len(data):
            position += _index_legacy(data, position, entries, state, interval_bytes)
    return entries


def _index_legacy(
    data: memoryview, position: int, entries: list[IndexEntry], state: FilterState, interval_bytes: int
) -> int:
    """Index one batch of magic 0 or 1; returns its size."""
    header, indexed = read_header(data, position), state.indexed
    indexed.indexing = taken_in(
        indexed.indexing,
        entries,
        state.written_bytes + position,
        header.size_bytes,
        header.last_offset,
        header.max_timestamp,
        interval_bytes,
    )
    indexed.last_offset = header.last_offset
    return header.size_bytes


def _write(fileno: int, data: memoryview, position: int) -> None:
    written = 0
    while written < len(data):
        written += os.pwrite(fileno, data[written:], position + written)


_maps: dict[bytes, memoryview] = {}
"""The table of the current pass, by its seed: mapping it again for each chunk would cost as much as the chunk."""


def _mapped(table: Descriptor, size_bytes: int, seed: bytes) -> memoryview:
    found = _maps.get(seed)
    if found is None:
        for old in _maps.values():
            owner = old.obj
            old.release()
            assert isinstance(owner, mmap.mmap)
            owner.close()
        _maps.clear()
        found = _maps[seed] = memoryview(mmap.mmap(table.fileno, size_bytes))
    return found
