"""What the SASL listeners of this broker offer: mechanisms with their users, credentials, tokens and keys.

`peers` is how this broker itself logs in at the others.

Role        Acts: fetches the keys of token issuers before a listener opens. All else is read from the configuration.
Invariants  A listener whose mechanisms cannot be set up does not open.
Source      SaslChannelBuilder.configure, createServerCallbackHandlers in Kafka 3.9.
"""

from __future__ import annotations

import logging
import os
import secrets
import ssl
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kafka_zk.broker.kerberos import KerberosLogins
from kafka_zk.broker.peer_logins import PeerLogins, own_handler
from kafka_zk.clock import Clock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.errors import ConfigException, invalid_value
from kafka_zk.config.java_options import system_properties
from kafka_zk.config.sasl_classes import UNSECURED_VALIDATOR
from kafka_zk.sasl.jaas import JaasError, check_allowed, parse_value
from kafka_zk.sasl.jaas_file import LOGIN_CONFIG, file_sections
from kafka_zk.sasl.oauth_urls import ALLOWED_URLS, check_url, file_of, is_file
from kafka_zk.sasl.scram_credentials import BY_KEY, Mechanism
from kafka_zk.sasl.server.mechanism import ServerMechanism
from kafka_zk.sasl.server.oauthbearer import OAuthBearerServer, Validate
from kafka_zk.sasl.server.plain import PlainServer
from kafka_zk.sasl.server.scram import ScramServer, TokenLogins
from kafka_zk.sasl.server.unsecured_token import BadOption, UnsecuredRules, UnsecuredTokens
from kafka_zk.security.authentication.authenticator import EnabledMechanism, ListenerLogins
from kafka_zk.security.authentication.credential_cache import CredentialCache
from kafka_zk.security.authentication.login_modules import JaasFile, login_options
from kafka_zk.security.authentication.settings import (
    GSSAPI,
    OAUTHBEARER,
    PLAIN,
    LoginOptions,
    MechanismSettings,
    key_source,
    mechanisms_of,
    token_rules,
)
from kafka_zk.tls.errors import TlsError

if TYPE_CHECKING:
    from kafka_zk.security.authentication.key_fetcher import KeyFetcher

validator_log = logging.getLogger("org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler")

_URL_KEY = "sasl.oauthbearer.jwks.endpoint.url"
_JAAS_KEY = "sasl.jaas.config"

