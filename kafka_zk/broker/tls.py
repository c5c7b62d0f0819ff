"""The TLS of this broker: of its listeners, and of its own connections to other brokers.

Role        Acts: reads the stores, in a thread once the broker runs. Follows the configuration: the stores of a
            listener may be replaced while it is open (KIP-226).
Invariants  A listener whose stores cannot be read does not open. A change that would break one is refused before it is
            written; if it comes all the same, the old stores stay in use.
            The brokers' listener must believe its own certificate, and the one before a change.
Source      SslFactory, SslEngineValidator in Kafka 3.9; DynamicBrokerConfig.processListenerReconfigurable and
            reloadUpdatedFilesWithoutConfigChange.
"""

from __future__ import annotations

import logging
import ssl
from functools import partial

from kafka_zk.broker.in_thread import in_thread
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.errors import ConfigException
from kafka_zk.network.listener_tls import ListenerTls, listener_tls, settings_of, stamps_of, uses_tls
from kafka_zk.tls.contexts import client_context
from kafka_zk.tls.errors import TlsError
from kafka_zk.tls.replacement import CONFIG_EXCEPTION, difference, refusal
from kafka_zk.tls.self_check import HANDSHAKE, check_own_certificate, failure_between
from kafka_zk.tls.settings import TlsSettings

FAILED = "Validation of dynamic config update of SSLFactory failed"


log = logging.getLogger("org.apache.kafka.common.security.ssl.SslFactory")


class BrokerTls:
    """The listeners' TLS by name, made when first asked for; `config` changes in place."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._listeners: dict[str, ListenerTls] = {}
        self._peers: dict[str, ssl.SSLContext] = {}

    def check(self) -> None:
        """Blocks on the disk. Read the stores of every listener, before anything is opened. Raises TlsError."""
        for endpoint in self._config.listeners:
            self.of_peers(endpoint.listener_name)

    def of(self, listener_name: str) -> ListenerTls:
        """Blocks on the disk when it is asked for the first time. Raises TlsError, also for one that is gone."""
        found = self._listeners.get(listener_name)
        if found is None:
            if listener_name not in _encrypting(self._config):
                # What it was meant to demand of clients is forgotten.
                raise TlsError(f"The configuration has no encrypted listener {listener_name}")
            found = listener_tls(self._config, listener_name)
            if listener_name == self._config.inter_broker_listener_name:
                check_own_certificate(found.settings)
            self._listeners[listener_name] = found
            _tell(found)
        return found

    def of_peers(self, listener_name: str) -> ssl.SSLContext | None:
        """For connections of this broker to that listener of others; None for plain text. Raises TlsError."""
        if not uses_tls(self._config.protocol_of(listener_name)):
            return None
        found = self._peers.get(listener_name)
        if found is None:
            found = self._peers[listener_name] = client_context(self.of(listener_name).settings)
        return found

    # --- stores that change while the broker runs --------------------------------------------------------------------

    def check_change(self, before: BrokerConfig, now: BrokerConfig) -> None:
        """Blocks. Raise ConfigException, in Kafka's words, unless each listener may have its stores of `now`."""
        for name in _encrypting(now) - self._listeners.keys():
            in_thread(partial(listener_tls, now, name))
        for name, used in list(self._listeners.items()):
            settings = _changed_settings(before, now, name)
            if settings is not None:
                in_thread(partial(_replaced, name, used, settings, now))

    def follow(self, before: BrokerConfig, now: BrokerConfig) -> None:
        """Blocks. Use the stores of `now`, which `check_change` has let pass, and forget listeners that are gone."""
        for name in self._listeners.keys() - _encrypting(now):
            del self._listeners[name]
            self._peers.pop(name, None)
        for name in _encrypting(now) - self._listeners.keys():
            self._listeners[name] = in_thread(partial(listener_tls, now, name))
            _tell(self._listeners[name])
        for name in list(self._listeners):
            settings = _changed_settings(before, now, name)
            # Again if a file was read again meanwhile, of the store that was.
            while settings is not None and not self._use(name, self._listeners[name], settings):
                pass

    def reload_changed_files(self, now: BrokerConfig) -> None:
        """Blocks. Read those stores again whose files were written since, unless `now` changes their settings, too.

        A change that comes meanwhile counts. Raises ConfigException, and then goes on with what was used.
        """
        for name, used in list(self._listeners.items()):
            if _changed_settings(self._config, now, name) is None and stamps_of(used.settings) != used.stamps:
                self._use(name, used, used.settings)

    def _use(self, name: str, used: ListenerTls, settings: TlsSettings) -> bool:
        """Blocks. Replace `used`; False if somebody else has done so meanwhile. Raises ConfigException."""
        found = in_thread(partial(_replaced, name, used, settings, self._config))
        peers = in_thread(partial(client_context, found.settings))
        if self._listeners.get(name) is not used:
            return False
        self._listeners[name], self._peers[name] = found, peers
        _tell(found)
        return True


def _replaced(name: str, used: ListenerTls, settings: TlsSettings, config: BrokerConfig) -> ListenerTls:
    """`used` with the stores of `settings`. Blocks on the disk, so it runs in a thread. Raises ConfigException."""
    try:
        found = used.with_stores_of(settings)
        why = refusal(used.settings, found.settings) or difference(
            used.own,
            found.own,
            may_change_names=bool(config.for_listener(name, "ssl.allow.dn.changes")),
            may_change_alternatives=bool(config.for_listener(name, "ssl.allow.san.changes")),
        )
        if why is not None:
            raise ConfigException(f"{FAILED}: {CONFIG_EXCEPTION}: {why}")
        if name == config.inter_broker_listener_name:
            _check_neighbours(used, found)
    except TlsError as error:
        raise ConfigException(f"{FAILED}: {error.as_java}") from error
    return found


def _check_neighbours(used: ListenerTls, found: ListenerTls) -> None:
    """Brokers with the old stores and those with the new must go on talking, in both directions."""
    for server, client in ((used, found), (found, used)):
        failure = failure_between(server.context, client.as_client)
        if failure is not None:
            raise ConfigException(f"{FAILED}: {HANDSHAKE}: {failure}")


def _encrypting(config: BrokerConfig) -> set[str]:
    return {each.listener_name for each in config.listeners if uses_tls(each.security_protocol)}


def _changed_settings(before: BrokerConfig, now: BrokerConfig, name: str) -> TlsSettings | None:
    """What a listener has `now` if that is something else; None also for one that is gone, or does not encrypt."""
    if name not in _encrypting(now):
        return None
    try:
        settings = settings_of(now, name)
    except TlsError as error:
        raise ConfigException(f"{FAILED}: {error.as_java}") from error
    was = settings_of(before, name)
    return None if (settings.key, settings.trust) == (was.key, was.trust) else settings


def _tell(listener: ListenerTls) -> None:
    key, trust = listener.settings.key, listener.settings.trust
    message = "Created new SERVER SSL engine builder with keystore %s truststore %s"
    log.info(message, "null" if key is None else key, "null" if trust is None else trust)
