"""What the handshakes of one listener use: its context, and how a certificate becomes a principal.

Role        Made from the configuration of the broker; reads the stores. A reload replaces it as a whole; connections
            keep the context that they began with.
Source      SslChannelBuilder, DefaultKafkaPrincipalBuilder, ChannelBuilders in Kafka 3.9.
"""

from __future__ import annotations

import logging
import os
import ssl
from dataclasses import replace
from typing import Protocol

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.layers import listener_key
from kafka_zk.network.transport import ANONYMOUS
from kafka_zk.tls.contexts import client_context, server_context
from kafka_zk.tls.mapping_rules import PrincipalMapper
from kafka_zk.tls.names import subject_of
from kafka_zk.tls.own_certificates import own_certificates
from kafka_zk.tls.settings import TlsSettings
from kafka_zk.tls.stores import load_keys

KEYS = (
    "ssl.cipher.suites",
    "ssl.client.auth",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
)

log = logging.getLogger("org.apache.kafka.common.network.ChannelBuilders")


class TlsListeners(Protocol):
    """Where a SocketServer finds the TLS of the listeners that it opens."""

    def of(self, listener_name: str) -> ListenerTls:
        """May block on the disk. Raises TlsError."""
        ...


class ListenerTls:
    """The TLS of a listener now."""

    def __init__(self, settings: TlsSettings, mapper: PrincipalMapper | None) -> None:
        """`mapper`: None where SASL says who a client is. Blocks on the disk. Raises TlsError."""
        self.settings = settings
        self.stamps = stamps_of(settings)
        # Loaded before the context: a replaced file is seen by its stamp, and read again.
        self.own = own_certificates(load_keys(settings.key)) if settings.key is not None else ()
        self.context: ssl.SSLContext = server_context(settings)
        self.as_client = client_context(replace(settings, checks_host_name=False))
        """A neighbour with these stores, for checks in memory."""
        self._mapper = mapper

    def with_stores_of(self, settings: TlsSettings) -> ListenerTls:
        """The same listener with other stores, and nothing else of `settings`. Blocks on the disk. Raises TlsError."""
        return ListenerTls(replace(self.settings, key=settings.key, trust=settings.trust), self._mapper)

    def principal_of(self, certificate: bytes | None) -> str:
        """Of a client with this certificate in DER. Raises NoMatchingRule."""
        if self._mapper is None or certificate is None:
            return ANONYMOUS
        return f"User:{self._mapper.name_of(subject_of(certificate))}"


def stamps_of(settings: TlsSettings) -> tuple[tuple[str, int], ...]:
    """The files of the stores, and when each was written (epoch ns; -1 for one that is not there)."""
    sources = (settings.key, settings.trust)
    return tuple((each.location, _written_ns(each.location)) for each in sources if each and each.location)


def _written_ns(location: str) -> int:
    try:
        return os.stat(location).st_mtime_ns
    except OSError:
        return -1


def uses_tls(security_protocol: str) -> bool:
    """Whether connections of this protocol are encrypted."""
    return security_protocol in ("SSL", "SASL_SSL")


def settings_of(config: BrokerConfig, listener_name: str) -> TlsSettings:
    """The ssl.* values of a listener, its own before the general ones. Raises TlsError with Kafka's texts."""
    values = {name: config.for_listener(listener_name, name) for name in KEYS}
    own_auth = listener_key(listener_name, "ssl.client.auth")
    if config.protocol_of(listener_name) == "SASL_SSL" and own_auth not in config.originals:
        # The general value was meant for SSL: clients of SASL say who they are in another way.
        if values["ssl.client.auth"] != "none":
            log.warning(
                "Broker configuration 'ssl.client.auth' is applied only to SSL listeners. Listener-prefixed "
                "configuration can be used to enable SSL client authentication for SASL_SSL listeners. In future "
                "releases, broker-wide option without listener prefix may be applied to SASL_SSL listeners as well. "
                "All configuration options intended for specific listeners should be listener-prefixed."
            )
        values["ssl.client.auth"] = "none"
    return TlsSettings.of(values)


def listener_tls(config: BrokerConfig, listener_name: str) -> ListenerTls:
    """Blocks on the disk. Raises TlsError with Kafka's texts."""
    mapper = None
    if config.protocol_of(listener_name) == "SSL":
        mapper = PrincipalMapper.of(str(config.for_listener(listener_name, "ssl.principal.mapping.rules")))
    return ListenerTls(settings_of(config, listener_name), mapper)
