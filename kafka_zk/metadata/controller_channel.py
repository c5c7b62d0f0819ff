"""Sends this broker's requests to the current controller.

Role        One greenlet that owns one connection. It finds the controller in the metadata cache, agrees on versions
            with it, sends one request at a time, and starts again elsewhere when the controller has moved.
Invariants  Requests are answered in the order of `send`. A request is retried until it is answered or its deadline
            passes: its sender never sees NOT_CONTROLLER or a lost connection.
            One that cannot be sent, or whose answer cannot be used, fails alone: those behind it go on.
Source      Kafka 3.9 NodeToControllerChannelManagerImpl, NodeToControllerRequestThread.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any

import gevent
from gevent.event import Event

from kafka_zk.clock import Clock
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metadata.peer_versions import Channel, PeerVersions
from kafka_zk.metadata.request_forms import highest_version, in_version
from kafka_zk.metadata.snapshot import Node
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode, RequestTimedOut, UnsupportedVersion
from kafka_zk.supervision import spawn_for_life

RETRY_BACKOFF_MS = 50

log = logging.getLogger("kafka.server.NodeToControllerRequestThread")


class _Queued:
    __slots__ = ("deadline_ms", "pending", "request")

    def __init__(self, request: Any, pending: Pending[Any], deadline_ms: int | None) -> None:
        self.request = request
        self.pending = pending
        self.deadline_ms = deadline_ms


class ControllerChannel:
    """`connect(node)` opens a channel to a broker (it blocks, and raises NetworkError).

    `listener_name` is the inter-broker listener: the controller is reached there.
    """

    def __init__(
        self,
        *,
        metadata_cache: MetadataCache,
        listener_name: str,
        clock: Clock,
        connect: Callable[[Node], Channel],
        retry_backoff_ms: int = RETRY_BACKOFF_MS,
    ) -> None:
        self._metadata_cache = metadata_cache
        self._listener_name = listener_name
        self._clock = clock
        self._connect = connect
        self._retry_backoff_ms = retry_backoff_ms
        self._queue: deque[_Queued] = deque()
        self._attempted: _Queued | None = None
        """The request that is being sent."""
        self._stirred = Event()
        self._stopped = False
        self._greenlet: gevent.Greenlet[..., None] | None = None
        self._channel: Channel | None = None
        self._node: Node | None = None
        self._versions: PeerVersions | None = None
        metadata_cache.on_change(lambda _changed, _deleted: self._stirred.set())

    def start(self) -> None:
        """Begin to send what is queued, and what will be."""
        self._greenlet = spawn_for_life("NodeToControllerRequestThread", self._run, on_error=self._fail_attempted)

    def shutdown(self) -> None:
        """Blocks. Close the connection; requests that are still queued fail with NetworkError."""
        self._stopped = True
        self._stirred.set()
        self._disconnect()
        if self._greenlet is not None:
            self._greenlet.join()
        while self._queue:
            self._queue.popleft().pending.fail(NetworkError("The broker is shutting down"))

    @property
    def knows_controller(self) -> bool:
        """Whether the metadata names a controller that requests could go to."""
        return self._controller() is not None

    def send(self, request: Any, *, timeout_ms: int | None = None) -> Pending[Any]:
        """The controller's response to come, at the highest version both sides know.

        Fails with RequestTimedOut after `timeout_ms` (None: never), with UnsupportedVersion when the controller does
        not know this API.
        """
        pending: Pending[Any] = Pending()
        deadline_ms = None if timeout_ms is None else self._clock.monotonic_ms() + timeout_ms
        if self._stopped:
            pending.fail(NetworkError("The broker is shutting down"))
            return pending
        self._queue.append(_Queued(request, pending, deadline_ms))
        if deadline_ms is not None:
            self._clock.call_at(deadline_ms, self._stirred.set)
        self._stirred.set()
        return pending

    @property
    def waiting_count(self) -> int:
        """Requests that are not answered yet."""
        return len(self._queue)

    # --- the greenlet --------------------------------------------------------------------------------------------

    def _run(self) -> None:
        """Blocks. Until shutdown."""
        while not self._stopped:
            self._drop_expired()
            if not self._queue:
                self._wait(None)
            elif not self._attempt(self._queue[0]):
                self._wait(self._retry_backoff_ms)
        self._disconnect()

    def _wait(self, timeout_ms: int | None) -> None:
        self._stirred.wait(None if timeout_ms is None else timeout_ms / 1000)
        self._stirred.clear()

    def _drop_expired(self) -> None:
        now_ms = self._clock.monotonic_ms()
        for queued in [queued for queued in self._queue if queued.deadline_ms is not None]:
            if queued.deadline_ms is not None and queued.deadline_ms <= now_ms:
                self._queue.remove(queued)
                queued.pending.fail(RequestTimedOut())

    def _attempt(self, queued: _Queued) -> bool:
        """Blocks. Send one request; False when the same one has to be tried again after a while."""
        self._attempted = queued
        try:
            channel = self._channel_to_controller()
            if channel is None or self._versions is None:
                return False
            try:
                highest = highest_version(queued.request)
                api_version = self._versions.version_for(queued.request, highest=highest)
            except UnsupportedVersion as error:
                self._queue.remove(queued)
                queued.pending.fail(error)
                return True
            response = channel.send(in_version(queued.request, api_version), api_version)
        except NetworkError as error:
            if not self._stopped:
                log.info("Recorded lost controller %s: %s", self._node, error)
            self._disconnect()
            return False
        if getattr(response, "error_code", ErrorCode.NONE) == ErrorCode.NOT_CONTROLLER:
            # It was the controller until a moment ago. The metadata will say who is now.
            self._disconnect()
            return False
        if queued in self._queue:
            self._queue.remove(queued)
            queued.pending.complete(response)
        return True

    def _fail_attempted(self, error: Exception) -> None:
        """Something unexpected came up with this request: it must not come up again."""
        self._disconnect()
        attempted, self._attempted = self._attempted, None
        if attempted is not None and attempted in self._queue:
            self._queue.remove(attempted)
            attempted.pending.fail(error)

    def _controller(self) -> Node | None:
        return self._metadata_cache.node(self._metadata_cache.controller_id, self._listener_name)

    def _channel_to_controller(self) -> Channel | None:
        """Blocks. The open channel to the controller in the metadata; None while there is none that can be reached."""
        node = self._controller()
        if node is None:
            return None
        if self._channel is not None and node == self._node:
            return self._channel
        self._disconnect()
        channel = self._connect(node)
        try:
            self._versions = PeerVersions.ask(channel, f"The controller {node}")
        except NetworkError:
            channel.close()
            raise
        self._channel, self._node = channel, node
        log.info("Recorded new controller, from now on will use node %s", node)
        return channel

    def _disconnect(self) -> None:
        channel, self._channel = self._channel, None
        self._node = None
        if channel is not None:
            channel.close()
