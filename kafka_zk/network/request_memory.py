"""queued.max.request.bytes: bounds the memory of requests that are read, handled or answered.

Role        Acts. Stands between a connection and its frames only where the limit is set: `MeteredReader` pays for each
            frame before reading more of it or returning it, `MeteredHandler` returns the memory once it is handled, and
            charges its answer until that is sent.
Invariants  As in Kafka a frame may be read while a single byte is left, so requests larger than what is left go through
            and the pool may be overdrawn by one of them; then no connection reads on until enough is given back.
            Waiting requests are served first come, first served. None waits for memory while holding a place of the
            RequestChannel, or takes memory while it may not be handled, so no limit can block another.
            Each frame is paid for once and given back once, also when its connection ends before it is handled.
            Frames of a login are free, as in Kafka: who has not logged in takes no memory from those who have.
            An answer is charged when it is ready and may overdraw the pool; no answer waits for memory. A client that
            reads nothing of such an answer is disconnected once others wait for the memory.
Differs     Kafka counts no answers: a few small requests then fill the heap with large ones. What arrives behind a
            frame in the same receive, at most one receive buffer a connection, is paid for when it is next; Kafka
            would leave it in the kernel.
Source      SimpleMemoryPool, NetworkReceive, KafkaChannel.maybeCompleteReceive, RequestChannel.Request.releaseBuffer.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from gevent import get_hub

from kafka_zk.network.frames import FrameReader
from kafka_zk.network.parking import Parking
from kafka_zk.network.parts import IN_MEMORY

if TYPE_CHECKING:
    from kafka_zk.network.answer_queue import Deferred
    from kafka_zk.network.connection import Connection, RequestHandler
    from kafka_zk.network.parts import Parts
    from kafka_zk.network.pending import Pending

COUNTED_BYTES = 64 * 1024
"""Smaller answers are not counted: most are in the socket at once."""

STALLED_NS = 10_000_000_000
"""How long a client may read nothing of a counted answer while others wait for memory."""

log = logging.getLogger("kafka.network.SocketServer")


class _Ticket:
    """A waiting request for `size_bytes`. `on_grant` is called once they are available."""

    __slots__ = ("is_granted", "on_grant", "size_bytes")

    def __init__(self, size_bytes: int, on_grant: Callable[[], object]) -> None:
        self.size_bytes = size_bytes
        self.on_grant = on_grant
        self.is_granted = False


class RequestMemory:
    """The pool. `now_ns()` is monotonic; operators see how long the pool was empty."""

    def __init__(self, size_bytes: int, now_ns: Callable[[], int]) -> None:
        self.size_bytes = size_bytes
        self.available_bytes = size_bytes
        self._now_ns = now_ns
        self._waiting: deque[_Ticket] = deque()
        self._handed_out: dict[int, int] = {}
        self._depleted_ns = 0
        self._depleted_from_ns: int | None = None

    @property
    def used_bytes(self) -> int:
        return self.size_bytes - self.available_bytes

    @property
    def is_waited_for(self) -> bool:
        return bool(self._waiting)

    @property
    def depleted_ms(self) -> int:
        """How long requests have waited because the pool was empty; a wait counts when it ends."""
        return self._depleted_ns // 1_000_000

    def try_take(self, size_bytes: int) -> bool:
        """Take memory if some is left and no connection waits for it."""
        if self._waiting or self.available_bytes < 1:
            if self._depleted_from_ns is None:
                self._depleted_from_ns = self._now_ns()
            return False
        self.available_bytes -= size_bytes
        return True

    def queue(self, ticket: _Ticket) -> None:
        """Serve `ticket` when memory is available again, after `try_take` failed."""
        self._waiting.append(ticket)

    def leave(self, ticket: _Ticket) -> None:
        """Stop waiting; granted memory is returned."""
        if ticket.is_granted:
            self.give_back(ticket.size_bytes)
        else:
            self._waiting.remove(ticket)
            self._serve()

    def charge(self, size_bytes: int) -> None:
        """Take memory that is in use already."""
        self.available_bytes -= size_bytes

    def give_back(self, size_bytes: int) -> None:
        self.available_bytes += size_bytes
        self._serve()

    def hand_out(self, frame: memoryview) -> None:
        """Note that `frame`, which is paid for, goes to the handler."""
        self._handed_out[id(frame)] = len(frame)

    def take_back(self, frame: memoryview) -> None:
        """`frame` is handled, or never will be. Idempotent while the frame is referenced."""
        size_bytes = self._handed_out.pop(id(frame), None)
        if size_bytes is not None:
            self.give_back(size_bytes)

    def _serve(self) -> None:
        if self.available_bytes >= 1 and self._depleted_from_ns is not None:
            self._depleted_ns += self._now_ns() - self._depleted_from_ns
            self._depleted_from_ns = None
        while self._waiting and self.available_bytes >= 1:
            ticket = self._waiting.popleft()
            self.available_bytes -= ticket.size_bytes
            ticket.is_granted = True
            ticket.on_grant()
        if self._waiting and self._depleted_from_ns is None:
            self._depleted_from_ns = self._now_ns()

    def __repr__(self) -> str:
        return f"request memory {self.used_bytes} of {self.size_bytes} bytes, {len(self._waiting)} wait"


class MeteredReader:
    """A FrameReader whose frames are paid for. `parking` is the connection's."""

    __slots__ = ("_frame", "_inner", "_is_free", "_memory", "_paid_bytes", "_parking", "_ticket")

    def __init__(self, inner: FrameReader, memory: RequestMemory, parking: Parking) -> None:
        self._inner = inner
        self._memory = memory
        self._parking = parking
        self._ticket: _Ticket | None = None
        self._paid_bytes: int | None = None
        self._frame: memoryview | None = None
        self._is_free = False

    def room(self) -> memoryview:
        """Blocks while the frame that comes next cannot be paid for. Raises PeerClosed.

        Empty if a whole frame is there: it can be handled now, and the stream may end next. Empty,
        too, if something else woke the connection: a ready answer may hold the memory that is needed,
        and is sent first.
        """
        self._frame = None
        if not self._pay():
            self._get_in_line()
            self._parking.wait_woken()
            if not self._pay():
                return memoryview(bytearray())
        self._inner.resume()
        return memoryview(bytearray()) if self._inner.has_frame else self._inner.room()

    def received(self, size_bytes: int) -> None:
        self._inner.received(size_bytes)

    def next_frame(self) -> memoryview | None:
        """As of FrameReader; also None while there is no memory for it. Never blocks."""
        inner = self._inner
        inner.resume()
        if inner.has_frame and not self._pay():
            return None
        frame = inner.next_frame()
        if frame is not None and not self._is_free:
            self._paid_bytes = None
            self._frame = frame
            self._memory.hand_out(frame)
        return frame

    @property
    def has_frame(self) -> bool:
        return self._inner.has_frame

    def rest(self) -> None:
        """As of FrameReader. A connection that waits for a response holds no memory for later requests: others may need
        that memory to produce the response."""
        self._frame = None
        ticket, self._ticket = self._ticket, None
        if ticket is not None:
            # A late answer muted the connection while it was waiting.
            self._memory.leave(ticket)
        self._inner.rest()

    def rest_for_bytes(self) -> None:
        """As of FrameReader. A frame of known size is paid for now, or queues for memory; a complete one that
        is paid wakes its connection."""
        self._frame = None
        self._inner.resume()
        is_whole = self._inner.has_frame
        is_paid = self._pay()
        self._inner.rest()
        if not is_paid:
            self._get_in_line()
        elif is_whole:
            # The connection is about to wait for its socket: it must notice that it need not.
            get_hub().loop.run_callback(self._parking.wake)

    def resume(self) -> None:
        self._inner.resume()

    def limit(self, max_frame_bytes: int) -> None:
        self._is_free = False
        self._inner.limit(max_frame_bytes)

    def limit_login(self, max_frame_bytes: int) -> None:
        self._give_up_memory()
        self._is_free = True
        self._inner.limit(max_frame_bytes)

    def close(self) -> None:
        """The connection has ended: give back all its memory."""
        frame, self._frame = self._frame, None
        if frame is not None:
            self._memory.take_back(frame)
        self._give_up_memory()
        self._inner.close()

    @property
    def held_bytes(self) -> int:
        return self._inner.held_bytes

    def _give_up_memory(self) -> None:
        """Of the frame that comes next."""
        ticket, self._ticket = self._ticket, None
        if ticket is not None:
            self._memory.leave(ticket)
        paid_bytes, self._paid_bytes = self._paid_bytes, None
        if paid_bytes is not None:
            self._memory.give_back(paid_bytes)

    def _pay(self) -> bool:
        """Whether the frame that comes next is paid for, or need not be (size unknown, to be refused, of a login)."""
        if self._is_free or self._paid_bytes is not None:
            return True
        if self._ticket is not None:
            if not self._ticket.is_granted:
                return False
            self._paid_bytes = self._ticket.size_bytes
            self._ticket = None
            return True
        size_bytes = self._inner.next_size
        if size_bytes is None:
            return True
        if not self._memory.try_take(size_bytes):
            return False
        self._paid_bytes = size_bytes
        return True

    def _get_in_line(self) -> None:
        size_bytes = self._inner.next_size
        if self._ticket is None and size_bytes is not None:
            self._ticket = _Ticket(size_bytes, self._parking.wake)
            self._memory.queue(self._ticket)


