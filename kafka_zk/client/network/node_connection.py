"""A client's connection to one broker: its state, queued requests and requests in flight.

Role        Acts. Called by `NetworkClient` only, from the thread that polls. Results are queued as callbacks, which
            the client runs when its state is consistent.
Invariants  A connection becomes ready in this order: connected, TLS handshake, login, ApiVersions.
            Requests are sent in the order they were given, and answered in that order.
            Nothing but ApiVersions is sent before its response.
            A refused handshake or login is an AuthenticationException, for every request and the client's metadata.
            Every request has exactly one outcome. When a connection is lost, all its requests fail.
Source      Kafka 3.9 NetworkClient, ClusterConnectionStates, InFlightRequests.
"""

from __future__ import annotations

import itertools
import logging
import math
import selectors
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Final

from kafka_zk.client.addresses import SocketAddress, java_text, resolve
from kafka_zk.client.errors import (
    AuthenticationException,
    DisconnectException,
    KafkaException,
    ProtocolMismatch,
    TimeoutException,
)
from kafka_zk.client.network.channel import Channel
from kafka_zk.client.network.cluster_snapshot import Node
from kafka_zk.client.network.frames import api_versions_request, decode_answer, encode_request
from kafka_zk.client.network.node_versions import NodeVersions, key_of, stepped_back
from kafka_zk.client.network.security import Login
from kafka_zk.client.network.settings import NetworkSettings
from kafka_zk.client.network.throttling import pause_ms
from kafka_zk.client.network.transports import closed_before_an_answer
from kafka_zk.protocol.errors import ErrorCode, code_of
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.api_versions import API_VERSIONS_REQUEST, API_VERSIONS_RESPONSE, ApiVersionsResponse
from kafka_zk.protocol.types import Buffer

NEVER_MS: Final = 2**63 - 1
_MAY_BE: Final = (
    "This may happen due to any of the following reasons: (1) Authentication failed due to invalid credentials with "
    "brokers older than 1.0.0, (2) Firewall blocking Kafka TLS traffic (eg it may only allow HTTPS traffic), "
    "(3) Transient network issue."
)

log = logging.getLogger("org.apache.kafka.clients.NetworkClient")


class State(Enum):
    """The state of a connection."""

    DISCONNECTED = "disconnected"
    CONNECTING = "connecting"
    SHAKING_HANDS = "shaking hands"
    LOGGING_IN = "logging in"
    CHECKING_API_VERSIONS = "checking API versions"
    READY = "ready"


@dataclass(slots=True)
class PendingRequest:
    """A request and its callbacks. Without `response` it is not answered."""

    request: Message[Any]
    response: Message[Any] | None
    build: Callable[[int], Any]
    on_answer: Callable[[Any], None]
    on_error: Callable[[Exception], None]
    deadline_ms: int
    version: int = 0
    correlation_id: int = 0
    sent_ms: int = 0
    max_version: int | None = None


