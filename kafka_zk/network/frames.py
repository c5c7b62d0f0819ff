"""Splits a byte stream into request frames, without a copy for ordinary frames.

Role        Pure: never touches a socket. The connection asks for `room()`, receives into it, reports the size with
            `received()`, and takes complete frames with `next_frame()`.
Layout      A frame is a big-endian int32 size and that many bytes.
Invariants  A returned frame stays valid until the next `room()` or `rest()`: its request must be handled by then.
            Memory held for a peer is at most a fixed multiple of the bytes that the peer has actually sent: an
            announced size alone reserves nothing, so half-open connections by the thousand stay cheap.
            A reader at rest holds no borrowed buffer, except the large one of an incomplete frame.
Source      NetworkReceive and Processor in Kafka 3.9; the messages of InvalidReceiveException.
"""

from __future__ import annotations

from struct import Struct
from typing import Protocol

from kafka_zk.network.errors import InvalidFrame

BUFFER_BYTES = 128 * 1024
"""A default socket.receive.buffer.bytes worth of ordinary requests in one receive."""

GROWTH = 8
"""A large frame gets a buffer of this many times the bytes that have arrived, at most its own size."""

MIN_LARGE_BYTES = 4096

LARGE_BUFFER_BYTES = 1024 * 1024 + 16 * 1024
"""Holds a batch of the default max.message.bytes and its request."""

_SIZE = Struct(">i")


class FrameSource(Protocol):
    """What a connection reads from: a FrameReader, or one that accounts for memory."""

    def room(self) -> memoryview:
        """May block."""
        ...

    def received(self, size_bytes: int) -> None: ...
    def next_frame(self) -> memoryview | None: ...
    @property
    def has_frame(self) -> bool: ...
    def rest(self) -> None: ...
    def rest_for_bytes(self) -> None: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...
    def limit(self, max_frame_bytes: int) -> None: ...
    def limit_login(self, max_frame_bytes: int) -> None: ...


class BufferPool:
    """Receive buffers of two sizes, lent to connections that have something to read.

    A new buffer costs more than receiving into it: the kernel allocates its pages one by one, each zeroed.
    """

    __slots__ = ("_free", "_free_large", "_keep", "_keep_large", "buffer_bytes", "large_bytes")

    def __init__(
        self,
        buffer_bytes: int = BUFFER_BYTES,
        keep: int = 16,
        *,
        large_bytes: int = LARGE_BUFFER_BYTES,
        keep_large: int = 8,
    ) -> None:
        self.buffer_bytes = buffer_bytes
        self.large_bytes = large_bytes
        self._keep = keep
        self._keep_large = keep_large
        self._free: list[memoryview] = []
        self._free_large: list[memoryview] = []

    def borrow(self) -> memoryview:
        return self._free.pop() if self._free else memoryview(bytearray(self.buffer_bytes))

    def borrow_large(self) -> memoryview:
        return self._free_large.pop() if self._free_large else memoryview(bytearray(self.large_bytes))

    def give_back(self, buffer: memoryview) -> None:
        """Return a buffer of either size."""
        size = len(buffer)
        if size == self.buffer_bytes:
            if len(self._free) < self._keep:
                self._free.append(buffer)
        elif size == self.large_bytes and len(self._free_large) < self._keep_large:
            self._free_large.append(buffer)

    @property
    def free_count(self) -> int:
        return len(self._free)

    @property
    def free_large_count(self) -> int:
        return len(self._free_large)


