"""The network package's settings, taken from the broker's configuration.

Role        Pure. `SocketServerSettings.of(config)` is the only place here that knows the names of broker configs.
Source      SocketServerConfigs in Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.network.quotas import UNLIMITED


@dataclass(frozen=True, slots=True)
class SocketServerSettings:
    """Sizes in bytes, -1 for the system's own; times in ms, negative for never."""

    endpoints: tuple[EndPoint, ...]
    inter_broker_listener: str = ""
    control_plane_listener: str = ""
    send_buffer_bytes: int = 102400
    receive_buffer_bytes: int = 102400
    max_request_bytes: int = 104857600
    max_login_bytes: int = 524288
    """Of one frame before the client has logged in, where it must."""
    failed_login_delay_ms: int = 100
    backlog_size: int = 50
    max_idle_ms: int = 600_000
    queued_max_requests: int = 500
    queued_max_request_bytes: int = -1
    max_connections: int = UNLIMITED
    max_connections_per_ip: int = UNLIMITED
    max_connections_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    max_connection_creation_rate: int = UNLIMITED
    max_connections_per_listener: Mapping[str, int] = field(default_factory=dict)
    max_connection_creation_rate_per_listener: Mapping[str, int] = field(default_factory=dict)
    quota_windows: int = 11
    quota_window_ms: int = 1000
    turn_bytes: int = 64 * 1024
    """Bytes of large requests in one turn of a connection: checking and writing them takes longer than the send that is
    saved."""
    unsent_bytes: int = 1024 * 1024
    """Bytes of answers in memory, without slices of segments, above which a connection starts no request. The one that
    exceeds it is the last for now, so at most one more answer is kept."""

    @classmethod
    def of(cls, config: BrokerConfig, *, descriptors_for_connections: int = UNLIMITED) -> SocketServerSettings:
        """`descriptors_for_connections`: how many descriptors connections may use."""
        return cls(
            endpoints=tuple(config.listeners),
            inter_broker_listener=config.inter_broker_listener_name,
            control_plane_listener=config.control_plane_listener_name or "",
            send_buffer_bytes=config.socket_send_buffer_bytes,
            receive_buffer_bytes=config.socket_receive_buffer_bytes,
            max_request_bytes=config.socket_request_max_bytes,
            max_login_bytes=config.sasl_server_max_receive_size,
            failed_login_delay_ms=config.connection_failed_authentication_delay_ms,
            backlog_size=config.socket_listen_backlog_size,
            max_idle_ms=config.connections_max_idle_ms,
            queued_max_requests=config.queued_max_requests,
            queued_max_request_bytes=config.queued_max_request_bytes,
            max_connections=min(config.max_connections, descriptors_for_connections),
            max_connections_per_ip=config.max_connections_per_ip,
            max_connections_per_ip_overrides=config.max_connections_per_ip_overrides,
            max_connection_creation_rate=config.max_connection_creation_rate,
            max_connections_per_listener=config.of_listeners("max.connections"),
            max_connection_creation_rate_per_listener=config.of_listeners("max.connection.creation.rate"),
            quota_windows=config.quota_window_num,
            quota_window_ms=config.quota_window_size_seconds * 1000,
        )

    @property
    def protected_listener(self) -> str | None:
        """The listener of the brokers, which the limits of the others may not block; None if clients share it."""
        return self.inter_broker_listener if len(self.endpoints) > 1 else None