class NodeConnection:
    """Connects on demand, and retries after a backoff."""

    def __init__(
        self,
        node: Node,
        settings: NetworkSettings,
        selector: selectors.BaseSelector,
        finish: Callable[[Callable[[], None]], None],
        on_lost: Callable[[Exception], None],
    ) -> None:
        self.node = node
        self.state = State.DISCONNECTED
        self.versions: NodeVersions | None = None
        self.last_used_ms = 0
        self.retry_at_ms = 0
        self.latency_ms = 0
        self._settings = settings
        self._selector = selector
        self._finish = finish
        self._on_lost = on_lost
        self._channel: Channel | None = None
        self._login: Login | None = None
        self._is_renewing = False
        self._events = 0
        self._waiting: deque[PendingRequest] = deque()
        self._in_flight: deque[PendingRequest] = deque()
        self._correlation_ids = itertools.count()
        self._addresses: deque[tuple[int, SocketAddress]] = deque()
        self._tried = ""
        self._failure_count = 0
        self._setup_deadline_ms = NEVER_MS
        self._paused_until_ms = 0
        self._past_sent = 0
        self._past_received = 0

    def __repr__(self) -> str:
        return f"{self.node} {self.state.value} in_flight={len(self._in_flight)} waiting={len(self._waiting)}"

    # --- what others see ---------------------------------------------------------------------------------------------

    @property
    def request_count(self) -> int:
        """Requests without an outcome, sent or not."""
        return len(self._in_flight) + len(self._waiting)

    @property
    def bytes_sent(self) -> int:
        """Over all connections to the node."""
        return self._past_sent + (0 if self._channel is None else self._channel.bytes_sent)

    @property
    def bytes_received(self) -> int:
        """Over all connections to the node."""
        return self._past_received + (0 if self._channel is None else self._channel.bytes_received)

    def pause_left_ms(self, now_ms: int) -> int:
        """Time until the next attempt: the backoff after a failure, or the broker's throttle time."""
        until_ms = self.retry_at_ms if self.state is State.DISCONNECTED else self._paused_until_ms
        return max(0, until_ms - now_ms)

    def may_send(self, now_ms: int) -> bool:
        """Whether a request given now would be sent now."""
        return self.state is State.READY and not self._waiting and self._has_room(now_ms)

    def may_connect(self, now_ms: int) -> bool:
        """Whether there is no connection, and the backoff after the last failure is over."""
        return self.state is State.DISCONNECTED and now_ms >= self.retry_at_ms

    def next_due_ms(self, now_ms: int) -> int:
        """When to call `advance` next if the socket has no event."""
        due_ms = min((pending.deadline_ms for pending in (*self._in_flight, *self._waiting)), default=NEVER_MS)
        if self.state is State.DISCONNECTED:
            return min(due_ms, self.retry_at_ms) if self._waiting else due_ms
        if self.state is not State.READY:
            return min(due_ms, self._setup_deadline_ms)
        if self._waiting and self._paused_until_ms > now_ms:
            due_ms = min(due_ms, self._paused_until_ms)
        if self._waiting and self._renewal_is_due():
            due_ms = min(due_ms, now_ms + self._renewal_pause_ms())
        return due_ms if self.request_count else self._idle_until_ms()

    # --- what it is told ---------------------------------------------------------------------------------------------

    def give(self, pending: PendingRequest, now_ms: int) -> None:
        """Take a request; it is sent as soon as the connection allows."""
        self._waiting.append(pending)
        self.advance(now_ms)

    def connect(self, now_ms: int) -> None:
        """Start to connect to the next of the host's addresses. The next one is tried only after a failure."""
        if not self._addresses:
            self._addresses.extend(resolve(self.node.address))
        self._setup_deadline_ms = now_ms + self._settings.setup_timeout.wait_ms(self._failure_count + 1)
        self.last_used_ms = now_ms
        self._tried = str(self.node.address)
        try:
            if not self._addresses:
                raise OSError("the name does not resolve")
            family, target = self._addresses.popleft()
            self._tried = f"{java_text(self.node.address.host, target[0])}:{self.node.address.port}"
            self._channel = Channel(
                family,
                target,
                send_buffer_bytes=self._settings.send_buffer_bytes,
                receive_buffer_bytes=self._settings.receive_buffer_bytes,
                security=self._settings.security,
                host=self.node.address.host,
            )
        except OSError as error:
            self.lose(DisconnectException(str(error)), now_ms)
            return
        self.state = State.CONNECTING
        self._watch(selectors.EVENT_WRITE)

    def advance(self, now_ms: int) -> None:
        """Do what is due by time: connect, send, give up unsent requests."""
        self._expire_waiting(now_ms)
        if self.state is State.DISCONNECTED:
            if self._waiting and now_ms >= self.retry_at_ms:
                self.connect(now_ms)
        elif self.state is State.READY:
            if self._waiting and self._renewal_is_due():
                # What is in flight is answered first.
                if not self._in_flight and not self._renewal_pause_ms():
                    self._renew_login(now_ms)
                return
            while self._waiting and self._has_room(now_ms):
                self._send(self._waiting.popleft(), now_ms)
            if not self.request_count and now_ms >= self._idle_until_ms():
                self._disconnect()

    def give_up_overdue(self, now_ms: int) -> None:
        """Disconnect if an answer, or the connection itself, is overdue. Call it after reading what has arrived."""
        if now_ms >= self._setup_deadline_ms:
            self.lose(DisconnectException(f"Disconnected from node {self.node.id} due to socket setup timeout"), now_ms)
        elif any(now_ms >= pending.deadline_ms for pending in self._in_flight):
            log.info("[%s] Disconnecting from node %s due to request timeout.", self._settings.log_prefix, self.node.id)
            self.lose(TimeoutException(f"Disconnected from node {self.node.id} due to timeout"), now_ms)

    def on_event(self, events: int, now_ms: int) -> None:
        """The socket is readable or writable."""
        channel = self._channel
        if channel is None:
            return
        try:
            if self.state is State.CONNECTING:
                channel.finish_connect()
                self.state = State.SHAKING_HANDS
                # Wait as long as for any request: a busy broker accepts connections at once, and answers later.
                self._setup_deadline_ms = now_ms + self._settings.request_timeout_ms
            if self.state is State.SHAKING_HANDS:
                wanted = channel.handshake()
                if wanted:
                    self._watch(wanted)
                    return
                self._begin_login(now_ms)
            if events & selectors.EVENT_WRITE and channel.has_unsent:
                channel.write()
            # A handshake leaves nothing to read that the selector would not tell again, but TLS may hold a part.
            if events & selectors.EVENT_READ or channel.wants_write:
                for frame in channel.read():
                    self._take_frame(frame, now_ms)
        except (AuthenticationException, DisconnectException) as error:
            self.lose(error, now_ms)
            return
        except (OSError, KafkaException) as error:
            self.lose(self._reason_of(error, channel), now_ms)
            return
        self._watch_as_needed()
        self.advance(now_ms)

    def lose(self, reason: Exception, now_ms: int) -> None:
        """The connection is lost: all its requests fail with `reason`."""
        log_lost(self._settings.log_prefix, self.node.id, self._tried, self.state, reason)
        self._failure_count += 1
        self.retry_at_ms = now_ms + self._settings.reconnect_backoff.wait_ms(self._failure_count)
        self._give_up(reason)

    def close(self, reason: Exception) -> None:
        """The node is no longer used: its requests fail. Logs nothing, as in Java."""
        if self.request_count:
            self._give_up(reason)
        else:
            self._disconnect()

    # --- inside ------------------------------------------------------------------------------------------------------

    def _reason_of(self, error: Exception, channel: Channel) -> DisconnectException:
        is_first = self.state is State.CHECKING_API_VERSIONS and not channel.bytes_received
        if is_first and self._settings.security.tls is None and isinstance(error, ConnectionError):
            return closed_before_an_answer()
        return DisconnectException(str(error))

    def _give_up(self, reason: Exception) -> None:
        """Drop this connection: its requests fail."""
        self._disconnect()
        failed = [*self._in_flight, *self._waiting]
        self._in_flight.clear()
        self._waiting.clear()
        for pending in failed:
            self._finish(partial(pending.on_error, reason))
        self._on_lost(reason)

    def _has_room(self, now_ms: int) -> bool:
        channel = self._channel
        return (
            channel is not None
            and not channel.has_unsent
            and len(self._in_flight) < self._settings.max_in_flight
            and now_ms >= self._paused_until_ms
        )

    def _idle_until_ms(self) -> int:
        idle_ms = self._settings.max_idle_ms
        return self.last_used_ms + idle_ms if idle_ms >= 0 else NEVER_MS

    def _expire_waiting(self, now_ms: int) -> None:
        for pending in [each for each in self._waiting if now_ms >= each.deadline_ms]:
            self._waiting.remove(pending)
            reason = TimeoutException(f"Failed to send request after {self._settings.request_timeout_ms} ms.")
            self._finish(partial(pending.on_error, reason))

    def _send(self, pending: PendingRequest, now_ms: int) -> None:
        assert self.versions is not None, "nothing is sent before the versions are known"
        try:
            pending.version = self.versions.version_for(pending.request, pending.max_version)
            self._write(pending, pending.build(pending.version), now_ms)
        except AuthenticationException as error:
            self._waiting.appendleft(pending)
            self.lose(error, now_ms)
        except OSError as error:
            self._waiting.appendleft(pending)
            self.lose(DisconnectException(str(error)), now_ms)
        except Exception as error:
            # No common version, or values that cannot be encoded: nothing was sent, so the others continue.
            self._finish(partial(pending.on_error, error))

    def _begin_login(self, now_ms: int) -> None:
        begin = self._settings.security.login
        if begin is None:
            self._begin_versions(now_ms)
            return
        self.state = State.LOGGING_IN
        self._login = begin(self.node.address.host)
        self._write_pieces(self._login.begin(), now_ms)

    def _go_on_with_login(self, login: Login, frame: Buffer, now_ms: int) -> None:
        pieces = login.take(frame)
        if pieces:
            self._write_pieces(pieces, now_ms)
        if login.is_complete and self._is_renewing:
            self._is_renewing = False
            self.state = State.READY
            self._setup_deadline_ms = NEVER_MS
        elif login.is_complete:
            self._begin_versions(now_ms)

    def _renewal_is_due(self) -> bool:
        return self._login is not None and time.monotonic() >= self._login.renew_at_s

    def _renewal_pause_ms(self) -> int:
        """Until the broker takes a renewal, rounded up."""
        assert self._login is not None
        return max(0, math.ceil((self._login.renew_from_s - time.monotonic()) * 1000))

    def _renew_login(self, now_ms: int) -> None:
        """Log in again before the broker ends the session (KIP-368). Requests wait meanwhile."""
        assert self._login is not None
        self._is_renewing = True
        self.state = State.LOGGING_IN
        self._setup_deadline_ms = now_ms + self._settings.request_timeout_ms
        try:
            self._login = self._login.again()
            self._write_pieces(self._login.begin(), now_ms)
        except AuthenticationException as error:
            self.lose(error, now_ms)
        except OSError as error:
            self.lose(DisconnectException(str(error)), now_ms)
        else:
            self._watch_as_needed()

    def _begin_versions(self, now_ms: int) -> None:
        self.state = State.CHECKING_API_VERSIONS
        self._ask_for_versions(API_VERSIONS_REQUEST.max_version, now_ms)

    def _write_pieces(self, pieces: Sequence[bytes], now_ms: int) -> None:
        channel = self._channel
        assert channel is not None, "there is no connection to write to"
        self.last_used_ms = now_ms
        channel.queue(pieces)
        channel.write()

    def _ask_for_versions(self, version: int, now_ms: int) -> None:
        pending = PendingRequest(
            API_VERSIONS_REQUEST,
            API_VERSIONS_RESPONSE,
            lambda _: api_versions_request(),
            partial(self._take_versions, version),
            lambda _: None,
            self._setup_deadline_ms,
            version,
        )
        self._write(pending, api_versions_request(), now_ms)

    def _write(self, pending: PendingRequest, value: Any, now_ms: int) -> None:
        pending.correlation_id = next(self._correlation_ids)
        pending.sent_ms = now_ms
        pieces = encode_request(
            pending.request,
            value,
            pending.version,
            correlation_id=pending.correlation_id,
            client_id=self._settings.client_id,
        )
        self._write_pieces(pieces, now_ms)
        if pending.response is None:
            self._finish(partial(pending.on_answer, None))
        else:
            self._in_flight.append(pending)
        self._watch_as_needed()

    def _take_frame(self, frame: Buffer, now_ms: int) -> None:
        if self.state is State.LOGGING_IN and self._login is not None:
            self._go_on_with_login(self._login, frame, now_ms)
        else:
            self._take_answer(frame, now_ms)

    def _take_answer(self, frame: Buffer, now_ms: int) -> None:
        if not self._in_flight:
            raise KafkaException("The broker sent a response without a request")
        pending = self._in_flight[0]
        assert pending.response is not None, "a request without an answer is not in flight"
        api_key = key_of(pending.request)
        answer = decode_answer(frame, pending.response, api_key, pending.version, pending.correlation_id)
        self._in_flight.popleft()
        self.last_used_ms = now_ms
        self.latency_ms = now_ms - pending.sent_ms
        pause = pause_ms(api_key, pending.version, answer)
        if pause:
            # An answer to an earlier request may ask for a longer pause than this one.
            self._paused_until_ms = max(self._paused_until_ms, now_ms + pause)
        if self.state is State.CHECKING_API_VERSIONS:
            self._take_versions(pending.version, answer, now_ms)
        else:
            self._finish(partial(pending.on_answer, answer))

    def _take_versions(self, version: int, answer: ApiVersionsResponse, now_ms: int) -> None:
        older = stepped_back(answer, version)
        if older is not None:
            self._ask_for_versions(older, now_ms)
        elif answer.error_code != ErrorCode.NONE:
            raise KafkaException(f"The node refused ApiVersions with {code_of(answer.error_code).name}")
        else:
            self.versions = NodeVersions(answer)
            self.state = State.READY
            self._setup_deadline_ms = NEVER_MS
            self._failure_count = 0
            # The next connection asks the resolver again: the host may have moved.
            self._addresses.clear()

    def _watch_as_needed(self) -> None:
        if self._channel is not None:
            writes = self._channel.wants_write
            self._watch(selectors.EVENT_READ | (selectors.EVENT_WRITE if writes else 0))

    def _watch(self, events: int) -> None:
        assert self._channel is not None
        if not self._events:
            self._selector.register(self._channel, events, self)
        elif events != self._events:
            self._selector.modify(self._channel, events, self)
        self._events = events

    def _disconnect(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            self._past_sent += channel.bytes_sent
            self._past_received += channel.bytes_received
            if self._events:
                self._selector.unregister(channel)
            channel.close()
        self._events = 0
        self._login = None
        self._is_renewing = False
        self.state = State.DISCONNECTED
        self._setup_deadline_ms = NEVER_MS


def log_lost(log_prefix: str, node_id: int, tried: str, state: State, reason: Exception) -> None:
    """The line that says how a connection in `state` ended. `tried`: the address, as Java prints it."""
    hint = {"hint": f"The broker at {tried.lstrip('/')}: {reason}"} if isinstance(reason, ProtocolMismatch) else {}
    name = f"Connection to node {node_id} ({tried})"
    if isinstance(reason, AuthenticationException):
        log.error("[%s] %s failed authentication due to: %s", log_prefix, name, reason)
    elif state in (State.SHAKING_HANDS, State.LOGGING_IN):
        log.warning("[%s] %s terminated during authentication. %s", log_prefix, name, _MAY_BE, extra=hint)
    elif state is not State.READY:
        unreachable = hint or {"unreachable": tried}
        text = "[%s] %s could not be established. Node may not be available."
        log.warning(text, log_prefix, name, extra=unreachable)
    else:
        log.info("[%s] Node %s disconnected.", log_prefix, node_id)