class FrameReader:
    """The unread bytes of one connection: a borrowed buffer, or a large frame of its own."""

    __slots__ = ("_begin", "_carry", "_end", "_handed_out", "_large", "_max_frame_bytes", "_pool", "_view")

    def __init__(self, pool: BufferPool, max_frame_bytes: int) -> None:
        self._pool = pool
        self._max_frame_bytes = max_frame_bytes
        self._view: memoryview | None = None
        self._begin = 0
        self._end = 0
        self._carry = b""
        self._large: _LargeFrame | None = None
        self._handed_out: memoryview | None = None
        """The buffer of the large frame that was returned last."""

    def room(self) -> memoryview:
        """The buffer for the next bytes; never empty. Call it only without `has_frame`; invalidates earlier frames."""
        if self._large is not None:
            return self._large.room()
        if self._handed_out is not None:
            self._take_back()
        view = self._view or self._borrow()
        if self._begin:
            # The rest is the head of one frame, which may need the whole buffer.
            left = self._end - self._begin
            if left:
                view[:left] = bytes(view[self._begin : self._end])
            self._begin, self._end = 0, left
        if not self._end:
            return view
        if self._end >= 4:
            size: int = _SIZE.unpack_from(view)[0]
            if size + 4 > self._pool.buffer_bytes:
                self._large = _LargeFrame(size, view[4 : self._end], self._pool)
                self._begin = self._end = 0
                return self._large.room()
        return view[self._end :]

    def received(self, size_bytes: int) -> None:
        """`size_bytes` more bytes are in the buffer that `room` returned last."""
        if self._large is not None:
            self._large.filled += size_bytes
        else:
            self._end += size_bytes

    def next_frame(self) -> memoryview | None:
        """The next complete frame without its size, or None. Raises InvalidFrame on an illegal size."""
        if self._large is not None:
            return self._finish_large()
        begin, view = self._begin, self._view
        available = self._end - begin
        if available < 4 or view is None:
            return None
        size: int = _SIZE.unpack_from(view, begin)[0]
        if size < 0 or size > self._max_frame_bytes:
            raise InvalidFrame(_refusal(size, self._max_frame_bytes))
        if size + 4 > available:
            return None
        self._begin = stop = begin + 4 + size
        return view[begin + 4 : stop]

    @property
    def has_frame(self) -> bool:
        """Whether `next_frame` would return a frame (or refuse one) without another receive."""
        if self._large is not None:
            return self._large.filled == self._large.size_bytes
        available = self._end - self._begin
        if available < 4 or self._view is None:
            return False
        size: int = _SIZE.unpack_from(self._view, self._begin)[0]
        return size < 0 or size > self._max_frame_bytes or size + 4 <= available

    @property
    def next_size(self) -> int | None:
        """The size of the frame that is being received or comes next; None while it is unknown, or if it is illegal."""
        if self._large is not None:
            return self._large.size_bytes
        head = self._carry if self._view is None else self._view[self._begin : self._end]
        if len(head) < 4:
            return None
        size: int = _SIZE.unpack_from(head)[0]
        return size if 0 <= size <= self._max_frame_bytes else None

    def limit(self, max_frame_bytes: int) -> None:
        """Refuse larger frames, from the next one on."""
        self._max_frame_bytes = max_frame_bytes

    limit_login = limit
    """`limit` for frames of a login, until the next `limit`."""

    def rest(self) -> None:
        """Give the buffer back; the head of an incomplete frame is kept as an exact copy."""
        if self._handed_out is not None:
            self._take_back()
        view = self._view
        if view is None:
            return
        if self._end > self._begin:
            self._carry = bytes(view[self._begin : self._end])
        self._begin = self._end = 0
        self._pool.give_back(view)
        self._view = None

    rest_for_bytes = rest
    """`rest` for callers that only wait for bytes."""

    def resume(self) -> None:
        """Undo `rest` if whole frames may have been set aside; for callers that will not receive first."""
        if self._carry:
            self._borrow()

    def close(self) -> None:
        """The connection has ended."""
        self.rest()
        if self._large is not None:
            self._pool.give_back(self._large.buffer)
            self._large = None

    @property
    def held_bytes(self) -> int:
        """Memory this connection holds for received bytes."""
        large = len(self._large.buffer) if self._large is not None else len(self._handed_out or b"")
        return large + len(self._carry) + (self._pool.buffer_bytes if self._view is not None else 0)

    def _borrow(self) -> memoryview:
        self._view = view = self._pool.borrow()
        if self._carry:
            self._end = len(self._carry)
            view[: self._end] = self._carry
            self._carry = b""
        return view

    def _finish_large(self) -> memoryview | None:
        large = self._large
        assert large is not None
        if large.filled < large.size_bytes:
            return None
        self._large = None
        self._handed_out = large.buffer
        return large.buffer[: large.size_bytes]

    def _take_back(self) -> None:
        assert self._handed_out is not None
        self._pool.give_back(self._handed_out)
        self._handed_out = None


class _LargeFrame:
    """A frame that does not fit the borrowed buffer, in memory that grows with the received bytes."""

    __slots__ = ("_pool", "buffer", "filled", "size_bytes")

    def __init__(self, size_bytes: int, head: memoryview, pool: BufferPool) -> None:
        self.size_bytes = size_bytes
        self.filled = 0
        self.buffer = memoryview(b"")
        self._pool = pool
        self._grow(max(len(head), MIN_LARGE_BYTES // GROWTH))
        self.buffer[: len(head)] = head
        self.filled = len(head)

    def room(self) -> memoryview:
        if self.filled == len(self.buffer):
            self._grow(self.filled)
        return self.buffer[self.filled : self.size_bytes]

    def _grow(self, arrived_bytes: int) -> None:
        allowed, pool = arrived_bytes * GROWTH, self._pool
        if self.size_bytes <= pool.large_bytes <= 2 * allowed:
            grown = pool.borrow_large()
        else:
            grown = memoryview(bytearray(min(self.size_bytes, allowed)))
        grown[: self.filled] = self.buffer[: self.filled]
        self.buffer = grown


def _refusal(size_bytes: int, max_frame_bytes: int) -> str:
    if size_bytes < 0:
        return f"Invalid receive (size = {size_bytes})"
    return f"Invalid receive (size = {size_bytes} larger than {max_frame_bytes})"
