"""The controller's connections to the brokers: per broker one queue, one greenlet, one request in flight.

Role        Acts. Also the controller's own broker is reached over its socket.
Invariants  Requests reach a broker in the order they were queued; none is skipped. A request that fails is sent again,
            after a pause and over a new connection, until it is answered or the broker leaves the live set.
            A bug of ours in one request fails that one only: a deletion gets its error, and the next request is sent.
            A registration is one channel: a broker that comes back gets a new one.
Source      ControllerChannelManager, RequestSendThread.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import gevent
from gevent.event import Event as Signal

from kafka_zk.clock import Clock
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.controller.decisions.context import Broker
from kafka_zk.controller.decisions.requests import BrokerRequest
from kafka_zk.controller.events import (
    NO_ANSWER_ERROR,
    Event,
    LeaderAndIsrResponseReceived,
    TopicDeletionStopReplicaResponseReceived,
    UpdateMetadataResponseReceived,
)
from kafka_zk.controller.settings import ControllerSettings
from kafka_zk.network.channel import BrokerChannel, PeerSecurity
from kafka_zk.network.errors import NetworkError
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from kafka_zk.protocol.messages.stop_replica import StopReplicaResponse
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.supervision import spawn_for_life

RETRY_PAUSE_MS = 100

log = logging.getLogger("kafka.controller.RequestSendThread")
_MANAGER_LOGGER = logging.getLogger("kafka.controller.ControllerChannelManager")


class Link(Protocol):
    """A connection to a broker."""

    def send(self, request: Any, api_version: int, *, body: bytes | None = None) -> Any:
        """Blocks. The decoded response. `body`: the request's bytes, if it is encoded already. Raises NetworkError."""

    def close(self) -> None: ...


Connect = Callable[[EndPoint, int], Link]
"""Blocks. Connect to an address of a broker (id). Raises NetworkError."""


def socket_connect(settings: ControllerSettings, security: Callable[[], PeerSecurity | None]) -> Connect:
    """Connections over sockets; the client id is the controller's broker id, as brokers log it.

    `security` is asked for each connection: stores are replaced while the broker runs.
    """

    def connect(endpoint: EndPoint, broker_id: int) -> Link:
        timeout_ms = settings.controller_socket_timeout_ms
        return BrokerChannel.connect(
            endpoint.host,
            endpoint.port,
            client_id=str(settings.broker_id),
            connect_timeout_ms=timeout_ms,
            request_timeout_ms=timeout_ms,
            security=security(),
        )

    return connect


class ChannelMetrics(Protocol):
    """Counts what the channels do."""

    def on_request_taken(self, broker_id: int, waited_ms: int) -> None:
        """A request left the queue of a broker and is sent now."""

    def on_channel_removed(self, broker_id: int) -> None: ...


class BrokerChannels:
    """The channels to all brokers, during one controller epoch."""

    def __init__(
        self,
        *,
        controller_id: int,
        controller_epoch: int,
        listener: str,
        connect: Connect,
        clock: Clock,
        on_answer: Callable[[Event], None],
        metrics: ChannelMetrics,
    ) -> None:
        self._controller_id = controller_id
        self._controller_epoch = controller_epoch
        self._listener = listener
        self._connect = connect
        self._clock = clock
        self._on_answer = on_answer
        self._metrics = metrics
        self._channels: dict[int, _Channel] = {}

    def add(self, broker: Broker) -> None:
        """Add a channel for a new broker; it connects on the first request."""
        if broker.broker_id in self._channels:
            return
        endpoint = broker.endpoint(self._listener)
        if endpoint is None:
            _MANAGER_LOGGER.error(
                "[Channel manager on controller %d]: Broker %d has no listener %s, so nothing can be sent to it",
                self._controller_id, broker.broker_id, self._listener,
            )  # fmt: skip
            return
        _MANAGER_LOGGER.debug(
            "[Channel manager on controller %d]: Controller %d trying to connect to broker %d",
            self._controller_id, self._controller_id, broker.broker_id,
        )  # fmt: skip
        self._channels[broker.broker_id] = _Channel(self, broker.broker_id, endpoint)

    def move(self, broker: Broker) -> None:
        """A registered broker may be at another address now: what waits for it, and what follows, is sent there.

        Differs from Kafka, which sends to the old address until the broker's next registration.
        """
        channel, endpoint = self._channels.get(broker.broker_id), broker.endpoint(self._listener)
        if channel is None:
            self.add(broker)
        elif endpoint is not None:
            channel.move(endpoint)

    def remove(self, broker_id: int) -> None:
        """Drop the channel of a broker that is gone, with its queued requests."""
        channel = self._channels.pop(broker_id, None)
        if channel is not None:
            channel.stop()
            self._metrics.on_channel_removed(broker_id)

    def send(self, request: BrokerRequest) -> None:
        """Queue a request. Never blocks."""
        channel = self._channels.get(request.broker_id)
        if channel is None:
            _MANAGER_LOGGER.warning(
                "[Channel manager on controller %d]: Not sending request %s to broker %d, since it is offline.",
                self._controller_id, type(request.request).__name__, request.broker_id,
            )  # fmt: skip
            return
        channel.put(request)

    def wait_until_answered(self, timeout_s: float) -> bool:
        """Blocks. Wait until every broker has answered all queued requests; returns whether they did in time."""
        idle = [channel.is_idle for channel in self._channels.values()]
        return len(gevent.wait(idle, timeout_s)) == len(idle)

    def stop(self) -> None:
        for broker_id in list(self._channels):
            self.remove(broker_id)

    @property
    def queue_sizes(self) -> dict[int, int]:
        """Requests waiting per broker."""
        return {broker_id: channel.queue_size for broker_id, channel in self._channels.items()}


