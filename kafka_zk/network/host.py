"""What a connection needs of those around it: its listener, the rooms above, and who cuts its bytes into frames."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kafka_zk.network.answer_queue import Deferred
from kafka_zk.network.parking import Parking, TurnTable
from kafka_zk.network.parts import Parts
from kafka_zk.network.request_channel import RequestChannel
from kafka_zk.network.transport import Transport

if TYPE_CHECKING:
    from kafka_zk.network.connection import Connection


class RequestHandler(Protocol):
    """What the connection needs from the room above: kafka_zk.api.dispatch."""

    def handle(self, frame: memoryview, connection: Connection) -> Parts | Deferred:
        """May block. Raises CloseConnection when the request gets no answer but the end of the connection."""
        ...


class FrameSource(Protocol):
    """What the connection needs of its bytes: a FrameReader, or one that pays for memory."""

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


class ConnectionHost(Protocol):
    """What a connection uses of its listener."""

    handler: RequestHandler
    turns: TurnTable
    requests: RequestChannel
    reader_for: Callable[[Parking], FrameSource]
    transport_for: Callable[[socket.socket, Parking], Transport]
    listener_name: str
    security_protocol: str
    log_prefix: str
    turn_bytes: int
    """After so many bytes of requests everybody else has a turn."""
    unsent_limit: int
    """Behind so many bytes of answers that are not sent no request starts."""
    incoming_bytes: int
    outgoing_bytes: int
    request_count: int
    flush_count: int

    def connection_closed(self, connection: Connection) -> None: ...
