"""Connection and metadata settings of a client, as plain values.

Role        Pure but for the random source, and the stores that `connection_security` reads.
Source      CommonClientConfigs, ClientUtils.createNetworkClient.
"""

from __future__ import annotations

import random
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kafka_zk.client.config import ClientConfig
from kafka_zk.client.errors import UnsupportedSecurity
from kafka_zk.client.network.backoff import ExponentialBackoff, backoff_of
from kafka_zk.client.network.metadata import MetadataSettings
from kafka_zk.client.network.security import NO_SECURITY, PLAINTEXT, ConnectionSecurity, Login
from kafka_zk.config.tables.client_security import SECURITY_KEYS
from kafka_zk.config.values import ConfigValue

SETUP_TIMEOUT = "socket.connection.setup.timeout"
CLIENT_SECURITY: Final = tuple(key.name for key in SECURITY_KEYS if key.name.startswith(("ssl.", "sasl.")))
_OF_JAVA: Final[dict[str, tuple[ConfigValue, ...]]] = {
    "ssl.engine.factory.class": (None, ""),
    "security.providers": (None, ""),
    "ssl.provider": (None, ""),
    "ssl.keymanager.algorithm": ("SunX509", "PKIX", "NewSunX509"),
    "ssl.trustmanager.algorithm": ("PKIX", "SunX509"),
}
"""Keys that choose classes of a JVM: what they protect must not be lost silently."""


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
    security: ConnectionSecurity = NO_SECURITY


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
        connection_security(config, client_id),
    )


def connection_security(config: ClientConfig, client_id: str) -> ConnectionSecurity:
    """What `security.protocol`, `ssl.*` and `sasl.*` say. Blocks: reads stores.

    Raises ConfigException with Kafka's texts, UnsupportedSecurity for what only Java has.
    """
    protocol = config.text("security.protocol").upper()
    if protocol == PLAINTEXT:
        return NO_SECURITY
    return ConnectionSecurity(
        protocol,
        _tls_context(config) if protocol in ("SSL", "SASL_SSL") else None,
        _login(config, client_id) if protocol.startswith("SASL_") else None,
    )


def _tls_context(config: ClientConfig) -> ssl.SSLContext:
    for name, own in _OF_JAVA.items():
        if config.raw(name) not in own:
            raise UnsupportedSecurity(f"{name}={config.raw(name)} cannot be used: only Java has it.")
    # Imported here: a tool without TLS does not pay for it.
    from kafka_zk.tls.contexts import client_context
    from kafka_zk.tls.settings import TlsSettings

    return client_context(TlsSettings.of({name: config.raw(name) for name in CLIENT_SECURITY if "ssl." in name}))


def _login(config: ClientConfig, client_id: str) -> Callable[[str], Login]:
    # Imported here: a tool without SASL does not pay for it.
    from kafka_zk.client.network.sasl_login import login_of

    return login_of(config, client_id)


def metadata_settings(
    config: ClientConfig, *, idle_ms: int | None = None, allow_auto_topic_creation: bool = True
) -> MetadataSettings:
    """The metadata settings, from the keys that all clients share."""
    backoff = backoff_of(config, "retry.backoff")
    return MetadataSettings(config.integer("metadata.max.age.ms"), backoff, idle_ms, allow_auto_topic_creation)
