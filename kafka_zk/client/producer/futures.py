"""The result of a send: one shared by all records of a batch, and a small future for each record.

Role        Acts: callers may wait for the sender thread.
Invariants  A batch's outcome is set once. A split batch has none of its own; its parts have.
Source      Kafka 3.9 ProduceRequestResult, FutureRecordMetadata, RecordMetadata.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from kafka_zk.client.errors import TimeoutException
from kafka_zk.client.waits import waitable

NO_OFFSET: Final = -1
NO_TIMESTAMP: Final = -1


class RecordMetadata(NamedTuple):
    """Where a record was written. Offset -1: unknown (acks=0, or a known duplicate); size -1: None was sent."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    serialized_key_size: int
    serialized_value_size: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}@{self.offset}"


class BatchResult:
    """The outcome of one batch."""

    __slots__ = ("_done", "base_offset", "error_of", "log_append_time_ms", "partition", "parts", "topic")

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.base_offset = NO_OFFSET
        self.log_append_time_ms = NO_TIMESTAMP
        self.error_of: Callable[[int], Exception] | None = None
        """The error of the record at an index; None if the batch was taken."""
        self.parts: list[tuple[int, BatchResult]] = []
        """After a split: the index of each part's first record, in order."""
        self._done = threading.Event()

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Blocks. Returns whether the batch has completed or been split."""
        return self._done.wait(None if timeout_s is None else waitable(timeout_s))

    def settle(self) -> None:
        """The outcome is complete: wake the waiting threads."""
        self._done.set()

    def part_of(self, index: int) -> tuple[BatchResult, int]:
        """The part that took over the record, and its index there."""
        first, part = next((first, part) for first, part in reversed(self.parts) if first <= index)
        return part, index - first


class RecordFuture:
    """The future of one record. Any thread may use it."""

    __slots__ = ("_index", "_key_size", "_result", "_timestamp", "_value_size")

    def __init__(self, result: BatchResult, index: int, timestamp: int, key_size: int, value_size: int) -> None:
        self._result = result
        self._index = index
        self._timestamp = timestamp
        self._key_size = key_size
        self._value_size = value_size

    def __repr__(self) -> str:
        return f"RecordFuture({self._result.topic}-{self._result.partition} done={self.done()})"

    @property
    def index(self) -> int:
        """Its place in the batch."""
        return self._index

    @property
    def partition(self) -> int:
        """The partition that it was appended for."""
        return self._result.partition

    def done(self) -> bool:
        """Whether `result` would return without blocking."""
        return self._place()[0].is_done

    def result(self, timeout_s: float | None = None) -> RecordMetadata:
        """Blocks. The record's metadata. Raises its error, or TimeoutException after `timeout_s`."""
        error = self.exception(timeout_s)
        if error is not None:
            raise error
        return self.metadata()

    def exception(self, timeout_s: float | None = None) -> Exception | None:
        """Blocks. The record's error, or None. Raises TimeoutException after `timeout_s`."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = None if deadline_s is None else max(0.0, deadline_s - time.monotonic())
            result, index = self._place()
            if not result.wait(left_s):
                raise TimeoutException(f"Timeout after waiting for {round((timeout_s or 0) * 1000)} ms.")
            if not result.parts:
                return None if result.error_of is None else result.error_of(index)

    def metadata(self) -> RecordMetadata:
        """The metadata known so far; the offset is -1 until the broker has accepted the record."""
        result, index = self._place()
        offset = NO_OFFSET if result.base_offset == NO_OFFSET else result.base_offset + index
        timestamp = self._timestamp if result.log_append_time_ms == NO_TIMESTAMP else result.log_append_time_ms
        return RecordMetadata(result.topic, result.partition, offset, timestamp, self._key_size, self._value_size)

    def _place(self) -> tuple[BatchResult, int]:
        """The batch that holds the record now, which is a part of its first one after a split, and its index there.

        Looked up each time, so that two threads may wait for one future.
        """
        result, index = self._result, self._index
        while result.is_done and result.parts:
            result, index = result.part_of(index)
        return result, index


def failed_future(topic: str, partition: int, error: Exception) -> RecordFuture:
    """The future of a record that was never added to a batch."""
    result = BatchResult(topic, partition)
    result.error_of = lambda _: error
    result.settle()
    return RecordFuture(result, 0, NO_TIMESTAMP, -1, -1)