_NONCE_BITS = 130
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class Logins:
    """The logins of one broker's listeners. `listeners` is what authentication reads; it follows the configuration.

    `tokens`: the delegation tokens, if there are any.
    """

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._file = JaasFile()
        self._fetchers: dict[str, list[KeyFetcher]] = {}
        self.listeners: dict[str, ListenerLogins] = {}
        self._kerberos = KerberosLogins()
        self.peers = PeerLogins(config, clock, self._kerberos)
        self.credentials = CredentialCache(BY_KEY)
        self.tokens: TokenLogins | None = None

    def check(self) -> None:
        """Raises ConfigException for a listener whose logins cannot be set up, before anything is started.

        Reads the JAAS file, which later listeners find as it was now.
        """
        self._file = jaas_file(os.environ)
        for listener_name in _sasl_listeners(self._config):
            self._check_listener(self._config, listener_name)
        self.peers.check(self._file)

    def check_change(self, before: BrokerConfig, now: BrokerConfig) -> None:
        """Raise ConfigException if a new listener's logins cannot be set up, or a login module is none of ours."""
        for key, text in now.originals.items():
            if key.endswith(_JAAS_KEY) and before.originals.get(key) != text:
                _check_modules(key, text)
        for listener_name in _sasl_listeners(now):
            if listener_name not in self.listeners:
                self._check_listener(now, listener_name)

    def _check_listener(self, config: BrokerConfig, listener_name: str) -> None:
        for settings in mechanisms_of(config, listener_name, self._options_in(config)):
            own_handler(config, listener_name, settings.name)
            if settings.name == OAUTHBEARER:
                self._check_validator(config, listener_name, settings)
            elif settings.name == GSSAPI:
                self._kerberos.server(config, listener_name, settings.options)

    def follow_listeners(self) -> None:
        """Blocks. Set up the logins of new listeners, forget those of closed ones. Raises ConfigException."""
        wanted = _sasl_listeners(self._config)
        for gone in self.listeners.keys() - set(wanted):
            del self.listeners[gone]
            self._stop_fetchers(gone)
        for listener_name in wanted:
            if listener_name not in self.listeners:
                self.listeners[listener_name] = self._logins_of(listener_name)

    def stop(self) -> None:
        """Blocks. Stop fetching keys and tokens, and judging tickets."""
        self.peers.stop()
        self._kerberos.stop()
        for listener_name in list(self._fetchers):
            self._stop_fetchers(listener_name)

    def _logins_of(self, listener_name: str) -> ListenerLogins:
        enabled = mechanisms_of(self._config, listener_name, self._options_in(self._config))
        return ListenerLogins(
            {each.name: EnabledMechanism(self._maker_of(listener_name, each), each.max_reauth_ms) for each in enabled}
        )

    def _maker_of(self, listener_name: str, settings: MechanismSettings) -> Callable[[], ServerMechanism]:
        if settings.name == PLAIN:
            users = settings.users
            return lambda: PlainServer(users)
        if settings.name == GSSAPI:
            return self._kerberos.server(self._config, listener_name, settings.options)
        if settings.name == OAUTHBEARER:
            validate = self._validator(listener_name, settings)
            return lambda: OAuthBearerServer(validate, _tell_refusal)
        return self._scram(BY_KEY[settings.name])

    def _scram(self, mechanism: Mechanism) -> Callable[[], ServerMechanism]:
        credential_of = self.credentials.credentials_of(mechanism)
        return lambda: ScramServer(mechanism, credential_of, new_nonce, self.tokens)

    def _check_validator(self, config: BrokerConfig, listener_name: str, settings: MechanismSettings) -> None:
        if settings.handler == UNSECURED_VALIDATOR:
            _unsecured_rules(settings.options)
        else:
            token_rules(config, listener_name)
            url = key_source(config, listener_name).url
            check_url(url, _URL_KEY, self._allowed_urls())
            if is_file(url):
                file_of(url, _URL_KEY)
            _stores(url, settings.options)

    def _validator(self, listener_name: str, settings: MechanismSettings) -> Validate:
        """Blocks until the keys are fetched. Raises ConfigException."""
        self._check_validator(self._config, listener_name, settings)
        if settings.handler == UNSECURED_VALIDATOR:
            return UnsecuredTokens(_unsecured_rules(settings.options), self._clock.wall_ms).validate
        # Imported here: cryptography takes 30 ms and 10 MB, which brokers without signed tokens do not pay.
        from kafka_zk.sasl.server.signed_token import SignedTokens
        from kafka_zk.security.authentication.key_fetcher import KeyFetcher

        source = key_source(self._config, listener_name)
        fetcher = KeyFetcher(source, self._clock, _stores(source.url, settings.options))
        fetcher.start()
        self._fetchers.setdefault(listener_name, []).append(fetcher)
        rules = token_rules(self._config, listener_name)
        return SignedTokens(
            fetcher.keys_of,
            self._clock.wall_ms,
            expected_audiences=rules.expected_audiences,
            expected_issuer=rules.expected_issuer,
            clock_skew_s=rules.clock_skew_s,
            scope_claim=rules.scope_claim,
            subject_claim=rules.subject_claim,
        ).validate

    def _options_in(self, config: BrokerConfig) -> LoginOptions:
        return lambda listener_name, mechanism: login_options(config, listener_name, mechanism, self._file)

    def _allowed_urls(self) -> str | None:
        """Of the system property that names all URLs which may be fetched, from KAFKA_OPTS; None for all."""
        return system_properties(os.environ).get(ALLOWED_URLS)

    def _stop_fetchers(self, listener_name: str) -> None:
        for fetcher in self._fetchers.pop(listener_name, []):
            fetcher.stop()


def _check_modules(key: str, text: str) -> None:
    """What is no JAAS value is taken, as Kafka does: only the listener that needs it does not start."""
    try:
        modules = parse_value(text)
    except JaasError:
        return
    for module in modules:
        try:
            check_allowed(module)
        except JaasError as error:
            raise invalid_value(key, "[hidden]", str(error)) from None


def _sasl_listeners(config: BrokerConfig) -> list[str]:
    return [each.listener_name for each in config.listeners if each.security_protocol.startswith("SASL_")]


def jaas_file(environment: Mapping[str, str]) -> JaasFile:
    """Blocks for the file that java.security.auth.login.config names in KAFKA_OPTS. Raises ConfigException."""
    try:
        sections = file_sections(environment)
    except JaasError as error:
        raise ConfigException(str(error)) from None
    return JaasFile(system_properties(environment).get(LOGIN_CONFIG, ""), sections or {})


def new_nonce() -> str:
    """The broker's part of a SCRAM nonce: 130 random bits in the digits that Kafka uses."""
    left, digits = secrets.randbits(_NONCE_BITS), ""
    while left:
        left, digit = divmod(left, len(_DIGITS))
        digits += _DIGITS[digit]
    return digits or "0"


def _stores(url: str, options: Mapping[str, str]) -> ssl.SSLContext | None:
    """Blocks on the disk. What the endpoint of keys is checked with. Raises ConfigException."""
    # Imported here: only these listeners need an HTTP client.
    from kafka_zk.sasl.oauth_http import stores_of

    try:
        return stores_of(url, options)
    except TlsError as error:
        raise ConfigException(str(error)) from None


def _unsecured_rules(options: Mapping[str, str]) -> UnsecuredRules:
    try:
        return UnsecuredRules.of(options)
    except BadOption as error:
        raise ConfigException(str(error)) from None


def _tell_refusal(why: str) -> None:
    validator_log.warning("%s", why)
