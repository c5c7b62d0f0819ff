"""What the validators of produced batches share: rules, result, and checks of any magic.

Role        Pure.
Source      Kafka 3.9 LogValidator's constructor and ValidationResult; UnifiedLog.append.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from kafka_zk.protocol.errors import CorruptMessage, MessageTooLarge
from kafka_zk.protocol.types import Buffer, TopicPartition
from kafka_zk.record.batch import LOG_OVERHEAD, NO_TIMESTAMP, BatchHeader, computed_crc, read_header
from kafka_zk.record.compression import DEFAULT_LIMIT_BYTES, Codec
from kafka_zk.record.record_errors import RecordChecks


class Origin(Enum):
    """The writer of a batch. A coordinator may write what a client may not, for instance control batches."""

    CLIENT = "client"
    COORDINATOR = "coordinator"


ConversionEnds = Callable[[int, int], None]
"""Called with the number of records converted or recompressed, and the bytes unpacked and written for it, as Kafka
counts them. May be called in a thread."""


@dataclass(frozen=True, slots=True)
class ValidationRules:
    """The rules for batches produced to one partition, from its topic's configs. Made once, used for each append.

    `target_codec` None is compression.type=producer: keep the client's. `conversion_begins` is called for each
    conversion. `keeps_plain`: an uncompressed batch in order is appended as it is, if its records have keys where
    `needs_keys`.
    """

    topic_partition: TopicPartition
    max_message_bytes: int = 1048588
    target_codec: Codec | None = None
    target_level: int | None = None
    decompressed_limit_bytes: int = DEFAULT_LIMIT_BYTES
    checks: RecordChecks = field(default_factory=RecordChecks)
    conversion_begins: Callable[[], ConversionEnds] | None = None
    keeps_plain: bool = field(init=False)
    needs_keys: bool = field(init=False)

    def __post_init__(self) -> None:
        rewrites = self.target_codec or self.checks.timestamp_type or self.checks.limits_timestamps
        object.__setattr__(self, "keeps_plain", not rewrites)
        object.__setattr__(self, "needs_keys", self.checks.is_compacted)


class ValidatedBatch:
    """A batch that may be appended once `assign_offsets` has run on its records.

    `header` is as it will be written, but for base offset (0) and leader epoch. `log_append_time_ms` is the one in
    the produce response: -1 with CreateTime. `is_rebuilt`: the bytes are new, recompressed or converted up.
    """

    __slots__ = ("header", "is_rebuilt", "log_append_time_ms", "records")

    def __init__(
        self, records: Buffer, header: BatchHeader, log_append_time_ms: int, *, is_rebuilt: bool = False
    ) -> None:
        self.records = records
        self.header = header
        self.log_append_time_ms = log_append_time_ms
        self.is_rebuilt = is_rebuilt


def check_size_and_crc(view: memoryview, position: int, header: BatchHeader, rules: ValidationRules) -> None:
    """The checks of every produced batch, of any magic. Raises MessageTooLarge, CorruptMessage."""
    size = header.length + LOG_OVERHEAD
    if size > rules.max_message_bytes:
        raise MessageTooLarge(
            f"The record batch size in the append to {rules.topic_partition} is {size} bytes which exceeds the "
            f"maximum configured value of {rules.max_message_bytes}."
        )
    check_crc(view, position, header, rules.topic_partition)


def check_rebuilt_size(batch: Buffer, rules: ValidationRules) -> None:
    """Raises MessageTooLarge when a rebuilt batch outgrew the limit."""
    if len(batch) > rules.max_message_bytes:
        raise MessageTooLarge(
            f"Message batch size is {len(batch)} bytes in append to partition {rules.topic_partition} which exceeds "
            f"the maximum configured size of {rules.max_message_bytes}."
        )


def check_crc(buffer: Buffer, position: int, header: BatchHeader, topic_partition: TopicPartition) -> None:
    if computed_crc(buffer, position, header) != header.crc:
        raise CorruptMessage(f"Record is corrupt (stored crc = {header.crc}) in topic partition {topic_partition}.")


def rebuilt_batch(batch: bytearray, rules: ValidationRules, now_ms: int) -> ValidatedBatch:
    """A new batch as the answer of `validate`. Raises MessageTooLarge."""
    check_rebuilt_size(batch, rules)
    log_append_time_ms = now_ms if rules.checks.timestamp_type else NO_TIMESTAMP
    return ValidatedBatch(memoryview(batch), read_header(batch), log_append_time_ms, is_rebuilt=True)
