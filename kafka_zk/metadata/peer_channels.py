"""Sends this broker's requests to the other brokers, and to itself: per broker one connection, one request in flight.

Role        Acts. One greenlet per broker while there is something to send to it.
Invariants  Requests to one broker are sent in the order of `send`. Nothing is sent twice: a lost connection fails the
            request that was on it, and whoever sent it decides what follows.
            After a failed attempt to connect, the next one to the same broker waits for a while.
Source      InterBrokerSendThread and the NetworkClient below it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import gevent
from gevent.event import Event

from kafka_zk.clock import Clock
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metadata.peer_versions import PeerVersions
from kafka_zk.metadata.snapshot import Node
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import BrokerNotAvailable, UnsupportedVersion
from kafka_zk.supervision import spawn_for_life

RECONNECT_BACKOFF_MS = 50


class Channel(Protocol):
    """What is used of network.channel.BrokerChannel."""

    @property
    def is_closed(self) -> bool: ...

    def send(self, request: Any, api_version: int) -> Any: ...

    def close(self) -> None: ...


Connect = Callable[[Node, str], Channel]
"""Opens a channel to a broker under a client id; blocks, raises NetworkError."""


class PeerChannels:
    """The connections of one client id. `listener_name` is the inter-broker listener."""

    def __init__(
        self,
        *,
        client_id: str,
        metadata_cache: MetadataCache,
        listener_name: str,
        connect: Connect,
        clock: Clock,
        reconnect_backoff_ms: int = RECONNECT_BACKOFF_MS,
    ) -> None:
        self.client_id = client_id
        self.reconnect_backoff_ms = reconnect_backoff_ms
        self.clock = clock
        self._metadata_cache = metadata_cache
        self._listener_name = listener_name
        self._connect = connect
        self._peers: dict[int, _Peer] = {}
        self._is_stopped = False
        metadata_cache.on_change(lambda _changed, _deleted: self._forget_dead())

    def node(self, broker_id: int) -> Node | None:
        """Where a broker is now; None while it is not alive or has no such listener."""
        return self._metadata_cache.node(broker_id, self._listener_name)

    def send(self, broker_id: int, request: Any, *, lowest_version: int = 0) -> Pending[Any]:
        """The broker's response to come, at the highest version that both sides know.

        Fails with BrokerNotAvailable where the metadata has no such broker, with NetworkError where the connection
        fails, is lost or is silent for request.timeout.ms, and with UnsupportedVersion where the broker knows no
        version from `lowest_version` on. It may be settled when it is returned.
        """
        pending: Pending[Any] = Pending()
        if self._is_stopped:
            pending.fail(_stopping())
        elif self.node(broker_id) is None:
            pending.fail(_not_available(broker_id))
        else:
            peer = self._peers.get(broker_id)
            if peer is None:
                peer = self._peers[broker_id] = _Peer(self, broker_id)
            peer.put(_Queued(request, lowest_version, pending))
        return pending

    def shutdown(self) -> None:
        """Close the connections; what is not answered yet fails with NetworkError."""
        self._is_stopped = True
        while self._peers:
            self._peers.popitem()[1].stop(_stopping())

    def connect(self, node: Node) -> Channel:
        """Blocks. Raises NetworkError."""
        return self._connect(node, self.client_id)

    def _forget_dead(self) -> None:
        """A broker that left is not waited for: its address may stay silent for long."""
        for broker_id in [each for each in self._peers if self.node(each) is None]:
            self._peers.pop(broker_id).stop(_not_available(broker_id))

    def __repr__(self) -> str:
        return f"PeerChannels({self.client_id} {sorted(self._peers.values(), key=repr)})"


class _Queued:
    __slots__ = ("lowest_version", "pending", "request")

    def __init__(self, request: Any, lowest_version: int, pending: Pending[Any]) -> None:
        self.request = request
        self.lowest_version = lowest_version
        self.pending = pending


class _Peer:
    """What waits for one broker, and the connection to it."""

    def __init__(self, owner: PeerChannels, broker_id: int) -> None:
        self._owner = owner
        self._broker_id = broker_id
        self._queue: deque[_Queued] = deque()
        """The first one is being sent."""
        self._greenlet: gevent.Greenlet[..., None] | None = None
        self._node: Node | None = None
        self._channel: Channel | None = None
        self._versions: PeerVersions | None = None
        self._no_attempt_before_ms = 0

    def put(self, queued: _Queued) -> None:
        self._queue.append(queued)
        if self._greenlet is None or self._greenlet.ready():
            name = f"{self._owner.client_id} to {self._broker_id}"
            self._greenlet = spawn_for_life(name, self._send_all, on_error=self._fail_first)

    def stop(self, reason: Exception) -> None:
        """Fail what is queued with `reason`."""
        if self._greenlet is not None:
            self._greenlet.kill(block=False)
        self._disconnect()
        while self._queue:
            self._queue.popleft().pending.fail(reason)

    def _send_all(self) -> None:
        """Blocks until nothing is queued."""
        while self._queue:
            queued = self._queue[0]
            try:
                response = self._answer_to(queued)
            except (NetworkError, BrokerNotAvailable, UnsupportedVersion) as error:
                self._fail_first(error)
            else:
                if self._queue:  # Else the answer came just when this was stopped.
                    self._queue.popleft()
                queued.pending.complete(response)

    def _fail_first(self, error: Exception) -> None:
        if not isinstance(error, UnsupportedVersion):
            self._disconnect()
        if self._queue:
            self._queue.popleft().pending.fail(error)

    def _answer_to(self, queued: _Queued) -> Any:
        """Blocks."""
        channel, versions = self._connected()
        return channel.send(queued.request, versions.version_for(queued.request, lowest=queued.lowest_version))

    def _connected(self) -> tuple[Channel, PeerVersions]:
        """Blocks. A broker that has moved is looked for where it is now."""
        node = self._owner.node(self._broker_id)
        if node is None:
            raise _not_available(self._broker_id)
        channel, versions = self._channel, self._versions
        if channel is not None and versions is not None and node == self._node and not channel.is_closed:
            return channel, versions
        self._disconnect()
        self._rest()
        self._no_attempt_before_ms = self._owner.clock.monotonic_ms() + self._owner.reconnect_backoff_ms
        self._channel, self._node = self._owner.connect(node), node
        self._versions = PeerVersions.ask(self._channel, node)
        return self._channel, self._versions

    def _rest(self) -> None:
        clock = self._owner.clock
        if clock.monotonic_ms() >= self._no_attempt_before_ms:
            return
        rested = Event()
        timer = clock.call_at(self._no_attempt_before_ms, rested.set)
        try:
            rested.wait()
        finally:
            timer.cancel()

    def _disconnect(self) -> None:
        channel, self._channel = self._channel, None
        self._versions = None
        if channel is not None:
            channel.close()

    def __repr__(self) -> str:
        state = "closed" if self._channel is None else "open"
        return f"{self._broker_id} {state} waiting={len(self._queue)}"


def _stopping() -> NetworkError:
    return NetworkError("The broker is shutting down")


def _not_available(broker_id: int) -> BrokerNotAvailable:
    return BrokerNotAvailable(f"Broker {broker_id} is not available")
