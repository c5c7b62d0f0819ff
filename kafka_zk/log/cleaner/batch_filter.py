"""Cleans one batch: kept, rewritten, reduced to its header, or dropped.

Role        Pure. The batches that `record.filtering` cannot filter in bulk: transactional, control, of
            magic 0 and 1, partly obsolete, or the last of a producer.
Invariants  What is rewritten keeps its base and last offset, sequence, producer, leader epoch, codec and timestamp
            type. A tombstone or a marker of an emptied transaction that is seen for the first time gives its batch a
            delete horizon, `now` + delete.retention.ms, in place of the base timestamp; from then on it may be removed.
            The last batch of a producer that is remembered stays, without records if need be: its sequence is needed.
Differs from Kafka: a batch whose crc is wrong ends the cleaning (CorruptMessage); Kafka gives it a fresh crc.
Source      Kafka 3.9 Cleaner.cleanInto, shouldRetainRecord; MemoryRecords.filterTo, buildRetainedRecordsInto.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kafka_zk.log.cleaner.transactions import CleanedTransactions
from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.protocol.types import Buffer
from kafka_zk.record.batch import DELETE_HORIZON_BIT, HEADER_SIZE, Batch, BatchHeader
from kafka_zk.record.builder import assemble, build_empty_batch
from kafka_zk.record.compression import Codec, codec_for_id
from kafka_zk.record.control import ControlType, control_type_of
from kafka_zk.record.filtering import Selection, find_key, rewrite, select
from kafka_zk.record.legacy import Message, message_set_of, messages
from kafka_zk.record.record import decode_records
from kafka_zk.record.timestamp_type import TimestampType

_KEPT_ATTRIBUTES = 0x3F


class LastRecord(NamedTuple):
    """Where a known producer last wrote. `data_offset` is -1 when a marker came last."""

    data_offset: int
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class FilterRules:
    """The rules for all batches of a pass through one segment.

    `table` and `seed`: the key table of the dirty section, which ends with `latest_offset`.
    """

    table: Buffer
    seed: bytes
    latest_offset: int
    now_ms: int
    delete_retention_ms: int
    keep_legacy_tombstones: bool
    last_records: Mapping[int, LastRecord]


class Filtered(NamedTuple):
    """`data`: the bytes to write, None for nothing. `read_count` excludes skipped batches."""

    data: Buffer | None
    read_count: int = 0
    kept_count: int = 0
    keyless_count: int = 0


def filter_batch(batch: Batch, rules: FilterRules, transactions: CleanedTransactions) -> Filtered:
    """Raises CorruptMessage, InvalidRecord, UnknownServerError (decompression failed)."""
    if not batch.is_valid():
        raise CorruptMessage(f"Record is corrupt: the batch at offset {batch.header.base_offset} fails its crc")
    header = batch.header
    if header.magic < 2:
        transactions.is_aborted_data(-1, header.base_offset, is_transactional=False)
        return _filter_legacy(batch, rules)
    if header.is_control:
        return _filter_control(batch, rules, transactions)
    if transactions.is_aborted_data(header.producer_id, header.last_offset, is_transactional=header.is_transactional):
        return _emptied(header, header.record_count) if _is_last_of_producer(header, rules) else Filtered(None)
    return _filter_data(batch, rules)


def rewrite_batch(
    batch: Batch, payload: Buffer, position: int, end: int, chosen: Selection, horizon_ms: int | None
) -> Filtered:
    """The batch with the chosen records of its plain payload, and a delete horizon if needed."""
    header = batch.header
    stamp = header.max_timestamp if header.uses_log_append_time else None
    written = rewrite(payload, position, end, chosen.mask, header.base_timestamp, horizon_ms, stamp)
    max_timestamp = written.max_timestamp if stamp is None else stamp
    records = written.payload
    if header.is_compressed:
        records = codec_for_id(header.codec_id).compress(records)
    data = assemble(
        records,
        base_offset=header.base_offset,
        leader_epoch=header.partition_leader_epoch,
        attributes=header.attributes & _KEPT_ATTRIBUTES | (0 if horizon_ms is None else DELETE_HORIZON_BIT),
        last_offset_delta=header.last_offset_delta,
        base_timestamp=written.base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        count=chosen.kept_count,
    )
    return Filtered(data, header.record_count, chosen.kept_count, chosen.keyless_count)


def horizon_after(header: BatchHeader, rules: FilterRules, *, is_needed: bool) -> int | None:
    """The delete horizon of what is left of a batch: the one it has, or a new one if it needs one."""
    if header.delete_horizon_ms is None and is_needed:
        return rules.now_ms + rules.delete_retention_ms
    return header.delete_horizon_ms


def _filter_data(batch: Batch, rules: FilterRules) -> Filtered:
    header = batch.header
    payload, position, end = _plain_payload(batch)
    horizon = header.delete_horizon_ms
    chosen = select(
        rules.table,
        rules.seed,
        rules.latest_offset,
        horizon is None or rules.now_ms < horizon,
        payload,
        position,
        end,
        header.record_count,
        header.base_offset,
    )
    if chosen.kept_count == header.record_count > 0 and not (chosen.has_tombstones and horizon is None):
        return _whole(batch, chosen.kept_count)
    if chosen.kept_count:
        new_horizon = horizon_after(header, rules, is_needed=chosen.has_tombstones)
        return rewrite_batch(batch, payload, position, end, chosen, new_horizon)
    if _is_last_of_producer(header, rules):
        return _emptied(header, header.record_count, chosen.keyless_count)
    return Filtered(None, header.record_count, keyless_count=chosen.keyless_count)


def _filter_control(batch: Batch, rules: FilterRules, transactions: CleanedTransactions) -> Filtered:
    header = batch.header
    may_discard = transactions.may_discard_marker(header.producer_id, header.last_offset, control_type(batch))
    horizon = header.delete_horizon_ms
    is_last = _is_last_of_producer(header, rules)
    if may_discard and horizon is not None and horizon <= rules.now_ms:
        return _emptied(header, header.record_count) if is_last else Filtered(None)
    if not header.record_count:
        return _emptied(header, 0) if is_last else Filtered(None)
    if may_discard and horizon is None:
        payload, position, end = _plain_payload(batch)
        everything = Selection(b"\x01" * header.record_count, header.record_count, False, 0)
        return rewrite_batch(batch, payload, position, end, everything, horizon_after(header, rules, is_needed=True))
    return _whole(batch, header.record_count)


def _filter_legacy(batch: Batch, rules: FilterRules) -> Filtered:
    header = batch.header
    inner = messages(batch)
    kept = [each for each in inner if _stays(each, rules)]
    keyless = sum(each.record.key is None and each.record.offset <= rules.latest_offset for each in inner)
    if not kept:
        return Filtered(None, len(inner), keyless_count=keyless)
    # Old brokers mixed magics inside a wrapper; rewriting repairs that.
    if len(kept) == len(inner) and all(each.magic == header.magic for each in inner):
        return _whole(batch, len(kept))._replace(keyless_count=keyless)
    stamp = header.max_timestamp if header.uses_log_append_time else None
    data = message_set_of(
        [each.record.offset for each in kept],
        [each.record.timestamp for each in kept],
        [each.record.key for each in kept],
        [each.record.value for each in kept],
        magic=header.magic,
        codec=codec_for_id(header.codec_id),
        log_append_time_ms=stamp,
    )
    return Filtered(data, len(inner), len(kept), keyless)


def _stays(message: Message, rules: FilterRules) -> bool:
    record = message.record
    if record.offset > rules.latest_offset:
        return True
    if record.key is None or record.offset < find_key(rules.table, rules.seed, record.key):
        return False
    return record.value is not None or rules.keep_legacy_tombstones


def control_type(batch: Batch) -> ControlType | None:
    """The type of a batch's control record; None if the record was removed. Raises InvalidRecord."""
    records = decode_records(batch)
    return control_type_of(records[0].key) if records else None


