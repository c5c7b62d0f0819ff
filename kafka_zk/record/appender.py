"""The payload of a producer batch that grows record by record.

Role        Pure. The twin of `_appender.pyx`, which is fast enough for a producer; `appending.py`
            chooses.
Invariants  Offsets are 0, 1, 2 ... in the order of the calls; timestamps are relative to the first record's.
            A record that does not fit changes nothing.
Source      Kafka 3.9 MemoryRecordsBuilder (hasRoomFor, appendDefaultRecord), DefaultRecord.writeTo.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_zk.record.batch import HEADER_SIZE
from kafka_zk.record.types import Buffer, Header
from kafka_zk.record.walking import encode


class BatchAppender:
    """The records of a batch under construction."""

    def __init__(self) -> None:
        self.count = 0
        self.base_timestamp = -1
        self.max_timestamp = -1
        self._out = bytearray()

    @property
    def size_bytes(self) -> int:
        """Bytes of the records before compression, without the batch's header."""
        return len(self._out)

    def append(
        self,
        timestamp: int,
        key: Buffer | None,
        value: Buffer | None,
        headers: Sequence[Header],
        limit_bytes: int,
        ratio: float,
    ) -> int:
        """Add a record. Returns its size in bytes, or 0 if the batch would then be larger than `limit_bytes`.

        The first record always fits. `ratio` is the expected compression ratio of the bytes already there; those of the
        new record count in full. Raises TypeError for a key or value that is not a buffer.
        """
        base_timestamp = self.base_timestamp if self.count else timestamp
        record = encode([(self.count, timestamp, key, value, headers)], 0, base_timestamp)
        if self.count and HEADER_SIZE + len(self._out) * ratio + len(record) > limit_bytes:
            return 0
        self._out += record
        self.base_timestamp = base_timestamp
        self.max_timestamp = max(self.max_timestamp, timestamp)
        self.count += 1
        return len(record)

    def payload(self) -> bytearray:
        """A copy of the records' bytes so far."""
        return self._out[:]
