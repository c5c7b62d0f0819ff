"""Between message formats: produced magic 0 and 1 up to magic 2, and stored batches down for old fetchers.

Role        Pure. Converting much data belongs in a pool or a helper process.
Source      Kafka 3.9 LogValidator.convertAndAssignOffsetsNonCompressed and validateMessagesAndAssignOffsetsCompressed,
            RecordsUtil.downConvert, LazyDownConversionRecords.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from kafka_zk.protocol.errors import InvalidRecord, UnsupportedCompressionType
from kafka_zk.protocol.types import Buffer
from kafka_zk.record.batch import HEADER_SIZE, LOG_OVERHEAD, Batch, batches
from kafka_zk.record.builder import build_batch
from kafka_zk.record.compression import DEFAULT_LIMIT_BYTES, Codec, codec_for_id
from kafka_zk.record.legacy import Message, build_message_set, messages
from kafka_zk.record.produced import ValidatedBatch, ValidationRules, check_size_and_crc, rebuilt_batch
from kafka_zk.record.record import decode_records
from kafka_zk.record.record_errors import RecordError, reject
from kafka_zk.record.types import Record

_OFFSET_AND_LENGTH = struct.Struct(">qi")


def convert_up_produced(view: memoryview, rules: ValidationRules, now_ms: int) -> ValidatedBatch:
    """Check a produced message set of magic 0 or 1 and make one magic 2 batch of all its messages.

    Raises what `validation.validate` raises.
    """
    wrappers = list(batches(view))
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
    codec = source if rules.target_codec is None else rules.target_codec
    batch = build_batch(
        [record._replace(offset=index) for index, record in enumerate(records)],
        codec=codec,
        level=None if rules.target_codec is None else rules.target_level,
        timestamp_type=rules.checks.timestamp_type,
        log_append_time_ms=now_ms,
    )
    return rebuilt_batch(batch, rules, now_ms)


def _check_same_magic(batch: Batch, first: Batch, rules: ValidationRules) -> None:
    if batch.header.magic != first.header.magic:
        raise InvalidRecord(
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


def convert_down(
    records: Buffer, *, magic: int, first_offset: int = 0, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> bytes:
    """Stored batches as the answer to an old fetcher of `magic` 0 or 1, who asked from `first_offset`.

    Batches of that magic or older stay as they are; control batches are left out, and so are headers, and records
    below `first_offset` in uncompressed batches. The answer has the size of `records`, or of the first converted batch
    when that is larger: what is beyond is cut off (the fetcher asks for it again), what is missing is filled with the
    start of a batch too long to be there, which every consumer skips.
    Raises UnsupportedCompressionType when the first batch to convert is zstd, and what `decode_records` raises.
    """
    parts = bytearray()
    size: int | None = None
    try:
        for part in _converted(records, magic, first_offset, limit_bytes):
            size = max(len(records), len(part)) if size is None else size
            parts += part
            if len(parts) >= size:
                return bytes(parts[:size])
    except UnsupportedCompressionType:
        if size is None:
            raise
    if size is None:  # nothing is left of the batches, if there were any
        size = LOG_OVERHEAD if next(batches(records), None) is not None else 0
    return bytes(parts + _overflow(size - len(parts)))


def _converted(records: Buffer, magic: int, first_offset: int, limit_bytes: int) -> Iterator[Buffer]:
    for batch in batches(records):
        header = batch.header
        if header.is_control:
            continue
        if header.codec_id == Codec.ZSTD:
            raise UnsupportedCompressionType("Down-conversion of zstandard-compressed batches is not supported")
        if header.magic <= magic:
            yield batch.data
            continue
        kept = decode_records(batch, limit_bytes=limit_bytes)
        if not header.is_compressed:
            kept = [record for record in kept if record.offset >= first_offset]
        if kept:
            stamp = header.max_timestamp if header.uses_log_append_time else None
            yield build_message_set(kept, magic=magic, codec=codec_for_id(header.codec_id), log_append_time_ms=stamp)


def _overflow(size: int) -> bytes:
    """The first `size` bytes of a batch that claims more. Source: LazyDownConversionRecordsSend.buildOverflowBatch."""
    return _OFFSET_AND_LENGTH.pack(-1, max(size + 1, HEADER_SIZE)).ljust(size, b"\0")[:size]
