"""Validates what a Produce request may carry for one partition.

Role        The checks of the request; the log checks the batch itself, and converts old message sets up.
Invariants  From version 3 on, the result is exactly one batch of magic 2.
Source      Kafka 3.9 ProduceRequest.validateRecords.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from struct import Struct
from typing import Final

from kafka_zk.protocol.errors import (
    CorruptMessage,
    InvalidRecord,
    TransactionalIdAuthorizationFailed,
    UnsupportedCompressionType,
)
from kafka_zk.protocol.types import Buffer
from kafka_zk.record.batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_AT,
    TRANSACTIONAL_BIT,
    batch_size,
    batches,
)
from kafka_zk.record.compression import Codec

BATCHES_FROM: Final = 3
"""From this version on records come as one batch of magic 2; before as message sets of magic 0 and 1."""

ZSTD_FROM: Final = 7

_length_and_magic: Final = Struct(">8xi4xb").unpack_from
_producer: Final = Struct(">qhi").unpack_from
_PRODUCER_AT: Final = 43
_LOW_ATTRIBUTES_AT: Final = ATTRIBUTES_AT + 1


class NoBatchAtAll(CorruptMessage):
    """The first bytes are not a batch. Kafka checks this before anything else, so the whole request fails."""


class TransactionalBatch(TransactionalIdAuthorizationFailed):
    """Kafka looks for these before anything else, whatever the request says of its producer: all of it fails."""


def is_transactional(records: Buffer | None, api_version: int) -> bool:
    """Whether what the request holds for a partition begins with a batch of a transaction.

    Message sets of old versions may hold one, too, also behind others: they are looked through.
    """
    if records is None or len(records) < HEADER_SIZE:
        return False
    if api_version < BATCHES_FROM:
        return _holds_transactional(records)
    return records[MAGIC_AT] == 2 and bool(records[_LOW_ATTRIBUTES_AT] & TRANSACTIONAL_BIT)


def producer_of(records: Buffer) -> tuple[int, int, int]:
    """Producer id, producer epoch and base sequence of a batch of magic 2."""
    producer_id, producer_epoch, base_sequence = _producer(records, _PRODUCER_AT)
    return producer_id, producer_epoch, base_sequence


def _holds_transactional(records: Buffer) -> bool:
    """An uncompressed message set is thousands of batches, so only what is asked of each is read."""
    position, last = 0, len(records) - HEADER_SIZE
    while position <= last:
        length, magic = _length_and_magic(records, position)
        if magic == 2 and records[position + _LOW_ATTRIBUTES_AT] & TRANSACTIONAL_BIT:
            return True
        if length <= 0:
            # The log refuses all of it.
            return False
        position += length + LOG_OVERHEAD
    return False


def one_batch(records: Buffer | None, api_version: int, *, may_be_transactional: bool = False) -> Buffer:
    """The batch to append.

    Raises InvalidRecord, NoBatchAtAll, CorruptMessage, UnsupportedCompressionType, and TransactionalBatch unless the
    client may send one.
    """
    if records is None or api_version < BATCHES_FROM or len(records) < HEADER_SIZE:
        return _uncommon(records, api_version, may_be_transactional)
    length, magic = _length_and_magic(records)
    if magic != 2 or length + LOG_OVERHEAD != len(records):
        return _uncommon(records, api_version, may_be_transactional)
    attributes = records[_LOW_ATTRIBUTES_AT]
    if attributes & TRANSACTIONAL_BIT and not may_be_transactional:
        raise TransactionalBatch
    if api_version < ZSTD_FROM and attributes & CODEC_MASK == Codec.ZSTD:
        raise UnsupportedCompressionType(
            f"Produce requests with version {api_version} are not allowed to use ZStandard compression"
        )
    return records


def _uncommon(records: Buffer | None, api_version: int, may_be_transactional: bool) -> Buffer:
    """Handle everything that is not exactly one whole batch of magic 2."""
    if records is not None:
        try:
            batch_size(records)
        except CorruptMessage as error:
            raise NoBatchAtAll(str(error)) from error
    found = [] if records is None else list(batches(records))
    if records is None or not found:
        raise InvalidRecord(
            f"Produce requests with version {api_version} must have at least one record batch per partition"
        )
    if not may_be_transactional and is_transactional(records, api_version):
        raise TransactionalBatch
    if api_version < BATCHES_FROM:
        return records
    only = f"Produce requests with version {api_version} are only allowed to contain"
    if found[0].header.magic != 2:
        raise InvalidRecord(f"{only} record batches with magic version 2")
    if len(found) > 1:
        raise InvalidRecord(f"{only} exactly one record batch per partition")
    # A batch cut short behind the first is not data.
    return one_batch(records[: found[0].end], api_version, may_be_transactional=may_be_transactional)
