"""Connection and metadata settings of a client, as plain values.

Role        Pure but for the random source.
Source      CommonClientConfigs, ClientUtils.createNetworkClient.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from kafka_zk.client.config import ClientConfig
from kafka_zk.client.network.backoff import ExponentialBackoff, backoff_of
from kafka_zk.client.network.metadata import MetadataSettings

SETUP_TIMEOUT = "socket.connection.setup.timeout"


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Times in milliseconds, sizes in bytes.

    `log_prefix` names the client in logs; `max_in_flight` is a connection's limit of unanswered requests.
    """

    client_id: str
    log_prefix: str
    request_timeout_ms: int
    max_idle_ms: int
    reconnect_backoff: ExponentialBackoff
    setup_timeout: ExponentialBackoff
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1
    max_in_flight: int = 100
    rebootstrap: bool = False


def network_settings(
    config: ClientConfig, client_id: str, log_prefix: str, *, max_in_flight: int = 100
) -> NetworkSettings:
    """The network settings, from the keys that all clients share."""
    return NetworkSettings(
        client_id,
        log_prefix,
        config.integer("request.timeout.ms"),
        config.integer("connections.max.idle.ms"),
        backoff_of(config, "reconnect.backoff"),
        ExponentialBackoff(
            config.integer(f"{SETUP_TIMEOUT}.ms"), config.integer(f"{SETUP_TIMEOUT}.max.ms"), random.random
        ),
        config.integer("send.buffer.bytes"),
        config.integer("receive.buffer.bytes"),
        max_in_flight,
        config.text("metadata.recovery.strategy").lower() == "rebootstrap",
    )


def metadata_settings(
    config: ClientConfig, *, idle_ms: int | None = None, allow_auto_topic_creation: bool = True
) -> MetadataSettings:
    """The metadata settings, from the keys that all clients share."""
    backoff = backoff_of(config, "retry.backoff")
    return MetadataSettings(config.integer("metadata.max.age.ms"), backoff, idle_ms, allow_auto_topic_creation)
