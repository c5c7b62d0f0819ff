"""This broker's Kerberos identities: the keys it accepts clients with, and the tickets it logs in at others with.

Role        Acts: reads keytabs and asks the KDC, in a thread of the hub. Listeners with equal options share a ticket.
Invariants  A listener whose keys or first ticket cannot be had does not open, as in Kafka.
Source      LoginManager, KerberosLogin and SaslChannelBuilder.configure in Kafka 3.9.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_zk.broker.in_thread import in_thread
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.errors import ConfigException, UnsupportedConfig
from kafka_zk.config.java_options import system_properties
from kafka_zk.sasl.client.logins import NewExchange
from kafka_zk.sasl.kerberos.errors import GssError, KerberosUnavailable
from kafka_zk.sasl.kerberos.login import KerberosLogin, RenewalRules
from kafka_zk.sasl.kerberos.options import BadOption, Krb5Options, service_name
from kafka_zk.sasl.kerberos.short_names import BadRule, ShortNamer
from kafka_zk.sasl.server.gssapi import GssapiServer
from kafka_zk.sasl.server.mechanism import ServerMechanism
from kafka_zk.security.authentication.in_thread import InThread
from kafka_zk.security.authentication.settings import KerberosSettings, kerberos_settings
from kafka_zk.worker_pool import WorkerPool

if TYPE_CHECKING:
    from kafka_zk.sasl.kerberos.library import Acceptor

ACCEPTING_THREADS: Final = 4
"""How many tokens of clients are looked at at once. Each waits 1 to 2 ms for the disk: it must not be used again."""


class _Identity(NamedTuple):
    acceptor: Acceptor
    login: KerberosLogin | None
    """None for one that only accepts (isInitiator=false)."""
    default_realm: str


class KerberosLogins:
    """The identities of one broker, by the options of their login modules."""

    def __init__(self) -> None:
        self._identities: dict[Krb5Options, _Identity] = {}
        self._pool: WorkerPool | None = None
        """For tickets of clients: who waits for a KDC, in a thread of the hub, does not hold them up."""

    def stop(self) -> None:
        """Blocks. End the threads."""
        if self._pool is not None:
            self._pool.kill()

    def server(
        self, config: BrokerConfig, listener_name: str, options: Mapping[str, str]
    ) -> Callable[[], ServerMechanism]:
        """Blocks. What begins the exchange with each client of a listener. Raises ConfigException."""
        settings = kerberos_settings(config, listener_name)
        _service_name(options, settings)
        identity = self._identity(listener_name, options, settings)
        try:
            namer = ShortNamer(identity.default_realm, settings.principal_rules)
        except BadRule as error:
            raise ConfigException(str(error)) from None
        acceptor = identity.acceptor
        if self._pool is None:
            self._pool = WorkerPool(ACCEPTING_THREADS)
        pool = self._pool
        return lambda: InThread(GssapiServer(acceptor.context(), namer.short_name, acceptor.service), pool)

    def client(
        self, config: BrokerConfig, listener_name: str, options: Mapping[str, str]
    ) -> Callable[[str], NewExchange]:
        """Blocks. What logs this broker in at a host. Raises ConfigException."""
        settings = kerberos_settings(config, listener_name)
        service = _service_name(options, settings)
        login = self._identity(listener_name, options, settings).login
        if login is None:
            raise ConfigException(
                f"This broker cannot log in at listener {listener_name} of others with isInitiator=false"
            )
        return lambda host: partial(login.exchange, service, host)

    def _identity(self, listener_name: str, options: Mapping[str, str], settings: KerberosSettings) -> _Identity:
        try:
            wanted = Krb5Options.of(options)
        except BadOption as error:
            raise ConfigException(f"Unable to log in for listener {listener_name}: {error}") from None
        found = self._identities.get(wanted)
        if found is None:
            found = self._identities[wanted] = in_thread(partial(_made, listener_name, wanted, settings))
        return found


def _service_name(options: Mapping[str, str], settings: KerberosSettings) -> str:
    try:
        return service_name(options, settings.service_name)
    except BadOption as error:
        raise ConfigException(str(error)) from None


def _made(listener_name: str, options: Krb5Options, settings: KerberosSettings) -> _Identity:
    """Blocks. Raises ConfigException."""
    # Imported here: brokers without Kerberos need no library.
    try:
        from kafka_zk.sasl.kerberos.library import Acceptor, Initiator, default_realm, use_krb5_conf
    except KerberosUnavailable as error:
        raise UnsupportedConfig(f"The listener {listener_name} cannot be used: {error}") from None

    use_krb5_conf(system_properties(os.environ))
    rules = RenewalRules(
        settings.renew_window_factor,
        settings.renew_jitter,
        settings.min_time_before_relogin_ms,
        settings.kinit_cmd,
    )
    try:
        login = None
        if options.is_initiator:
            login = KerberosLogin(Initiator(options), rules)
            login.start()
        return _Identity(Acceptor(options), login, default_realm())
    except GssError as error:
        raise ConfigException(f"Unable to log in for listener {listener_name}: {error}") from None
