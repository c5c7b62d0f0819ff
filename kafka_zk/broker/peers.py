"""Connections to the other brokers of the cluster.

Role        Acts. Their users are the channel to the controller, the fetchers, and those that send to any broker.
Source      NodeToControllerChannelManagerImpl, BrokerBlockingSender, NetworkUtils.buildNetworkClient.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_zk.broker.stops import Stops
from kafka_zk.clock import Clock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metadata.peer_channels import PeerChannels
from kafka_zk.metadata.snapshot import Node
from kafka_zk.network.channel import BrokerChannel, PeerSecurity


class Peers:
    """Those of the broker `broker_id`. `security_of(listener name)`: how it connects to that listener of the others."""

    def __init__(
        self,
        config: BrokerConfig,
        broker_id: int,
        *,
        metadata_cache: MetadataCache,
        security_of: Callable[[str], PeerSecurity],
        clock: Clock,
        stops: Stops,
    ) -> None:
        self._config = config
        self._broker_id = broker_id
        self._metadata_cache = metadata_cache
        self._security_of = security_of
        self._clock = clock
        self._stops = stops

    @property
    def controllers_listener(self) -> str:
        """Where the controller is asked, and where its requests arrive."""
        return self._config.control_plane_listener_name or self._config.inter_broker_listener_name

    def connect_to_controller(self, node: Node) -> BrokerChannel:
        """Blocks. Opens a channel for this broker's requests to the controller. Raises NetworkError."""
        timeout_ms = self._config.controller_socket_timeout_ms
        return BrokerChannel.connect(
            node.host,
            node.port,
            client_id=str(self._broker_id),
            connect_timeout_ms=timeout_ms,
            request_timeout_ms=timeout_ms,
            security=self._security_of(self.controllers_listener),
        )

    def connect_to_leader(self, node: Node, client_id: str) -> BrokerChannel:
        """Blocks. Opens a channel to fetch from a leader. Raises NetworkError."""
        timeout_ms = self._config.replica_socket_timeout_ms
        return BrokerChannel.connect(
            node.host,
            node.port,
            client_id=client_id,
            connect_timeout_ms=timeout_ms,
            request_timeout_ms=timeout_ms,
            receive_buffer_bytes=self._config.replica_socket_receive_buffer_bytes,
            security=self._security_of(self._config.inter_broker_listener_name),
        )

    def channels(self, client_id: str) -> PeerChannels:
        """Connections to any broker, closed when this one stops."""
        channels = PeerChannels(
            client_id=client_id,
            metadata_cache=self._metadata_cache,
            listener_name=self._config.inter_broker_listener_name,
            connect=self._connect,
            clock=self._clock,
        )
        self._stops.add(f"connections of {client_id}", channels.shutdown)
        return channels

    def others(self) -> list[Node]:
        """All that live but this one."""
        nodes = self._metadata_cache.alive_brokers(self._config.inter_broker_listener_name)
        return [node for node in nodes if node.id != self._broker_id]

    def _connect(self, node: Node, client_id: str) -> BrokerChannel:
        """Blocks. Opens a channel for what any broker may ask of another. Raises NetworkError."""
        return BrokerChannel.connect(
            node.host,
            node.port,
            client_id=client_id,
            connect_timeout_ms=self._config.socket_connection_setup_timeout_ms,
            request_timeout_ms=self._config.request_timeout_ms,
            receive_buffer_bytes=self._config.socket_receive_buffer_bytes,
            security=self._security_of(self._config.inter_broker_listener_name),
        )
