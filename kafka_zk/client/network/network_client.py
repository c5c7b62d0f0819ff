"""All connections of one client: sends requests by node id, delivers results from `poll`.

Role        Acts. Belongs to one thread; only `wakeup` may be called from others (and from signal handlers).
Invariants  Outcomes (`on_answer`, `on_error`) are called inside `poll`, never inside `send`, and each request has one.
            They may send, they may not poll.
            The metadata is kept fresh by `poll` alone.
Source      Kafka 3.9 NetworkClient (poll, leastLoadedNode, DefaultMetadataUpdater), Selector.
"""

from __future__ import annotations

import contextlib
import logging
import random
import selectors
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from kafka_zk.client.errors import AuthenticationException, DisconnectException
from kafka_zk.client.network.cluster_snapshot import Node
from kafka_zk.client.network.metadata import ClusterMetadata, MetadataQuestion
from kafka_zk.client.network.node_connection import NEVER_MS, NodeConnection, PendingRequest, State
from kafka_zk.client.network.settings import NetworkSettings
from kafka_zk.clock import Clock, SystemClock
from kafka_zk.protocol.errors import UnsupportedVersion
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.metadata import (
    METADATA_REQUEST,
    METADATA_RESPONSE,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

Request = TypeVar("Request")
Response = TypeVar("Response")

CLOSED = "The client was closed."
LONGEST_SELECT_S = 3600.0
"""epoll takes 2**31 - 1 ms at most. Callers that wait longer call again."""

log = logging.getLogger("org.apache.kafka.clients.NetworkClient")


class NetworkClient:
    """Close it: every open request then fails."""

    def __init__(self, settings: NetworkSettings, metadata: ClusterMetadata, *, clock: Clock | None = None) -> None:
        """Opens no connection yet."""
        self.metadata = metadata
        self._settings = settings
        self._clock = clock or SystemClock()
        self._selector = selectors.DefaultSelector()
        self._waker, self._woken = socket.socketpair()
        self._waker.setblocking(False)
        self._woken.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        self._connections: dict[int, NodeConnection] = {}
        self._own_nodes: dict[int, Node] = {}
        self._outcomes: deque[Callable[[], None]] = deque()
        self._is_asking = False
        self._is_closed = False

    def __repr__(self) -> str:
        return f"NetworkClient {self._settings.log_prefix} {list(self._connections.values())}"

    def close(self) -> None:
        """Close every connection; open requests fail with DisconnectException. Idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        for connection in self._connections.values():
            connection.close(DisconnectException(CLOSED))
        self._run_outcomes()
        self._selector.close()
        self._waker.close()
        self._woken.close()

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    # --- requests ----------------------------------------------------------------------------------------------------

    def send(
        self,
        node_id: int,
        request: Message[Request],
        response: Message[Response],
        build: Callable[[int], Request],
        on_answer: Callable[[Response], None],
        on_error: Callable[[Exception], None],
        *,
        timeout_ms: int | None = None,
        max_version: int | None = None,
    ) -> None:
        """Send `build(version)` to a node, in the highest version both sides have (and not above `max_version`);
        connect first where needed.

        Never blocks, and never raises for network failures. `on_error` gets DisconnectException (no connection,
        a lost one, an unknown node), TimeoutException (after `timeout_ms`, else request.timeout.ms, counted from now;
        the connection is then closed), UnsupportedVersion, or whatever `build` raises.
        """
        deadline_ms = self._deadline(timeout_ms)
        pending = PendingRequest(request, response, build, on_answer, on_error, deadline_ms, max_version=max_version)
        self._give(node_id, pending)

    def send_unanswered(
        self,
        node_id: int,
        request: Message[Request],
        build: Callable[[int], Request],
        on_sent: Callable[[], None],
        on_error: Callable[[Exception], None],
    ) -> None:
        """Like `send` for a request that brokers do not answer: Produce with acks=0."""
        pending = PendingRequest(request, None, build, lambda _: on_sent(), on_error, self._deadline(None))
        self._give(node_id, pending)

    def poll(self, timeout_s: float) -> None:
        """Blocks. Do the pending work: wait for an event, `wakeup` or the timeout.

        Calls outcomes. Returns at once if some are ready already.
        """
        now_ms = self._clock.monotonic_ms()
        due_ms = self._refresh_metadata(now_ms)
        for connection in list(self._connections.values()):
            connection.advance(now_ms)
            due_ms = min(due_ms, connection.next_due_ms(now_ms))
        wait_s = 0.0 if self._outcomes else max(0.0, min(timeout_s, (due_ms - now_ms) / 1000, LONGEST_SELECT_S))
        events = self._selector.select(wait_s)
        now_ms = self._clock.monotonic_ms()
        for key, mask in events:
            if key.data is None:
                self._take_wakeup()
            else:
                key.data.on_event(mask, now_ms)
        for connection in list(self._connections.values()):
            # Checked after reading: a timely response may have waited that long for this poll.
            connection.give_up_overdue(now_ms)
            connection.advance(now_ms)
        self._run_outcomes()

    def wakeup(self) -> None:
        """Make the current or the next `poll` return at once. From any thread; safe in a signal handler."""
        # No flag marks a pending wakeup: threads and signals could run between the flag and the byte. A full pipe is
        # as good as written; a closed one no longer matters.
        with contextlib.suppress(OSError):
            self._waker.send(b"\0")

    # --- nodes -------------------------------------------------------------------------------------------------------

    def add_node(self, node: Node) -> None:
        """Add a node that the metadata does not have: a coordinator's own connection, for instance."""
        self._own_nodes[node.id] = node

    def ready(self, node_id: int) -> bool:
        """Whether a request to the node would be sent at once; starts to connect if there is no connection."""
        now_ms = self._clock.monotonic_ms()
        connection = self._connection(node_id)
        if connection is None:
            return False
        if connection.may_connect(now_ms):
            connection.connect(now_ms)
        return connection.may_send(now_ms)

    def is_unavailable(self, node_id: int) -> bool:
        """Whether connecting to the node failed and the pause before the next attempt is still running."""
        connection = self._connections.get(node_id)
        return (
            connection is not None
            and connection.state is State.DISCONNECTED
            and connection.retry_at_ms > self._clock.monotonic_ms()
        )

    def retry_wait_ms(self, node_id: int) -> int:
        """Time until the next connection attempt, or until the end of the broker's throttle time; else 0."""
        connection = self._connections.get(node_id)
        return 0 if connection is None else connection.pause_left_ms(self._clock.monotonic_ms())

    def connection_count(self) -> int:
        """Open connections and those being made."""
        return sum(each.state is not State.DISCONNECTED for each in list(self._connections.values()))

    @property
    def bytes_sent(self) -> int:
        return sum(each.bytes_sent for each in list(self._connections.values()))

    @property
    def bytes_received(self) -> int:
        return sum(each.bytes_received for each in list(self._connections.values()))

    def in_flight_count(self, node_id: int | None = None) -> int:
        """Requests without an outcome, sent or not: of one node, or of all."""
        if node_id is None:
            return sum(connection.request_count for connection in list(self._connections.values()))
        connection = self._connections.get(node_id)
        return 0 if connection is None else connection.request_count

    def disconnect(self, node_id: int) -> None:
        """Close the connection to a node; its requests fail at the next poll with DisconnectException."""
        connection = self._connections.get(node_id)
        if connection is not None and connection.state is not State.DISCONNECTED:
            reason = DisconnectException(f"Disconnected from node {node_id} on request")
            connection.lose(reason, self._clock.monotonic_ms())

    def least_loaded_node(self) -> int | None:
        """The node for a request that any broker can answer: fewest requests, connected nodes first.

        None while every node is in the pause after a failure.
        """
        now_ms = self._clock.monotonic_ms()
        best: tuple[int, int] | None = None
        nodes = list(self.metadata.snapshot.nodes)
        for node_id in random.sample(nodes, len(nodes)):
            connection = self._connections.get(node_id)
            if connection is None or connection.may_connect(now_ms):
                rank = (3, 0)
            elif connection.may_send(now_ms):
                rank = (0, connection.request_count)
            elif connection.state is State.READY:
                rank = (1, connection.request_count)
            elif connection.state is not State.DISCONNECTED:
                rank = (2, connection.request_count)
            else:
                continue
            if best is None or rank < best:
                best, chosen = rank, node_id
        return None if best is None else chosen

    # --- inside ------------------------------------------------------------------------------------------------------

    def _deadline(self, timeout_ms: int | None) -> int:
        wait_ms = self._settings.request_timeout_ms if timeout_ms is None else timeout_ms
        return self._clock.monotonic_ms() + wait_ms

    def _give(self, node_id: int, pending: PendingRequest) -> None:
        connection = None if self._is_closed else self._connection(node_id)
        if connection is None:
            reason = DisconnectException(
                f"Node {node_id} is not known" if not self._is_closed else "The client was closed."
            )
            self._outcomes.append(lambda: pending.on_error(reason))
        else:
            connection.give(pending, self._clock.monotonic_ms())

    def _connection(self, node_id: int) -> NodeConnection | None:
        node = self._own_nodes.get(node_id) or self.metadata.snapshot.nodes.get(node_id)
        connection = self._connections.get(node_id)
        if node is None:
            return connection
        if connection is not None and connection.node.address != node.address:
            connection.close(DisconnectException(f"Node {node_id} has moved to {node}"))
            connection = None
        if connection is None:
            connection = NodeConnection(node, self._settings, self._selector, self._outcomes.append, self._on_lost)
            self._connections[node_id] = connection
        return connection

    def _on_lost(self, reason: Exception) -> None:
        if isinstance(reason, AuthenticationException):
            self.metadata.refused(reason)
        self.metadata.request_update()

    def _take_wakeup(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._woken.recv(1024):
                pass

    def _run_outcomes(self) -> None:
        while self._outcomes:
            self._outcomes.popleft()()

    # --- metadata ----------------------------------------------------------------------------------------------------

    def _refresh_metadata(self, now_ms: int) -> int:
        """Send a metadata request if one is due; returns when the next one is."""
        if self._is_asking:
            return NEVER_MS
        wait_ms = self.metadata.ms_until_update(now_ms)
        if wait_ms > 0:
            return now_ms + wait_ms
        node_id = self.least_loaded_node()
        if node_id is None:
            if self._settings.rebootstrap:
                log.info("[%s] Rebootstrapping: none of the known brokers can be reached", self._settings.log_prefix)
                self.metadata.rebootstrap()
            # Known nodes only: connections to others, such as bootstrap servers, do not affect when to ask.
            known = [self._connections.get(each) for each in self.metadata.snapshot.nodes]
            return min((now_ms if each is None else each.retry_at_ms for each in known), default=NEVER_MS)
        self._is_asking = True
        question = self.metadata.next_question()
        self.send(
            node_id,
            METADATA_REQUEST,
            METADATA_RESPONSE,
            lambda version: _metadata_request(question, version),
            lambda answer: self._take_metadata(question, answer),
            self._metadata_failed,
        )
        return NEVER_MS

    def _take_metadata(self, question: MetadataQuestion, answer: MetadataResponse) -> None:
        self._is_asking = False
        self.metadata.update(question, answer, self._clock.monotonic_ms())

    def _metadata_failed(self, error: Exception) -> None:
        self._is_asking = False
        log.debug("[%s] Could not fetch metadata: %s", self._settings.log_prefix, error)
        self.metadata.failed(self._clock.monotonic_ms())


def _metadata_request(question: MetadataQuestion, version: int) -> MetadataRequest:
    if not question.allow_auto_topic_creation and version < 4:
        raise UnsupportedVersion("MetadataRequest versions older than 4 don't support the allowAutoTopicCreation field")
    if question.topics is None:
        # All topics: null, but in version 0 an empty list.
        topics: Any = [] if version == 0 else None
    else:
        topics = [MetadataRequestTopic(name=name) for name in question.topics]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=question.allow_auto_topic_creation)
