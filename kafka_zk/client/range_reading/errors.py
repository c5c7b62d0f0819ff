"""Why a planned range cannot be read. Each message is one sentence for users.

Role        Pure.
"""

from __future__ import annotations

from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.types import TopicPartition


class RangeError(KafkaException):
    """A range of a partition that cannot be read completely."""


class OffsetsLost(RangeError):
    """Records of the range were deleted before they were read. `log_start_offset` is the first remaining offset."""

    def __init__(self, partition: TopicPartition, position: int, end_offset: int, log_start_offset: int) -> None:
        super().__init__(
            f"Offsets {position} to {min(end_offset, log_start_offset) - 1} of partition {partition} are gone: its log "
            f"starts at offset {log_start_offset}, and the planned range ends before offset {end_offset}."
        )
        self.log_start_offset = log_start_offset


class EndBeyondLog(RangeError):
    """The range ends beyond the log."""

    def __init__(self, partition: TopicPartition, position: int, end_offset: int, log_end_offset: int) -> None:
        super().__init__(
            f"The planned range of partition {partition} ends before offset {end_offset}, but its log ends at offset "
            f"{log_end_offset}: offsets {position} to {end_offset - 1} cannot be read."
        )
        self.log_end_offset = log_end_offset


class TopicReplaced(RangeError):
    """The topic was deleted and recreated since the range was planned, so its offsets mean other records."""

    def __init__(self, partition: TopicPartition, position: int, end_offset: int) -> None:
        super().__init__(
            f"Topic {partition.topic} was deleted and created again: the planned offsets {position} to "
            f"{end_offset - 1} of partition {partition} are gone."
        )


class NoProgress(RangeError):
    """No broker served the range in time."""

    def __init__(self, partition: TopicPartition, position: int, end_offset: int, waited_ms: int, cause: str) -> None:
        super().__init__(
            f"Offsets {position} to {end_offset - 1} of partition {partition} could not be read for {waited_ms} ms: "
            f"{cause}"
        )


class CorruptRange(RangeError):
    """A batch of the range has a wrong checksum or cannot be decoded."""

    def __init__(self, partition: TopicPartition, base_offset: int, last_offset: int, what: str) -> None:
        super().__init__(f"The batch of offsets {base_offset} to {last_offset} of partition {partition}: {what}")
