"""The producer's buffer.memory: blocks appenders while it is used up.

Role        Acts: an appender waits here, in the accumulator's lock, until completed batches release memory.
Invariants  0 <= available <= total. Waiting threads are served in order.
Source      Kafka 3.9 BufferPool.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import threading
import time
from collections import deque

from kafka_zk.client.errors import IllegalArgumentException, KafkaException
from kafka_zk.client.producer.errors import BufferExhaustedException
from kafka_zk.client.waits import waitable


class _Waiter:
    """A thread that waits for memory."""

    def __init__(self, lock: threading.Lock, size_bytes: int) -> None:
        self.condition = threading.Condition(lock)
        self.size_bytes = size_bytes


class BufferPool:
    """Counts bytes; a holder owns the bytes it took. All calls are made holding `lock`."""

    def __init__(self, total_bytes: int, lock: threading.Lock) -> None:
        self.total_bytes = total_bytes
        self.available_bytes = total_bytes
        self.wait_time_ns = 0
        self.exhausted_count = 0
        self._lock = lock
        self._waiting: deque[_Waiter] = deque()
        self._is_closed = False

    def __repr__(self) -> str:
        return f"buffer {self.available_bytes}/{self.total_bytes} waiting={len(self._waiting)}"

    @property
    def waiting_count(self) -> int:
        """Threads that wait for memory."""
        return len(self._waiting)

    def try_take(self, size_bytes: int) -> bool:
        """Take memory if there is enough and no other thread waits for it."""
        if self._waiting or size_bytes > self.available_bytes:
            return False
        self.available_bytes -= size_bytes
        return True

    def wait_and_take(self, size_bytes: int, deadline_s: float, max_block_ms: int) -> None:
        """Blocks, releasing the lock. Take memory as soon as it is available, in the order of waiting threads.

        Raises BufferExhaustedException at the deadline (time.monotonic), KafkaException when the producer closes,
        IllegalArgumentException at once for more than buffer.memory.
        """
        if size_bytes > self.total_bytes:
            raise IllegalArgumentException(
                f"Attempt to allocate {size_bytes} bytes, but there is a hard limit of {self.total_bytes} "
                "on memory allocations."
            )
        mine = _Waiter(self._lock, size_bytes)
        began_ns = time.monotonic_ns()
        self._waiting.append(mine)
        try:
            while self._is_closed or self._waiting[0] is not mine or size_bytes > self.available_bytes:
                if self._is_closed:
                    raise KafkaException("Producer closed while allocating memory")
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    self.exhausted_count += 1
                    raise BufferExhaustedException(
                        f"Failed to allocate {size_bytes} bytes within the configured max blocking time "
                        f"{max_block_ms} ms. Total memory: {self.total_bytes} bytes. "
                        f"Available memory: {self.available_bytes} bytes. Poolable size: {size_bytes} bytes"
                    )
                mine.condition.wait(waitable(left_s))
            self.available_bytes -= size_bytes
        finally:
            self.wait_time_ns += time.monotonic_ns() - began_ns
            self._waiting.remove(mine)
            # The next waiting thread may have been woken while this one was still first.
            self._tell_first()

    def give_back(self, size_bytes: int) -> None:
        """Return memory to the pool."""
        self.available_bytes += size_bytes
        assert self.available_bytes <= self.total_bytes, "more memory came back than was taken"
        self._tell_first()

    def close(self) -> None:
        """Fail all waiting appenders."""
        self._is_closed = True
        for waiter in self._waiting:
            waiter.condition.notify()

    def _tell_first(self) -> None:
        if self._waiting:
            first = self._waiting[0]
            if first.size_bytes <= self.available_bytes:
                first.condition.notify()
