"""Checks single records against a topic's rules, and reports the records at fault.

Role        Pure. `RecordChecks.allows` answers for a whole batch from its bounds; only when it does not, `errors_of`
            looks at each record.
Source      Kafka 3.9 LogValidator.validateKey, validateTimestamp, processRecordErrors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from kafka_zk.protocol.errors import BrokerError, ErrorCode, InvalidRecord, InvalidTimestamp, RecordsError
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import NO_TIMESTAMP, BatchHeader
from kafka_zk.record.timestamp_type import TimestampType
from kafka_zk.record.walker import Columns

MAX_INT64 = 0x7FFFFFFFFFFFFFFF
_KEYLESS = "Compacted topic cannot accept message without key"


class MixedMagic(InvalidRecord):
    """Messages of two magics in one set. Kafka counts these separately."""


class InvalidOffsetOrSequence(InvalidRecord):
    """A header whose offsets, counts or sequence no client may write. Kafka counts these separately."""


class RecordError(NamedTuple):
    """One record's fault: its index in the batch, the code and Kafka's text."""

    batch_index: int
    code: ErrorCode
    message: str


@dataclass(frozen=True, slots=True)
class RecordChecks:
    """The topic's configs that concern single records. The limits are differences to the broker's clock in ms."""

    is_compacted: bool = False
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    timestamp_before_max_ms: int = MAX_INT64
    timestamp_after_max_ms: int = MAX_INT64
    limits_timestamps: bool = field(init=False)

    def __post_init__(self) -> None:
        limited = min(self.timestamp_before_max_ms, self.timestamp_after_max_ms) < MAX_INT64
        object.__setattr__(self, "limits_timestamps", limited and self.timestamp_type is TimestampType.CREATE_TIME)

    def allows(self, min_timestamp: int, max_timestamp: int, now_ms: int) -> bool:
        """Whether every timestamp between the two bounds of a batch is within the limits.

        A False may be wrong at the borders of 64 bits; `errors_of` has the last word.
        """
        if min_timestamp == MAX_INT64 and max_timestamp == NO_TIMESTAMP:
            return True
        return (
            now_ms - min_timestamp <= self.timestamp_before_max_ms
            and max_timestamp - now_ms <= self.timestamp_after_max_ms
            and min_timestamp > NO_TIMESTAMP
        )

    def timestamp_error(
        self, index: int, timestamp: int, offset: int, *, stamped_by_client: bool, now_ms: int, description: str
    ) -> RecordError | None:
        """What is wrong with one record's timestamp. `description` prints the record as Kafka does."""
        if self.timestamp_type is TimestampType.CREATE_TIME and timestamp != NO_TIMESTAMP:
            difference = _wrap(now_ms - timestamp)
            if difference <= self.timestamp_before_max_ms and _wrap(-difference) <= self.timestamp_after_max_ms:
                return None
            lowest, highest = _wrap(now_ms - self.timestamp_before_max_ms), _wrap(now_ms + self.timestamp_after_max_ms)
            text = (
                f"Timestamp {timestamp} of message with offset {offset} is out of range. "
                f"The timestamp should be within [{lowest}, {highest}]"
            )
        elif stamped_by_client:
            text = (
                f"Invalid timestamp type in message {description}. "
                "Producer should not set timestamp type to LogAppendTime."
            )
        else:
            return None
        return RecordError(index, ErrorCode.INVALID_TIMESTAMP, text)

    def key_error(self, index: int, topic_partition: TopicPartition) -> RecordError:
        text = f"{_KEYLESS} in topic partition {topic_partition}"
        return RecordError(index, ErrorCode.INVALID_RECORD, text)

    def errors_of(
        self, rows: Columns, header: BatchHeader, topic_partition: TopicPartition, now_ms: int, *, is_partial: bool
    ) -> list[RecordError]:
        """The errors of the records of one magic 2 batch, at most one each.

        `is_partial` says that Kafka would not have read keys and values here; it shows in one of its texts.
        """
        errors: list[RecordError] = []
        stamped = header.uses_log_append_time
        name = "PartialDefaultRecord" if is_partial else "DefaultRecord"
        for index, key_size in enumerate(rows.key_sizes):
            if key_size < 0 and self.is_compacted:
                errors.append(self.key_error(index, topic_partition))
                continue
            timestamp = header.max_timestamp if stamped else rows.timestamps[index]
            offset = header.base_offset + rows.offset_deltas[index]
            sizes = (
                (key_size, rows.value_sizes[index])
                if is_partial
                else (max(key_size, 0), max(rows.value_sizes[index], 0))
            )
            description = (
                f"{name}(offset={offset}, timestamp={timestamp}, key={sizes[0]} bytes, value={sizes[1]} bytes)"
            )
            error = self.timestamp_error(
                index, timestamp, offset, stamped_by_client=stamped, now_ms=now_ms, description=description
            )
            if error is not None:
                errors.append(error)
        return errors


def keyless_count(error: BrokerError) -> int:
    """How many records `error` refuses because a compacted topic needs keys."""
    return sum(text.startswith(_KEYLESS) for _, text in error.record_errors) if isinstance(error, RecordsError) else 0


def reject(errors: Sequence[RecordError]) -> None:
    """Raise for the whole batch, naming the records, when there are any errors. A bad timestamp wins."""
    if errors:
        _raise(errors)


def _raise(errors: Sequence[RecordError]) -> NoReturn:
    named = [(error.batch_index, error.message) for error in errors]
    if any(error.code is ErrorCode.INVALID_TIMESTAMP for error in errors):
        raise InvalidTimestamp("One or more records have been rejected due to invalid timestamp", record_errors=named)
    shown = ", ".join(f"RecordError(batchIndex={index}, message='{text}')" for index, text in named[:3])
    raise InvalidRecord(
        f"One or more records have been rejected due to {len(named)} record errors in total, "
        f"and only showing the first three errors at most: [{shown}]",
        record_errors=named,
    )


def _wrap(number: int) -> int:
    """As Java's long arithmetic leaves it."""
    number &= 0xFFFFFFFFFFFFFFFF
    return number - (1 << 64) if number > MAX_INT64 else number
