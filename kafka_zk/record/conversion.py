"""Converts between message formats: produced magic 0 and 1 up, stored batches down for old fetchers.

Role        Pure. Converting much data belongs in a pool or a helper process.
Source      Kafka 3.9 LogValidator.convertAndAssignOffsetsNonCompressed and validateMessagesAndAssignOffsetsCompressed,
            RecordsUtil.downConvert, LazyDownConversionRecords.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence

from kafka_zk.protocol.errors import InvalidRecord, UnknownServerError, UnsupportedCompressionType
from kafka_zk.protocol.types import Buffer
from kafka_zk.record.batch import HEADER_SIZE, LOG_OVERHEAD, NO_TIMESTAMP, Batch, batches
from kafka_zk.record.builder import build_batch
from kafka_zk.record.compression import DEFAULT_LIMIT_BYTES, Codec, check_record_count, codec_for_id
from kafka_zk.record.legacy import MESSAGE_HEAD_BYTES, Message, build_message_set, message_set_of, messages
from kafka_zk.record.produced import ValidatedBatch, ValidationRules, check_size_and_crc, rebuilt_batch
from kafka_zk.record.record import decode_records
from kafka_zk.record.record_errors import MixedMagic, RecordError, reject
from kafka_zk.record.types import Record
from kafka_zk.record.walking import columns, encode

_OFFSET_AND_LENGTH = struct.Struct(">qi")
_LAST_BASE_OFFSET = 2**63 - 2**31

COLUMNS_FROM_RECORDS = 16
"""Making columns costs as much as decoding a few records. From here on it pays; at 100 records it is twice as fast."""


def convert_up_produced(view: memoryview, rules: ValidationRules, now_ms: int) -> ValidatedBatch:
    """Check a produced message set of magic 0 or 1 and make one magic 2 batch of all its messages.

    Raises what `validation.validate` raises.
    """
    ends = None if rules.conversion_begins is None else rules.conversion_begins()
    wrappers = list(batches(view))
    check_record_count(len(wrappers), rules.decompressed_limit_bytes)
    for wrapper in wrappers:
        check_size_and_crc(view, wrapper.position, wrapper.header, rules)
    compressed = [wrapper for wrapper in wrappers if wrapper.header.is_compressed]
    source = codec_for_id(compressed[-1].header.codec_id) if compressed else Codec.NONE
    if compressed and len(wrappers) > 1:
        raise InvalidRecord("Compressed outer record has more than one batch")
    records: list[Record] = []
    for wrapper in wrappers:
        _check_same_magic(wrapper, wrappers[0], rules)
        inner = messages(wrapper, limit_bytes=rules.decompressed_limit_bytes)
        reject(_errors_of(inner, wrapper, rules, now_ms))
        records += [message.record for message in inner]
    earliest = min((record.timestamp for record in records), default=NO_TIMESTAMP)
    if earliest < NO_TIMESTAMP:
        raise UnknownServerError(f"Invalid negative timestamp {earliest}")
    codec = source if rules.target_codec is None else rules.target_codec
    renumbered = [record._replace(offset=index) for index, record in enumerate(records)]
    batch = build_batch(
        renumbered,
        codec=codec,
        level=None if rules.target_codec is None else rules.target_level,
        timestamp_type=rules.checks.timestamp_type,
        log_append_time_ms=now_ms,
    )
    rebuilt = rebuilt_batch(batch, rules, now_ms)
    if ends is not None:
        written_bytes = len(batch)
        if source or codec:
            written_bytes = _bytes_before_compression(renumbered, wrappers[0].header.magic)
        ends(len(records), written_bytes)
    return rebuilt


def _bytes_before_compression(records: list[Record], magic: int) -> int:
    """What was unpacked and what was packed again, each with the head of a batch, as Kafka counts.

    Source: LogValidator.validateMessagesAndAssignOffsetsCompressed, buildRecordsAndAssignOffsets.
    """
    unpacked_bytes = sum(
        MESSAGE_HEAD_BYTES[magic] + len(record.key or b"") + len(record.value or b"") for record in records
    )
    return 2 * HEADER_SIZE + unpacked_bytes + len(encode(records, 0, records[0].timestamp))


def _check_same_magic(batch: Batch, first: Batch, rules: ValidationRules) -> None:
    if batch.header.magic != first.header.magic:
        raise MixedMagic(
            f"Batch magic {batch.header.magic} is not the same as the first batch's magic byte {first.header.magic} "
            f"in topic partition {rules.topic_partition}"
        )


def _errors_of(inner: list[Message], wrapper: Batch, rules: ValidationRules, now_ms: int) -> list[RecordError]:
    checks = rules.checks
    errors: list[RecordError] = []
    for index, message in enumerate(inner):
        record = message.record
        if message.magic != wrapper.header.magic:
            raise InvalidRecord(
                f"Compressed message magic {message.magic} does not match wrapper magic {wrapper.header.magic}"
            )
        if record.key is None and checks.is_compacted:
            errors.append(checks.key_error(index, rules.topic_partition))
            continue
        error = checks.timestamp_error(
            index,
            record.timestamp,
            record.offset,
            stamped_by_client=wrapper.header.uses_log_append_time,
            now_ms=now_ms,
            description=f"(offset={record.offset}, timestamp={record.timestamp})",
        )
        if error is not None:
            errors.append(error)
    return errors


class DownConversion:
    """Stored batches as the answer to an old fetcher of `magic` 0 or 1 that asked from `first_offset`.

    `parts` yields the answer piece by piece, so that it is never in memory as a whole; then `record_count` says how
    many records were converted, and `temporary_bytes` how much was read and written for it, as Kafka counts.
    """

    __slots__ = ("_first_offset", "_limit_bytes", "_magic", "record_count", "temporary_bytes")

    def __init__(self, *, magic: int, first_offset: int = 0, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self._magic = magic
        self._first_offset = first_offset
        self._limit_bytes = limit_bytes
        self.record_count = 0
        self.temporary_bytes = 0

    def parts(self, stored: Iterable[Batch], stored_bytes: int) -> Iterator[Buffer]:
        """Batches of that magic or older stay as they are; control batches are left out, and so are headers, and
        records below `first_offset` in uncompressed batches.

        The answer has the size of what is stored, `stored_bytes`, or of the first converted batch when that is larger:
        the rest is cut off (the fetcher asks for it again), and a shorter answer is filled up with the start of a batch
        too long to fit, which every consumer skips.
        Raises UnsupportedCompressionType when the first batch to convert is zstd, and what `decode_records` raises.
        """
        found = False
        left: int | None = None
        try:
            for batch in stored:
                found = True
                part = self._converted(batch)
                if part is None:
                    continue
                if left is None:
                    left = max(stored_bytes, len(part))
                yield part if len(part) <= left else part[:left]
                left -= len(part)
                if left <= 0:
                    return
        except UnsupportedCompressionType:
            if left is None:
                raise
        if left is None:  # nothing is left of the batches, if there were any
            left = LOG_OVERHEAD if found else 0
        yield _overflow(left)

    def _converted(self, batch: Batch) -> Buffer | None:
        header = batch.header
        if header.is_control:
            return None
        if header.codec_id == Codec.ZSTD:
            raise UnsupportedCompressionType("Down-conversion of zstandard-compressed batches is not supported")
        if header.magic <= self._magic:
            self.temporary_bytes += batch.size_bytes
            return batch.data
        if header.magic == 2 and header.record_count >= COLUMNS_FROM_RECORDS:
            return self._from_columns(batch)
        return self._from_records(batch)

    def _from_columns(self, batch: Batch) -> bytearray | None:
        header = batch.header
        codec = codec_for_id(header.codec_id)
        # Slices of bytes are cheaper to make than views, and records are mostly small.
        plain = bytes(codec.decompress(batch.payload, self._limit_bytes))
        rows = columns(plain, 0, len(plain), header.record_count, header.base_timestamp)
        base_offset = header.base_offset
        if base_offset > _LAST_BASE_OFFSET:
            raise InvalidRecord(f"Offsets from {base_offset} on do not fit 64 bits")
        offsets = [base_offset + delta for delta in rows.offset_deltas]
        keys = _fields(plain, rows.key_starts, rows.key_sizes)
        values = _fields(plain, rows.value_starts, rows.value_sizes)
        timestamps: Sequence[int] = rows.timestamps
        if codec is Codec.NONE and offsets and offsets[0] < self._first_offset:
            kept = [index for index, offset in enumerate(offsets) if offset >= self._first_offset]
            offsets, keys, values = [offsets[i] for i in kept], [keys[i] for i in kept], [values[i] for i in kept]
            timestamps = [timestamps[i] for i in kept]
        if not offsets:
            return None
        self._count(batch, keys, values)
        stamp = header.max_timestamp if header.uses_log_append_time else None
        return message_set_of(
            offsets, timestamps, keys, values, magic=self._magic, codec=codec, log_append_time_ms=stamp
        )

    def _from_records(self, batch: Batch) -> bytearray | None:
        header = batch.header
        kept = decode_records(batch, limit_bytes=self._limit_bytes)
        if not header.is_compressed:
            kept = [record for record in kept if record.offset >= self._first_offset]
        if not kept:
            return None
        self._count(batch, [record.key for record in kept], [record.value for record in kept])
        stamp = header.max_timestamp if header.uses_log_append_time else None
        return build_message_set(kept, magic=self._magic, codec=codec_for_id(header.codec_id), log_append_time_ms=stamp)

    def _count(self, batch: Batch, keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> None:
        """Kafka counts what it reads and what it writes before compression, with the head of a wrapper if there is one.

        Source: RecordsUtil.downConvert, MemoryRecordsBuilder.uncompressedBytesWritten.
        """
        heads = len(keys) + (1 if batch.header.is_compressed else 0)
        fields_bytes = sum(len(field) for column in (keys, values) for field in column if field)
        self.record_count += len(keys)
        self.temporary_bytes += batch.size_bytes + heads * MESSAGE_HEAD_BYTES[self._magic] + fields_bytes


def convert_down(
    records: Buffer, *, magic: int, first_offset: int = 0, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> bytes:
    """The whole answer of a `DownConversion` of `records`."""
    conversion = DownConversion(magic=magic, first_offset=first_offset, limit_bytes=limit_bytes)
    return b"".join(conversion.parts(batches(records), len(records)))


def _fields(data: bytes, starts: Iterable[int], sizes: Iterable[int]) -> list[bytes | None]:
    return [None if size < 0 else data[start : start + size] for start, size in zip(starts, sizes, strict=True)]


def _overflow(size: int) -> bytes:
    """The first `size` bytes of a batch that claims more. Source: LazyDownConversionRecordsSend.buildOverflowBatch."""
    return _OFFSET_AND_LENGTH.pack(-1, max(size + 1, HEADER_SIZE)).ljust(size, b"\0")[:size]
