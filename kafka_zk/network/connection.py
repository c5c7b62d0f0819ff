"""One client's connection: one socket, one greenlet, requests in and responses out.

Role        Acts. Reads frames into a borrowed buffer, gives each to the handler, and sends what its AnswerQueue hands
            out; the queue knows the order of the answers and when the next request may start.
            After REQUESTS_PER_TURN requests, or `turn_bytes`, it sends the responses and yields to other greenlets.
Invariants  Only its own greenlet touches the socket; completing a Pending merely wakes it.
            The memory of a frame belongs to its request until the handler has returned.
            A client that does not read its answers is not read from either.
            Until the client has logged in, where it must, its frames are limited to `max_login_bytes`. A failed login
            is counted and logged at once; its answer and the end come after a delay, without a place or a buffer.
            Requests before the end of the stream or before garbage are answered. A Pending left when the
            connection ends is notified (`Pending.leave`), and waits no longer.
Source      Processor, KafkaChannel (mute states) and RequestChannel in Kafka 3.9; KIP-219.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable
from typing import Final, Protocol

from kafka_zk.network.answer_queue import AnswerQueue, Deferred, State
from kafka_zk.network.errors import (
    AuthenticationFailed,
    CloseConnection,
    EndOfStream,
    HandshakeFailed,
    InvalidFrame,
    PeerClosed,
    RefusedPrincipal,
    SessionEnded,
    UnexpectedInput,
)
from kafka_zk.network.frames import FrameSource
from kafka_zk.network.logins import LoginCounts
from kafka_zk.network.parking import LoginTurns, Parking, TurnTable
from kafka_zk.network.parts import Parts
from kafka_zk.network.request_channel import RequestChannel
from kafka_zk.network.transport import ANONYMOUS, Transport
from kafka_zk.one_line import one_line

REQUESTS_PER_TURN: Final = 8
"""For small requests: about a tenth of a millisecond. Each send costs as much as half a produce of one record."""

TCP_ESTABLISHED: Final = 1
TCP_CLOSE: Final = 7
"""Kernel's names (tcp_states.h); any other state means that the client's side has ended."""

log = logging.getLogger("kafka.network.SocketServer")
selector_log = logging.getLogger("org.apache.kafka.common.network.Selector")


class RequestHandler(Protocol):
    """What the connection needs from the package above: kafka_zk.api.dispatch."""

    def handle(self, frame: memoryview, connection: Connection) -> Parts | Deferred:
        """May block. Raises CloseConnection if the connection must be closed instead of an answer."""
        ...


class ConnectionHost(Protocol):
    """What a connection uses of its listener."""

    handler: RequestHandler
    turns: TurnTable
    login_turns: LoginTurns
    requests: RequestChannel
    reader_for: Callable[[Parking], FrameSource]
    transport_for: Callable[[socket.socket, Parking], Transport]
    listener_name: str
    security_protocol: str
    log_prefix: str
    turn_bytes: int
    """After so many bytes of requests, yield to other greenlets."""
    unsent_limit: int
    """With so many bytes of unsent answers, no request starts."""
    max_request_bytes: int
    max_login_bytes: int
    failed_login_delay_ms: int
    logins: LoginCounts
    incoming_bytes: int
    outgoing_bytes: int
    request_count: int
    flush_count: int

    def connection_closed(self, connection: Connection) -> None: ...


class Connection:
    """A client, as handlers see it, and the loop that serves it."""

    __slots__ = (
        "_answers",
        "_closing",
        "_has_ended",
        "_has_place",
        "_host",
        "_index",
        "_is_mid_answer",
        "_parking",
        "_reader",
        "_socket",
        "_transport",
        "cipher",
        "client_host",
        "client_port",
        "client_software_name",
        "client_software_version",
        "has_logged_in",
        "is_logging_in",
        "last_active_ns",
        "listener_name",
        "login",
        "must_authenticate",
        "principal",
        "received_ns",
        "security_protocol",
        "sent_stamp",
        "token_authenticated",
    )

    def __init__(
        self, sock: socket.socket, client_host: str, client_port: int, host: ConnectionHost, index: int
    ) -> None:
        self._socket = sock
        self._host = host
        self._index = index
        self._parking: Parking | None = None
        self._transport: Transport | None = None
        self._answers = AnswerQueue(host.unsent_limit, self._wake)
        self._closing = False
        self._has_ended = False
        self._has_place = False
        self._is_mid_answer = False
        self.client_host = client_host
        self.client_port = client_port
        self.listener_name = host.listener_name
        self.security_protocol = host.security_protocol
        self.principal = ANONYMOUS
        self.cipher: tuple[str, str] | None = None
        self.client_software_name = "unknown"
        self.client_software_version = "unknown"
        self.received_ns = self.last_active_ns = time.monotonic_ns()
        self.sent_stamp: list[int] = [0, 0]
        self.token_authenticated = False
        self.must_authenticate = self.is_logging_in = host.security_protocol.startswith("SASL_")
        """The first: whoever authenticates clients sees each frame before it is served. The second: only frames of a
        login are expected."""
        self.has_logged_in = False
        self.login: object | None = None
        """What authentication keeps about this connection."""

    # --- what handlers may use -------------------------------------------------------------------------------------

    def mute(self, throttle_ms: int) -> None:
        """Stop reading requests for `throttle_ms`, once the ready responses are sent (KIP-219)."""
        self._answers.mute(time.monotonic_ns() + throttle_ms * 1_000_000)

    @property
    def logins(self) -> LoginCounts:
        """The counts of this connection's listener."""
        return self._host.logins

    def begin_login(self) -> None:
        """From now on only frames of a login are expected."""
        self.is_logging_in = True
        self._reader.limit_login(self._host.max_login_bytes)

    def end_login(self) -> None:
        """The client has logged in."""
        again = "re-" if self.has_logged_in else ""
        selector_log.debug("%s Successfully %sauthenticated with /%s", self._host.log_prefix, again, self.client_host)
        self.is_logging_in = False
        self.has_logged_in = True
        self._reader.limit(self._host.max_request_bytes)

    def close(self) -> None:
        """End the connection as soon as its greenlet waits or has finished the current request."""
        self._closing = True
        self._leave_place()
        if self._parking is not None:
            self._parking.end()

    # --- what the listener may use ---------------------------------------------------------------------------------

    @property
    def is_closing(self) -> bool:
        """Whether `close` was called. A hanging request still keeps the connection."""
        return self._closing

    @property
    def active_ns(self) -> int:
        """When the client last sent or took bytes, monotonic: also during a long send."""
        parking = self._parking
        return self.last_active_ns if parking is None else max(self.last_active_ns, parking.writable_ns)

    @property
    def is_sending(self) -> bool:
        """Whether an answer waits for the client to read more of it."""
        return self._parking is not None and self._parking.is_sending

    def look_for_end(self) -> None:
        """Check whether the client has disconnected. Called now and then: a greenlet that waits for a response or a
        handler does not read the socket, and pipelined bytes would hide the end of the stream."""
        parking = self._parking
        if parking is None or not parking.has_unread or not (self._has_place or self._answers.waiting_count):
            return
        try:
            state = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
        except OSError:
            state = TCP_CLOSE
        if state == TCP_ESTABLISHED:
            return
        self._leave_place()
        if state == TCP_CLOSE:
            self.close()
        else:
            # Left to the connection's greenlet, which may have to read pending requests first.
            self._has_ended = True
            parking.wake()

    # --- for all -----------------------------------------------------------------------------------------------------

    @property
    def connection_id(self) -> str:
        """Kafka's name of a connection: both ends and a sequence number."""
        try:
            local_host, local_port = self._socket.getsockname()[:2]
        except OSError:
            local_host, local_port = "", 0
        return f"{local_host}:{local_port}-{self.client_host}:{self.client_port}-{self._index}"

    @property
    def unsent_bytes(self) -> int:
        """Bytes in memory of ready answers that are not sent yet."""
        return self._answers.unsent_bytes

    @property
    def unanswered_count(self) -> int:
        return self._answers.waiting_count

    def __repr__(self) -> str:
        held = f"unanswered={self._answers.waiting_count} unsent={self._answers.unsent_bytes}"
        return f"{self.connection_id} listener={self.listener_name} {self.principal} {held}"

    # --- the loop --------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Blocks. Serves the client until either side ends the connection. Runs in a greenlet of its own."""
        self._parking = Parking(self._socket.fileno())
        self._reader = self._host.reader_for(self._parking)
        try:
            self._transport = self._host.transport_for(self._socket, self._parking)
            self._socket = self._transport.sock
            if self._closing:
                self._parking.end()
            if self.must_authenticate:
                self.begin_login()
            self._shake_hands(self._transport)
            while True:
                self._wait_turn(may_hold_frames=self._serve_turn())
        except EndOfStream as end:
            log.debug("%s Connection with /%s closed: %s", self._host.log_prefix, self.client_host, end)
            self._answers.leave(False)
            self._send_last_answers()
        except PeerClosed as closed:
            log.debug("%s Connection with /%s closed: %s", self._host.log_prefix, self.client_host, closed)
        except CloseConnection as reason:
            # The error must have no name here when this ends: its traceback refers to this frame.
            if not self._is_refused_login(reason):
                self._log_refusal(reason)
                self._send_last_answers()
        except Exception:
            # A bug of ours ends this connection, never the listener.
            log.exception("%s Processor got uncaught exception; closing %s", self._host.log_prefix, self.connection_id)
            if not self._is_mid_answer:
                self._send_last_answers()
        finally:
            self._end()

    def _shake_hands(self, transport: Transport) -> None:
        """Blocks. What comes before the first frame, and on a listener of SSL makes the principal."""
        try:
            self.principal = transport.handshake()
            self.cipher = transport.cipher
        except RefusedPrincipal:
            self._count_handshake()
            # Kafka asks for the principal when there is a request to be served.
            while self._reader.next_frame() is None:
                self._wait_turn(may_hold_frames=False)
            raise
        self._count_handshake()

    def _count_handshake(self) -> None:
        if self.security_protocol == "SSL":
            self._host.logins.authenticated += 1
            selector_log.debug("%s Successfully authenticated with /%s", self._host.log_prefix, self.client_host)

    def _log_refusal(self, reason: CloseConnection) -> None:
        """One line, with the text and level of Kafka's Selector and Processor."""
        prefix, channel = self._host.log_prefix, self.connection_id
        if isinstance(reason, HandshakeFailed):
            self._host.logins.failed += 1
            message = "%s Failed authentication with /%s (channelId=%s) (%s)"
            selector_log.info(message, prefix, self.client_host, channel, reason)
        elif isinstance(reason, SessionEnded):
            self._host.logins.expired += 1
            log.debug("%s Disconnecting expired channel: %s : %s", prefix, channel, reason)
        elif isinstance(reason, UnexpectedInput):
            message = "%s Unexpected error from /%s (channelId=%s); closing connection: %s"
            log.warning(message, prefix, self.client_host, channel, one_line(str(reason)))
        else:
            log.error("%s Closing socket for %s because of error: %s", prefix, channel, one_line(str(reason)))

    def _is_refused_login(self, reason: CloseConnection) -> bool:
        """Blocks as `_refuse_login` does, if it was a login that failed."""
        failed = self._as_failed_login(reason)
        if failed is not None:
            self._refuse_login(failed)
        return failed is not None

    def _as_failed_login(self, reason: CloseConnection) -> AuthenticationFailed | None:
        if isinstance(reason, AuthenticationFailed):
            return reason
        if self.is_logging_in and isinstance(reason, InvalidFrame):
            return AuthenticationFailed("Failing SASL authentication due to invalid receive size")
        return None

    def _refuse_login(self, failed: AuthenticationFailed) -> None:
        """Blocks for connection.failed.authentication.delay.ms, so that nobody tries passwords quickly (KIP-306)."""
        logins = self._host.logins
        if self.has_logged_in:
            logins.failed_again += 1
        else:
            logins.failed += 1
        kind = "re-authentication" if self.has_logged_in else "authentication"
        message = "%s Failed %s with /%s (channelId=%s) (%s)"
        why = one_line(str(failed))
        selector_log.info(message, self._host.log_prefix, kind, self.client_host, self.connection_id, why)
        self._send_last_answers()
        self._reader.rest()
        if self._sit_out(self._host.failed_login_delay_ms):
            self._answers.take(list(failed.answer))
            self._send_last_answers()

    def _sit_out(self, delay_ms: int) -> bool:
        """Blocks; returns whether the connection may still be used."""
        parking = self._parking
        assert parking is not None
        deadline_ns = time.monotonic_ns() + delay_ms * 1_000_000
        try:
            while (left_ns := deadline_ns - time.monotonic_ns()) > 0:
                parking.wait_woken_for(left_ns / 1e9)
        except PeerClosed:
            return False
        return True

    def _serve_turn(self) -> bool:
        """Handle at most a turn of received requests, and send ready answers; returns whether there may be more."""
        may_hold_frames = True
        if self._may_take_next():
            frame = self._reader.next_frame()
            may_hold_frames = frame is not None and self._handle_frames(frame)
        # Answers that became ready during a blocked send have woken no greenlet.
        while self._collect():
            self._flush()
        return may_hold_frames

    def _handle_frames(self, frame: memoryview | None) -> bool:
        """Handle `frame` and those behind it, until the turn is over; returns whether there may be more."""
        parking, requests = self._parking, self._host.requests
        assert parking is not None
        next_frame, handle = self._reader.next_frame, self._host.handler.handle
        take = self._answers.take
        requests.enter(parking)
        self._has_place = True
        left, bytes_left = REQUESTS_PER_TURN, self._host.turn_bytes
        try:
            while frame is not None:
                bytes_left -= len(frame)
                may_wait = take(handle(frame, self))
                left -= 1
                if not left or bytes_left <= 0 or parking.ended or not self._has_place:
                    return True
                if may_wait:
                    self._collect()
                    if not self._may_take_next():
                        return True
                frame = next_frame()
            return False
        finally:
            if self._has_place:
                self._has_place = False
                requests.leave()
            self._host.request_count += REQUESTS_PER_TURN - left

    def _wait_turn(self, *, may_hold_frames: bool) -> None:
        """Blocks until there may be something to do, and received bytes are in the reader."""
        parking, transport, reader = self._parking, self._transport, self._reader
        assert parking is not None and transport is not None
        if not self._may_take_next():
            reader.rest()
            self._wait_until_allowed(parking)
            reader.resume()
        elif may_hold_frames and reader.has_frame:
            self._host.turns.take_turn(parking)
        else:
            reader.rest_for_bytes()
            if parking.wait_readable_or_woken():
                if self.is_logging_in:
                    self._host.login_turns.take_turn(parking)
                count = transport.receive_into(reader.room())
                if count:
                    reader.received(count)
                    self._host.incoming_bytes += count
                    self.received_ns = self.last_active_ns = time.monotonic_ns()

    def _wait_until_allowed(self, parking: Parking) -> None:
        """Blocks until the next answer is ready, or the mute is over."""
        answers = self._answers
        if not answers.waiting_count:
            parking.wait_woken_for((answers.muted_until_ns - time.monotonic_ns()) / 1e9)
        elif not answers.next_is_ready:
            parking.wait_woken()

    def _may_take_next(self) -> bool:
        return self._answers.state(time.monotonic_ns) is State.OPEN

    def _wake(self) -> None:
        if self._parking is not None:
            self._parking.wake()

    def _collect(self) -> bool:
        """Returns whether there is anything to send. Blocks if the stream has ended, to notify pending answers."""
        if self._has_ended and self._answers.waiting_count:
            self._has_ended = False
            self._answers.leave(False)
        return self._answers.collect()

    def _flush(self) -> None:
        """Blocks. Send what is ready; its slices are released whatever happens."""
        parts = self._answers.hand_out()
        stamp, self.sent_stamp = self.sent_stamp, [0, 0]
        transport = self._transport
        assert transport is not None
        stamp[0] = time.monotonic_ns()
        self._is_mid_answer = True
        try:
            sent_bytes = transport.send(parts)
            # A failure in between leaves half an answer, after which nothing can be sent.
            self._is_mid_answer = False
            # Added only now: other connections have counted theirs meanwhile.
            self._host.outgoing_bytes += sent_bytes
        finally:
            self._host.flush_count += 1
            self._answers.sent(parts)
            stamp[1] = self.last_active_ns = time.monotonic_ns()

    def _send_last_answers(self) -> None:
        """Blocks until every request before the refused one, or before the end of the stream, is answered."""
        parking = self._parking
        assert parking is not None
        try:
            while not self._answers.is_empty:
                if self._collect():
                    # Others may get ready meanwhile without a wake-up.
                    self._flush()
                elif self._answers.waiting_count:
                    parking.wait_woken()
        except (PeerClosed, CloseConnection) as closed:
            log.debug(
                "%s Could not send the last responses to /%s: %s", self._host.log_prefix, self.client_host, closed
            )

    def _leave_place(self) -> None:
        """Give our request slot to another connection: no slot is needed while a request is still pending."""
        if self._has_place:
            self._has_place = False
            self._host.requests.leave()

    def _end(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()
        else:
            if self._parking is not None:
                self._parking.close()
            self._socket.close()
        self._reader.close()
        self.sent_stamp[0] = self.sent_stamp[1] = time.monotonic_ns()
        # Dropped: references to this connection may live as long as parts of its answers.
        self._answers.close()
        self.login = None
        self._host.connection_closed(self)
