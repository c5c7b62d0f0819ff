"""The timestamp type of a batch.

Role        Pure.
Source      Kafka 3.9 org.apache.kafka.common.record.TimestampType; topic config message.timestamp.type.
"""

from __future__ import annotations

from enum import IntEnum


class TimestampType(IntEnum):
    """The value is bit 3 of the attributes, as a number."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1

    @classmethod
    def for_config(cls, value: str) -> TimestampType:
        """Of `CreateTime` or `LogAppendTime`, as message.timestamp.type spells them."""
        return {"CreateTime": cls.CREATE_TIME, "LogAppendTime": cls.LOG_APPEND_TIME}[value]
