"""Validates a produced batch on the leader, and rewrites what the leader must change.

Role        Pure: every check that needs no state of the log, and the clock only as an argument. Safe to run in a pool.
            Called by the log for each append as leader, which then assigns the offsets.
Invariants  What is returned is one whole magic 2 batch with base offset 0 in a writable buffer, with a right crc.
            In-place work touches only attributes, max timestamp and crc, and only when they change.
Order       Base offset, size, crc; then count, control flag, sequence; then the records; as Kafka, so that a batch
            with two faults gets the same error.
Errors      InvalidRecord and InvalidTimestamp carry `record_errors` when single records are at fault (then Kafka also
            sends the message); CorruptMessage, MessageTooLarge; UnknownServerError when it does not decompress.
Source      Kafka 3.9 LogValidator, UnifiedLog.analyzeAndValidateRecords, DefaultRecordBatch.setMaxTimestamp.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import struct
from typing import Final

from kafka_zk.protocol.errors import InvalidRecord, UnknownServerError
from kafka_zk.protocol.types import Buffer, TopicPartition
from kafka_zk.record.batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CONTROL_BIT,
    CRC_AT,
    CRC_FROM,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_BIT,
    Batch,
    BatchHeader,
    batch_size,
    batches,
    read_header,
)
from kafka_zk.record.builder import build_batch
from kafka_zk.record.compression import Codec, check_record_count, codec_for_id
from kafka_zk.record.conversion import convert_up_produced
from kafka_zk.record.crc import crc32c
from kafka_zk.record.produced import (
    Origin,
    ValidatedBatch,
    ValidationRules,
    check_crc,
    check_size_and_crc,
    rebuilt_batch,
)
from kafka_zk.record.record import decode_records
from kafka_zk.record.record_errors import InvalidOffsetOrSequence, RecordChecks, reject
from kafka_zk.record.timestamp_type import TimestampType
from kafka_zk.record.walking import columns, plain_header, walk

__all__ = [
    "Origin",
    "RecordChecks",
    "ValidatedBatch",
    "ValidationRules",
    "check_replicated",
    "validate",
]

_read: Final = HEADER.unpack_from
_INT64: Final = struct.Struct(">q")
_KNOWN_ATTRIBUTES: Final = 0x7F
_new: Final = tuple.__new__  # a NamedTuple's own __new__ takes four times as long
_CLIENT: Final = Origin.CLIENT


def validate(records: Buffer, rules: ValidationRules, now_ms: int, origin: Origin = Origin.CLIENT) -> ValidatedBatch:
    """Check what was produced to one partition, and make it ready for its offsets.

    `records` is patched in place where it can be. A partial batch behind the first one is dropped.
    A message set of magic 0 or 1 comes back converted up. Raises as the module says.
    """
    if rules.keeps_plain and origin is _CLIENT:
        plain = plain_header(records, rules.max_message_bytes, rules.needs_keys)
        if plain is not None:
            return ValidatedBatch(records, plain, NO_TIMESTAMP)
    view = memoryview(records)
    if len(view) <= HEADER_SIZE or view[MAGIC_AT] != 2:
        return _validate_uncommon(view, rules, now_ms, origin)
    header: BatchHeader = _new(BatchHeader, _read(view))
    base_offset, length, _, _, crc, attributes, last_offset_delta, _, _, producer_id, _, base_sequence, count = header
    if length + LOG_OVERHEAD != len(view):
        view = _only_batch(view, rules, origin)
    if (
        (base_offset and origin is _CLIENT)
        or length + LOG_OVERHEAD > rules.max_message_bytes
        or crc32c(view[CRC_FROM:]) != crc
    ):
        _reject_bytes(view, 0, header, rules, origin)
    if origin is _CLIENT and (
        last_offset_delta + 1 != count or count <= 0 or attributes & CONTROL_BIT or (base_sequence < 0 <= producer_id)
    ):
        _reject_header(header, rules)
    return _check_records(view, header, rules, now_ms)


def check_replicated(records: Buffer, topic_partition: TopicPartition, up_to_epoch: int | None = None) -> list[Batch]:
    """The whole batches of what a leader sent to a follower, of any magic; a partial one at the end is left out.

    Also left out is everything from the first batch of a leader epoch after `up_to_epoch` on: a broker that no longer
    leads may write its next leader's records where a slow answer is still read from.
    Raises CorruptMessage for a wrong crc or impossible bytes, UnknownServerError when offsets do not increase.
    Source: UnifiedLog.appendAsFollower; KAFKA-18723.
    """
    checked: list[Batch] = []
    last_offset = -1
    for batch in batches(records):
        if up_to_epoch is not None and batch.header.partition_leader_epoch > up_to_epoch:
            break
        check_crc(batch.buffer, batch.position, batch.header, topic_partition)
        if batch.header.last_offset <= last_offset:
            offsets = [each.header.base_offset for each in batches(records)]
            raise UnknownServerError(f"Out of order offsets found in append to {topic_partition}: {offsets}")
        last_offset = batch.header.last_offset
        checked.append(batch)
    return checked


def _validate_uncommon(view: memoryview, rules: ValidationRules, now_ms: int, origin: Origin) -> ValidatedBatch:
    """No batch at all, an old magic, or a batch that is nothing but a header."""
    size = batch_size(view)
    if size is None or size > len(view):
        raise InvalidRecord("Record batch has no batches at all")
    if view[MAGIC_AT] < 2:
        return convert_up_produced(view, rules, now_ms)
    header = read_header(view)
    view = _only_batch(view, rules, origin)
    _reject_bytes(view, 0, header, rules, origin)
    if origin is _CLIENT:
        _reject_header(header, rules)
    return _check_records(view, header, rules, now_ms)


def _reject_bytes(view: memoryview, position: int, header: BatchHeader, rules: ValidationRules, origin: Origin) -> None:
    """Raise for the first fault of a whole batch that is visible without its records, if there is one."""
    if header.base_offset != 0 and header.magic == 2 and origin is _CLIENT:
        raise InvalidRecord(
            f"The baseOffset of the record batch in the append to {rules.topic_partition} should be 0, "
            f"but it is {header.base_offset}"
        )
    check_size_and_crc(view, position, header, rules)


def _reject_header(header: BatchHeader, rules: ValidationRules) -> None:
    """Raise for the first thing a client may not write in a header, if there is one."""
    where = f"in topic partition {rules.topic_partition}"
    offsets = f"[{header.base_offset}, {header.last_offset}]"
    if header.last_offset_delta < 0:
        raise InvalidOffsetOrSequence(f"Batch has an invalid offset range: {offsets} {where}")
    if header.record_count <= 0:
        raise InvalidOffsetOrSequence(f"Invalid reported count for record batch: {header.record_count} {where}")
    if header.last_offset_delta + 1 != header.record_count:
        raise InvalidOffsetOrSequence(
            f"Inconsistent batch offset range {offsets} and count of records {header.record_count} {where}"
        )
    if header.is_control:
        raise InvalidOffsetOrSequence(f"Clients are not allowed to write control records {where}")
    if header.has_producer_id and header.base_sequence < 0:
        raise InvalidOffsetOrSequence(
            f"Invalid sequence number {header.base_sequence} in record batch with producerId {header.producer_id} "
            f"{where}"
        )


def _only_batch(view: memoryview, rules: ValidationRules, origin: Origin) -> memoryview:
    """The first batch of `view`. What follows may be a partial batch, not a whole one."""
    found = list(batches(view))
    if not found:
        raise InvalidRecord("Record batch has no batches at all")
    for batch in found:
        _reject_bytes(view, batch.position, batch.header, rules, origin)
    if len(found) > 1:
        raise InvalidRecord("Compressed outer record has more than one batch")
    return view[: found[0].size_bytes]


def _check_records(view: memoryview, header: BatchHeader, rules: ValidationRules, now_ms: int) -> ValidatedBatch:
    attributes = header.attributes
    source = attributes & CODEC_MASK
    target = source if rules.target_codec is None or (attributes & CONTROL_BIT and not source) else rules.target_codec
    base_timestamp, count = header.base_timestamp, header.record_count
    plain: Buffer
    if source and count:
        plain = codec_for_id(source).decompress(view[HEADER_SIZE:], rules.decompressed_limit_bytes)
        start, end = 0, len(plain)
    else:
        plain, start, end = view, HEADER_SIZE, len(view)
    max_timestamp, _, min_timestamp, null_key, consecutive = walk(plain, start, end, count, base_timestamp)
    checks = rules.checks
    stamped = attributes & TIMESTAMP_TYPE_BIT
    if stamped:
        max_timestamp = min_timestamp = header.max_timestamp
    if (
        (null_key and checks.is_compacted)
        or (stamped and (checks.timestamp_type or max_timestamp == NO_TIMESTAMP))
        or (checks.limits_timestamps and not checks.allows(min_timestamp, max_timestamp, now_ms))
    ):
        check_record_count(count, rules.decompressed_limit_bytes)
        rows = columns(plain, start, end, count, base_timestamp)
        partial = bool(source) and source == target
        reject(checks.errors_of(rows, header, rules.topic_partition, now_ms, is_partial=partial))
    if source != target:
        if min_timestamp < NO_TIMESTAMP:
            raise UnknownServerError(f"Invalid negative timestamp {min_timestamp}")
        check_record_count(count, rules.decompressed_limit_bytes)
        return _rebuild(Batch(view, 0, header), Codec(target), rules, now_ms, plain_bytes=end - start)
    if source:
        if not consecutive:
            # Kafka wants to rebuild such a batch from records whose keys it has skipped, fails, and answers so.
            raise UnknownServerError("The offsets of a compressed batch's records must count up from 0")
        if rules.conversion_begins is not None:
            rules.conversion_begins()(0, HEADER_SIZE + end - start)
    if checks.timestamp_type:
        return _patched(view, header, TimestampType.LOG_APPEND_TIME, now_ms, now_ms)
    if stamped or max_timestamp != header.max_timestamp:
        max_timestamp = max(max_timestamp, NO_TIMESTAMP)
        return _patched(view, header, TimestampType.CREATE_TIME, max_timestamp, NO_TIMESTAMP)
    if view.readonly:
        view = memoryview(bytearray(view))
    return ValidatedBatch(view, header, NO_TIMESTAMP)


def _patched(
    view: memoryview, header: BatchHeader, timestamp_type: TimestampType, max_timestamp: int, log_append_time_ms: int
) -> ValidatedBatch:
    """The batch with another timestamp type or max timestamp, and so another crc."""
    if view.readonly:
        view = memoryview(bytearray(view))
    if header.uses_log_append_time == bool(timestamp_type) and header.max_timestamp == max_timestamp:
        return ValidatedBatch(view, header, log_append_time_ms)
    attributes = header.attributes & _KNOWN_ATTRIBUTES & ~TIMESTAMP_TYPE_BIT
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        attributes |= TIMESTAMP_TYPE_BIT
    view[ATTRIBUTES_AT : ATTRIBUTES_AT + 2] = attributes.to_bytes(2, "big")
    _INT64.pack_into(view, MAX_TIMESTAMP_AT, max_timestamp)
    crc = crc32c(view[CRC_FROM:])
    view[CRC_AT:CRC_FROM] = crc.to_bytes(4, "big")
    header = header._replace(attributes=attributes, max_timestamp=max_timestamp, crc=crc)
    return ValidatedBatch(view, header, log_append_time_ms)


def _rebuild(batch: Batch, codec: Codec, rules: ValidationRules, now_ms: int, *, plain_bytes: int) -> ValidatedBatch:
    """The same records, numbered 0, 1, 2 ..., in one new batch with another codec."""
    ends = None if rules.conversion_begins is None else rules.conversion_begins()
    header = batch.header
    records = [
        record._replace(offset=index)
        for index, record in enumerate(decode_records(batch, limit_bytes=rules.decompressed_limit_bytes))
    ]
    rebuilt = build_batch(
        records,
        codec=codec,
        level=rules.target_level,
        timestamp_type=rules.checks.timestamp_type,
        log_append_time_ms=now_ms,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        control=header.is_control,
    )
    validated = rebuilt_batch(rebuilt, rules, now_ms)
    if ends is not None:
        # Unpacked and packed again, each with the head of a batch.
        ends(len(records), 2 * (HEADER_SIZE + plain_bytes))
    return validated
