"""The TLS of this broker: of its listeners, and of its own connections to other brokers.

Role        Acts: reads the stores, in a thread once the broker runs. Follows the configuration: a listener's stores may
            be replaced while it is open (KIP-226).
Invariants  A listener whose stores cannot be read does not open, and a change that would break one is refused before
            it is written. The brokers' listener must believe its own certificate.
Source      SslFactory, SslEngineValidator in Kafka 3.9; DynamicBrokerConfig.
"""

from __future__ import annotations

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.network.channel import PeerSecurity
from kafka_zk.network.listener_tls import ListenerTls, listener_tls, uses_tls
from kafka_zk.tls.contexts import client_context
from kafka_zk.tls.self_check import check_own_certificate


class BrokerTls:
    """The listeners' TLS by name, made when first asked for; `config` changes in place."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._listeners: dict[str, ListenerTls] = {}
        self._peers: dict[str, PeerSecurity] = {}

    def check(self) -> None:
        """Blocks on the disk. Read the stores of every listener, before anything is opened. Raises TlsError."""
        for endpoint in self._config.listeners:
            self.of_peers(endpoint.listener_name)

    def of(self, listener_name: str) -> ListenerTls:
        """Blocks on the disk when it is asked for the first time. Raises TlsError."""
        found = self._listeners.get(listener_name)
        if found is None:
            found = listener_tls(self._config, listener_name)
            if listener_name == self._config.inter_broker_listener_name:
                check_own_certificate(found.settings)
            self._listeners[listener_name] = found
        return found

    def of_peers(self, listener_name: str) -> PeerSecurity | None:
        """How this broker connects to that listener of others; None for plain text. Raises TlsError."""
        if not uses_tls(self._config.protocol_of(listener_name)):
            return None
        found = self._peers.get(listener_name)
        if found is None:
            found = self._peers[listener_name] = PeerSecurity(tls=client_context(self.of(listener_name).settings))
        return found
