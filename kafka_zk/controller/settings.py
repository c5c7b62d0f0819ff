"""The controller's settings, taken from the broker's configuration.

Role        Pure. A view, so that the controller can be built in tests and simulations without a whole configuration.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.metadata_version import MetadataVersion


@dataclass(slots=True)
class ControllerSettings:
    """Field names are Kafka's config keys, except `listener`: where brokers take the controller's requests."""

    broker_id: int
    listener: str
    """control.plane.listener.name, else the inter-broker listener."""
    inter_broker_protocol_version: MetadataVersion = field(default_factory=lambda: MetadataVersion("3.9-IV0"))
    delete_topic_enable: bool = True
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_per_broker_percentage: int = 10
    leader_imbalance_check_interval_seconds: int = 300
    unclean_leader_election_enable: bool = False
    """May change while the broker runs."""
    controller_socket_timeout_ms: int = 30_000

    @classmethod
    def from_config(cls, config: BrokerConfig, broker_id: int) -> ControllerSettings:
        """`broker_id` may have been generated, so it does not come from the configuration."""
        return cls(
            broker_id=broker_id,
            listener=config.control_plane_listener_name or config.inter_broker_listener_name,
            inter_broker_protocol_version=config.inter_broker_protocol_version,
            delete_topic_enable=config.delete_topic_enable,
            auto_leader_rebalance_enable=config.auto_leader_rebalance_enable,
            leader_imbalance_per_broker_percentage=config.leader_imbalance_per_broker_percentage,
            leader_imbalance_check_interval_seconds=config.leader_imbalance_check_interval_seconds,
            unclean_leader_election_enable=config.unclean_leader_election_enable,
            controller_socket_timeout_ms=config.controller_socket_timeout_ms,
        )
