"""The records of an unreadable magic 2 batch, up to the first bad one, parsed in Java's steps and with its messages.

Role        Pure. The walker (record/walker.py) reads valid batches; it stops at a record's own end. Java reads on to
            the end of the batch and then counts, which gives other messages: only this module imitates it.
Source      Kafka 3.9 DefaultRecordBatch.RecordIterator, DefaultRecord.readFrom, ByteUtils.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_zk.protocol.errors import InvalidRecord
from kafka_zk.record.batch import BatchHeader
from kafka_zk.record.types import Buffer, Header, Record
from kafka_zk.record.walker import LEFT_OVER, MALFORMED, PREMATURE_END
from kafka_zk.tools.dump_log.java_file import ILLEGAL_ARGUMENT, Damaged


class _Underflow(Exception):
    """There are no more bytes, or not as many as a size says."""


class _LongVarint(Exception):
    """A varint that continues after its last allowed byte; the number so far."""


class _Bytes:
    """A place in a buffer. Raises _Underflow, _LongVarint."""

    def __init__(self, buffer: Buffer, position: int, end: int) -> None:
        self.buffer = buffer
        self.position = position
        self.end = end

    @property
    def remaining(self) -> int:
        return self.end - self.position

    def byte(self) -> int:
        if self.position >= self.end:
            raise _Underflow
        self.position += 1
        return self.buffer[self.position - 1]

    def varint(self) -> int:
        return self._zigzag(last_shift=28, mask=0xFFFFFFFF)

    def varlong(self) -> int:
        return self._zigzag(last_shift=63, mask=0xFFFFFFFFFFFFFFFF)

    def _zigzag(self, *, last_shift: int, mask: int) -> int:
        raw = 0
        for shift in range(0, last_shift + 1, 7):
            byte = self.byte()
            raw |= (byte & 0x7F) << shift
            if byte < 0x80:
                raw &= mask
                return (raw >> 1) ^ -(raw & 1)
        # Java has extended the sign of the last byte.
        raise _LongVarint(f"{(raw | 0x80 << last_shift) & mask:x}")

    def sized(self) -> bytes | None:
        size = self.varint()
        if size < 0:
            return None
        if size > self.remaining:
            raise _Underflow
        self.position += size
        return bytes(self.buffer[self.position - size : self.position])


def records_until_bad(payload: Buffer, start: int, header: BatchHeader) -> Iterator[Record]:
    """Raises InvalidRecord, Damaged where Java's iterator ends."""
    count = header.record_count
    if count < 0:
        raise InvalidRecord(f"Found invalid record count {count} in magic v{header.magic} batch")
    source = _Bytes(payload, start, len(payload))
    for left in range(count, 0, -1):
        record = _record(source, header)
        if left == 1 and source.remaining:
            raise InvalidRecord(LEFT_OVER)
        yield record


def _record(source: _Bytes, header: BatchHeader) -> Record:
    try:
        size = source.varint()
    except _Underflow:
        raise InvalidRecord(PREMATURE_END) from None
    except _LongVarint as error:
        raise Damaged(
            f"Varint is too long, the most significant bit in the 5th byte is set, converted value: {error}",
            ILLEGAL_ARGUMENT,
        ) from None
    if source.remaining < size:
        if header.is_compressed:
            raise InvalidRecord(
                f"Invalid record size: expected {size} bytes in record payload, but the record payload reached EOF."
            )
        raise InvalidRecord(
            f"Invalid record size: expected {size} bytes in record payload, "
            f"but instead the buffer has only {source.remaining} remaining bytes."
        )
    body_start = source.position
    # What was decompressed is read from a stream, a record's bytes at a time.
    body = _Bytes(source.buffer, body_start, body_start + size) if header.is_compressed else source
    try:
        record = _body(body, header)
    except (_Underflow, _LongVarint):
        raise InvalidRecord(MALFORMED) from None
    source.position = body.position
    if body.position - body_start != size:
        raise InvalidRecord(
            f"Invalid record size: expected to read {size} bytes in record payload, "
            f"but instead read {body.position - body_start}"
        )
    return record


def _body(source: _Bytes, header: BatchHeader) -> Record:
    source.byte()
    timestamp = _int64(header.base_timestamp + source.varlong())
    offset = _int64(header.base_offset + source.varint())
    key = source.sized()
    value = source.sized()
    return Record(offset, timestamp, key, value, _headers(source))


def _headers(source: _Bytes) -> tuple[Header, ...]:
    count = source.varint()
    if count < 0:
        raise InvalidRecord(f"Found invalid number of record headers {count}")
    if count > source.remaining:
        raise InvalidRecord(
            f"Found invalid number of record headers. {count} is larger than the remaining size of the buffer"
        )
    headers: list[Header] = []
    for _ in range(count):
        at = source.position
        key = source.sized()
        if key is None:
            source.position = at
            raise InvalidRecord(f"Invalid negative header key size {source.varint()}")
        headers.append((key.decode("utf-8", "as-java-replaces"), source.sized()))
    return tuple(headers)


def _int64(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63
