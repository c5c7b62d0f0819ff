"""Connections to the other brokers of the cluster.

Role        Acts. These functions are passed to the users of such connections: controller channel, fetchers, and those
            that send to any broker.
Source      NodeToControllerChannelManagerImpl, BrokerBlockingSender, NetworkUtils.buildNetworkClient.
"""

from __future__ import annotations

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.metadata.snapshot import Node
from kafka_zk.network.channel import BrokerChannel, PeerSecurity


def connect_to_controller(
    config: BrokerConfig, broker_id: int, node: Node, security: PeerSecurity | None
) -> BrokerChannel:
    """Blocks. Opens a channel for this broker's requests to the controller. Raises NetworkError."""
    timeout_ms = config.controller_socket_timeout_ms
    return BrokerChannel.connect(
        node.host,
        node.port,
        client_id=str(broker_id),
        connect_timeout_ms=timeout_ms,
        request_timeout_ms=timeout_ms,
        security=security,
    )


def connect_to_leader(config: BrokerConfig, node: Node, client_id: str, security: PeerSecurity | None) -> BrokerChannel:
    """Blocks. Opens a channel to fetch from a leader. Raises NetworkError."""
    timeout_ms = config.replica_socket_timeout_ms
    return BrokerChannel.connect(
        node.host,
        node.port,
        client_id=client_id,
        connect_timeout_ms=timeout_ms,
        request_timeout_ms=timeout_ms,
        receive_buffer_bytes=config.replica_socket_receive_buffer_bytes,
        security=security,
    )


def connect_to_peer(config: BrokerConfig, node: Node, client_id: str, security: PeerSecurity | None) -> BrokerChannel:
    """Blocks. Opens a channel for what any broker may ask of another. Raises NetworkError."""
    return BrokerChannel.connect(
        node.host,
        node.port,
        client_id=client_id,
        connect_timeout_ms=config.socket_connection_setup_timeout_ms,
        request_timeout_ms=config.request_timeout_ms,
        receive_buffer_bytes=config.socket_receive_buffer_bytes,
        security=security,
    )
