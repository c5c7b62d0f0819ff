"""The configs that the network room reads, as one value.

Role        Pure. `SocketServerSettings.of(config)` is the only place here that knows the names of broker configs.
Source      SocketServerConfigs in Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_zk.network.quotas import UNLIMITED


@dataclass(frozen=True, slots=True)
class ListenerEndPoint:
    """Where to listen. An empty host is every interface; port 0 is a free one."""

    listener_name: str
    host: str = ""
    port: int = 0
    security_protocol: str = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class SocketServerSettings:
    """Sizes in bytes, -1 for the system's own; times in ms, negative for never."""

    endpoints: tuple[ListenerEndPoint, ...]
    inter_broker_listener: str = ""
    control_plane_listener: str = ""
    send_buffer_bytes: int = 102400
    receive_buffer_bytes: int = 102400
    max_request_bytes: int = 104857600
    backlog_size: int = 50
    max_idle_ms: int = 600_000
    queued_max_requests: int = 500
    max_connections: int = UNLIMITED
    max_connections_per_ip: int = UNLIMITED
    max_connections_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    max_connection_creation_rate: int = UNLIMITED