class _Receipt(bytes):
    """An empty part in a charged answer: when the answer is freed, sent or not, so is the charge."""

    on_gone: Callable[[], object]

    def __del__(self) -> None:
        self.on_gone()


class MeteredHandler:
    """Releases the memory of a request when its handler has returned, and charges its response."""

    def __init__(self, inner: RequestHandler, memory: RequestMemory) -> None:
        self._inner = inner
        self._memory = memory
        self._answered: Counter[Connection] = Counter()

    def handle(self, frame: memoryview, connection: Connection) -> Parts | Deferred:
        try:
            answer = self._inner.handle(frame, connection)
            if isinstance(answer, list):
                self._charge(answer, connection)
            else:
                answer.on_complete(partial(self._charge_late, connection))
            return answer
        finally:
            self._memory.take_back(frame)

    def end_stalled(self, now_ns: int) -> None:
        """Close connections that do not read a charged response while others wait for memory. `now_ns`: monotonic."""
        if not self._memory.is_waited_for:
            return
        for connection in list(self._answered):
            if connection.is_sending and connection.active_ns < now_ns - STALLED_NS:
                message = (
                    "Closing the connection of %s: it does not read its response, and requests are waiting for memory"
                )
                log.warning(message, connection.connection_id)
                connection.close()

    def _charge_late(self, connection: Connection, answer: Pending[Parts]) -> None:
        if answer.error is None:
            self._charge(answer.value, connection)

    def _charge(self, parts: Parts, connection: Connection) -> None:
        size_bytes = sum([len(part) for part in parts if isinstance(part, IN_MEMORY)])
        if size_bytes >= COUNTED_BYTES:
            self._memory.charge(size_bytes)
            self._answered[connection] += 1
            receipt = _Receipt()
            receipt.on_gone = partial(self._gone, connection, size_bytes)
            parts.append(receipt)

    def _gone(self, connection: Connection, size_bytes: int) -> None:
        self._answered[connection] -= 1
        if not self._answered[connection]:
            del self._answered[connection]
        self._memory.give_back(size_bytes)