def _plain_payload(batch: Batch) -> tuple[Buffer, int, int]:
    """The records of a magic 2 batch, decompressed: (buffer, start, end)."""
    header = batch.header
    if header.codec_id == Codec.NONE or not header.record_count:
        return batch.buffer, batch.position + HEADER_SIZE, batch.end
    plain = codec_for_id(header.codec_id).decompress(batch.payload)
    return plain, 0, len(plain)


def _is_last_of_producer(header: BatchHeader, rules: FilterRules) -> bool:
    last = rules.last_records.get(header.producer_id) if header.has_producer_id else None
    if last is None:
        return False
    if last.data_offset >= 0:
        return header.last_offset == last.data_offset
    return header.is_control and header.producer_epoch == last.producer_epoch


def _whole(batch: Batch, count: int) -> Filtered:
    return Filtered(batch.data, count, count)


def _emptied(header: BatchHeader, read_count: int, keyless_count: int = 0) -> Filtered:
    stamped = TimestampType.LOG_APPEND_TIME if header.uses_log_append_time else TimestampType.CREATE_TIME
    data = build_empty_batch(
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        timestamp_type=stamped,
        max_timestamp=header.max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        leader_epoch=header.partition_leader_epoch,
        transactional=header.is_transactional,
        control=header.is_control,
    )
    return Filtered(data, read_count, 0, keyless_count)