class _Channel:
    """One broker's queue and the greenlet that empties it."""

    def __init__(self, owner: BrokerChannels, broker_id: int, endpoint: EndPoint) -> None:
        self._owner = owner
        self._broker_id = broker_id
        self._endpoint = endpoint
        self._queue: deque[tuple[BrokerRequest, int]] = deque()
        self._wake = Signal()
        self.is_idle = Signal()
        """Everything that was queued is answered."""
        self.is_idle.set()
        self._link: Link | None = None
        self._current: BrokerRequest | None = None
        """The request that is not answered yet."""
        self._greenlet = spawn_for_life(
            f"RequestSendThread controllerId={owner._controller_id} to {broker_id}", self._run, on_error=self._fail
        )

    @property
    def queue_size(self) -> int:
        return len(self._queue)

    def put(self, request: BrokerRequest) -> None:
        self._queue.append((request, self._owner._clock.monotonic_ms()))
        self.is_idle.clear()
        self._wake.set()

    def move(self, endpoint: EndPoint) -> None:
        """The next request goes to `endpoint`, and so does the one that is not answered yet."""
        if endpoint != self._endpoint:
            self._endpoint = endpoint
            self._close_link()

    def stop(self) -> None:
        """Stop sending, without waiting for responses in flight."""
        self._queue.clear()
        self._greenlet.kill(block=False)

    def _run(self) -> None:
        try:
            while True:
                while not self._queue:
                    self.is_idle.set()
                    self._wake.clear()
                    self._wake.wait()
                request, queued_ms = self._queue.popleft()
                self._current = request
                self._owner._metrics.on_request_taken(self._broker_id, self._owner._clock.monotonic_ms() - queued_ms)
                response = self._send_until_answered(request)
                event = _event_of(request, response)
                self._current = None
                if event is not None:
                    self._owner._on_answer(event)
        finally:
            self._close_link()

    def _fail(self, _: Exception) -> None:
        request, self._current = self._current, None
        if request is not None and request.deleted:
            self._owner._on_answer(
                TopicDeletionStopReplicaResponseReceived(
                    *_about(request), dict.fromkeys(sorted(request.deleted), NO_ANSWER_ERROR)
                )
            )

    def _send_until_answered(self, request: BrokerRequest) -> Any:
        while True:
            try:
                if self._link is None:
                    self._link = self._owner._connect(self._endpoint, self._broker_id)
                    log.info(
                        "[RequestSendThread controllerId=%d] Controller %d connected to %s:%d (id: %d) for sending "
                        "state change requests", self._owner._controller_id, self._owner._controller_id,
                        self._endpoint.host, self._endpoint.port, self._broker_id,
                    )  # fmt: skip
                return self._link.send(request.request, request.api_version, body=request.body())
            except NetworkError as error:
                self._log_failure(request, error)
                self._close_link()
                self._pause()

    def _log_failure(self, request: BrokerRequest, error: NetworkError) -> None:
        log.warning(
            "[RequestSendThread controllerId=%d] Controller %d epoch %d fails to send request %s to broker "
            "%s:%d (id: %d). Reconnecting to broker. (%s)",
            self._owner._controller_id,
            self._owner._controller_id,
            self._owner._controller_epoch,
            type(request.request).__name__,
            self._endpoint.host,
            self._endpoint.port,
            self._broker_id,
            error,
        )

    def _pause(self) -> None:
        rested = Signal()
        clock = self._owner._clock
        timer = clock.call_at(clock.monotonic_ms() + RETRY_PAUSE_MS, rested.set)
        try:
            rested.wait()
        finally:
            timer.cancel()

    def _close_link(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()


def _about(sent: BrokerRequest) -> tuple[int, int, int]:
    return sent.broker_id, sent.request.broker_epoch, sent.request.controller_epoch


def _event_of(sent: BrokerRequest, response: Any) -> Event | None:
    about = _about(sent)
    if isinstance(response, LeaderAndIsrResponse):
        return LeaderAndIsrResponseReceived(*about, response)
    if isinstance(response, StopReplicaResponse):
        errors = _deletion_errors(sent, response)
        return TopicDeletionStopReplicaResponseReceived(*about, errors) if errors else None
    return UpdateMetadataResponseReceived(*about, response.error_code)


def _deletion_errors(sent: BrokerRequest, response: StopReplicaResponse) -> dict[TopicPartition, int]:
    """Error codes of the partitions that topic deletions wait for."""
    if response.error_code != ErrorCode.NONE:
        return dict.fromkeys(sorted(sent.deleted), response.error_code)
    answered = {TopicPartition(p.topic_name, p.partition_index): p.error_code for p in response.partition_errors}
    return {topic_partition: answered.get(topic_partition, NO_ANSWER_ERROR) for topic_partition in sorted(sent.deleted)}
