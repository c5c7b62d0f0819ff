"""How this broker logs in at the listeners of the others: with the modules and handlers of its own listener.

Role        Acts: has tokens fetched where a handler says so. All else is read from the configuration.
Invariants  A login that changes in the configuration counts for the next connection. Where it cannot be set up, the one
            before stays in use; for open connections it does anyway.
Source      SaslChannelBuilder.configure in client mode, LoginManager.acquireLoginManager in Kafka 3.9.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from gevent.lock import BoundedSemaphore

from kafka_zk.broker.kerberos import KerberosLogins
from kafka_zk.clock import Clock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.errors import ConfigException, invalid_value
from kafka_zk.config.layers import listener_key
from kafka_zk.config.sasl_classes import (
    DEFAULT_LOGIN,
    LOGIN_CLASS_KEY,
    LOGIN_HANDLER_KEY,
    TOKEN_LOGINS,
    UNSECURED_LOGIN,
)
from kafka_zk.config.security_values import BUILT_IN_CLASSES
from kafka_zk.sasl.client.login import Login
from kafka_zk.sasl.client.logins import MODULES, LoginError, NewExchange, check_module, new_exchange
from kafka_zk.sasl.jaas import OAUTHBEARER, LoginModule
from kafka_zk.security.authentication.login_modules import JaasFile, login_modules
from kafka_zk.security.authentication.settings import GSSAPI

if TYPE_CHECKING:
    from kafka_zk.sasl.client.token_settings import TokenSettings
    from kafka_zk.security.authentication.refreshing_login import RefreshingLogin

BeginLogin = Callable[[str, str, Login | None], Login]
"""Begins a login under a client id at a host, or renews an earlier one."""

_TOKEN_KEYS: Final = (
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.scope.claim.name",
    "sasl.oauthbearer.sub.claim.name",
    "sasl.login.retry.backoff.ms",
    "sasl.login.retry.backoff.max.ms",
    "sasl.login.connect.timeout.ms",
    "sasl.login.read.timeout.ms",
)
"""Those that a mechanism of a listener may have of its own."""
_REFRESH_KEYS: Final = (
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter",
    "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.buffer.seconds",
)

PAUSE_AFTER_FAILURE_MS: Final = 10_000
"""Between two attempts to set up a login that the configuration has been changed to."""

log = logging.getLogger("org.apache.kafka.common.security.authenticator.LoginManager")


@dataclass(frozen=True, slots=True)
class OwnLogin:
    """What the configuration says about one login; equal ones are one login. `values`: of tokens, {} without."""

    mechanism: str
    module: LoginModule
    handler: str | None
    values: Mapping[str, object] = field(repr=False)

    @property
    def asks_for_tokens(self) -> bool:
        return self.handler in TOKEN_LOGINS

    def token_settings(self) -> TokenSettings:
        """Blocks on the disk. Raises ConfigException."""
        # Imported here and below: only these logins need an HTTP client.
        from kafka_zk.sasl.client.token_settings import token_settings

        return token_settings(self.values.get, self.module.options)


@dataclass(frozen=True, slots=True)
class _Used:
    settings: OwnLogin
    begin: BeginLogin


class PeerLogins:
    """The logins by listener; `config` changes in place."""

    def __init__(self, config: BrokerConfig, clock: Clock, kerberos: KerberosLogins) -> None:
        self._config = config
        self._clock = clock
        self._kerberos = kerberos
        self._file = JaasFile()
        self._used: dict[str, _Used] = {}
        self._failed: dict[str, tuple[OwnLogin, int]] = {}
        self._refreshing: list[RefreshingLogin] = []
        self._setting_up = BoundedSemaphore(1)

    def check(self, file: JaasFile) -> None:
        """Blocks on the disk. Raises ConfigException for a login that cannot be set up; asks no endpoint.

        `file`: the JAAS file, which later logins find as it was now.
        """
        self._file = file
        for listener_name in self._listeners:
            settings = self._settings(listener_name)
            if settings.asks_for_tokens:
                settings.token_settings()
            else:
                self._at_hosts(listener_name, settings)

    def start(self) -> None:
        """Blocks until every first token is there. Raises ConfigException."""
        for listener_name in self._listeners:
            self.of(listener_name)

    def stop(self) -> None:
        """Stop renewing tokens."""
        for refreshing in self._refreshing:
            refreshing.stop()

    def of(self, listener_name: str) -> BeginLogin | None:
        """How to log in at that listener of others; None where nobody has to.

        Blocks where a token has to be fetched first. Raises ConfigException, never again once a login was set up.
        """
        if not self._config.protocol_of(listener_name).startswith("SASL_"):
            return None
        with self._setting_up:
            used = self._used.get(listener_name)
            if used is None:
                used = self._used[listener_name] = self._set_up(self._settings(listener_name), listener_name)
            else:
                used = self._used[listener_name] = self._followed(listener_name, used)
            return used.begin

    def _followed(self, listener_name: str, used: _Used) -> _Used:
        """Blocks. The login as the configuration has it now, or `used` where that one cannot be set up."""
        try:
            settings = self._settings(listener_name)
        except ConfigException as error:
            log.error("The login at listener %s cannot be changed, the old one stays: %s", listener_name, error)
            return used
        failed, until_ms = self._failed.get(listener_name, (None, 0))
        if settings == used.settings or (settings == failed and self._clock.monotonic_ms() < until_ms):
            return used
        try:
            return self._set_up(settings, listener_name)
        except ConfigException as error:
            log.error("The login at listener %s cannot be changed, the old one stays: %s", listener_name, error)
            self._failed[listener_name] = settings, self._clock.monotonic_ms() + PAUSE_AFTER_FAILURE_MS
            return used

    @property
    def _listeners(self) -> list[str]:
        """Where this broker logs in."""
        names = (self._config.inter_broker_listener_name, self._config.control_plane_listener_name)
        return [name for name in names if name and self._config.protocol_of(name).startswith("SASL_")]

    def _settings(self, listener_name: str) -> OwnLogin:
        config, mechanism = self._config, self._config.sasl_mechanism_inter_broker_protocol
        modules = login_modules(config, listener_name, mechanism, self._file)
        handler = own_handler(config, listener_name, mechanism)
        wanted = MODULES.get(mechanism)
        module = next((each for each in modules if each.name == wanted), modules[0])
        if handler is not None and len(modules) != 1:
            raise ConfigException(
                f"{LOGIN_HANDLER_KEY} cannot be specified with multiple login modules in the JAAS context. "
                "sasl.jaas.config must be configured to override mechanism-specific configs."
            )
        values: dict[str, object] = {}
        if handler in TOKEN_LOGINS:
            values = {name: config.for_listener(listener_name, name, mechanism=mechanism) for name in _TOKEN_KEYS}
            values |= {name: config.for_listener(listener_name, name) for name in _REFRESH_KEYS}
        return OwnLogin(mechanism, module, handler, values)

    def _set_up(self, settings: OwnLogin, listener_name: str) -> _Used:
        if not settings.asks_for_tokens:
            return _Used(settings, _begins(self._at_hosts(listener_name, settings)))
        from kafka_zk.security.authentication.refreshing_login import RefreshingLogin

        refreshing = RefreshingLogin(settings.token_settings(), self._clock)
        refreshing.start()
        # One that was replaced goes on: open connections renew their sessions with it.
        self._refreshing.append(refreshing)
        return _Used(settings, _begins(lambda host: refreshing.exchange))

    def _at_hosts(self, listener_name: str, settings: OwnLogin) -> Callable[[str], NewExchange]:
        """Blocks. For a login that asks for no tokens, by the host of a connection."""
        mechanism, module = settings.mechanism, settings.module
        try:
            check_module(mechanism, module)
            if mechanism == GSSAPI:
                return self._kerberos.client(self._config, listener_name, module.options)
            new = new_exchange(mechanism, module, lambda: self._clock.wall_ms() / 1000)
        except LoginError as error:
            raise ConfigException(f"{error} (this broker's own login at listener {listener_name})") from None
        return lambda host: new


def own_handler(config: BrokerConfig, listener_name: str, mechanism: str) -> str | None:
    """The login callback handler of a listener's mechanism, None for the usual one; only the key with the prefix of
    the mechanism counts. Raises ConfigException for a class that there is none of here."""
    prefix = f"{mechanism.lower()}."
    handler = config.originals.get(listener_key(listener_name, prefix + LOGIN_HANDLER_KEY), "").strip() or None
    if handler not in (None, *known_handlers(mechanism)):
        raise invalid_value(LOGIN_HANDLER_KEY, handler, f"Class {handler} could not be found.")
    login_class = config.originals.get(listener_key(listener_name, prefix + LOGIN_CLASS_KEY), "").strip() or None
    if login_class not in (None, *BUILT_IN_CLASSES[LOGIN_CLASS_KEY]):
        raise invalid_value(LOGIN_CLASS_KEY, login_class, f"Class {login_class} could not be found.")
    return handler


def known_handlers(mechanism: str) -> tuple[str, ...]:
    """The values of sasl.login.callback.handler.class that mean something for a mechanism."""
    return (UNSECURED_LOGIN, *TOKEN_LOGINS) if MODULES.get(mechanism) == OAUTHBEARER else (DEFAULT_LOGIN,)


def _begins(new_at: Callable[[str], NewExchange]) -> BeginLogin:
    return lambda client_id, host, renewed: Login(new_at(host), client_id, again_with=renewed)
