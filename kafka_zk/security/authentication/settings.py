"""What the configuration says about the logins at one listener.

Role        Pure.
Invariants  A callback handler that is no known one, and a mechanism that does not work here, stop the start: an ignored
            check of credentials would be an open door.
            Options of a login module may be passwords: they are in no repr.
Source      ChannelBuilders.saslChannelBuilder, SaslChannelBuilder.configure, OAuthBearerValidatorCallbackHandler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.errors import ConfigException, UnsupportedConfig, invalid_value
from kafka_zk.config.sasl_classes import (
    DEFAULT_SERVER,
    PLAIN_SERVER,
    SCRAM_SERVER,
    SIGNED_VALIDATORS,
    UNSECURED_VALIDATOR,
)

PLAIN = "PLAIN"
OAUTHBEARER = "OAUTHBEARER"
GSSAPI = "GSSAPI"

_SCRAM_HANDLERS = (None, SCRAM_SERVER)

_HANDLERS: dict[str, tuple[str | None, ...]] = {
    PLAIN: (None, PLAIN_SERVER),
    "SCRAM-SHA-256": _SCRAM_HANDLERS,
    "SCRAM-SHA-512": _SCRAM_HANDLERS,
    OAUTHBEARER: (UNSECURED_VALIDATOR, *SIGNED_VALIDATORS),
    GSSAPI: (None, DEFAULT_SERVER),
}
"""By mechanism, the values of sasl.server.callback.handler.class that mean something here; None: unset."""

LoginOptions = Callable[[str, str], Mapping[str, str]]
"""The options of the login module that a listener has for a mechanism. Raises ConfigException if it has none."""


@dataclass(frozen=True, slots=True)
class MechanismSettings:
    """One mechanism of one listener. `handler`: the class of its callback handler; `max_reauth_ms`: 0 for no limit."""

    name: str
    handler: str | None
    max_reauth_ms: int
    options: Mapping[str, str] = field(repr=False)

    @property
    def users(self) -> dict[str, str]:
        """Of PlainLoginModule: password by user. Its username and password are the broker's own, and make no user."""
        prefix = "user_"
        return {
            name.removeprefix(prefix): password for name, password in self.options.items() if name.startswith(prefix)
        }


@dataclass(frozen=True, slots=True)
class TokenRules:
    """What the signed validator of OAUTHBEARER demands of a token."""

    expected_audiences: tuple[str, ...] = ()
    expected_issuer: str | None = None
    clock_skew_s: int = 30
    scope_claim: str = "scope"
    subject_claim: str = "sub"


@dataclass(frozen=True, slots=True)
class KeySource:
    """Where the keys of issuers are, and how often they are fetched. The text of the URL goes to no client."""

    url: str
    refresh_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int


def mechanisms_of(config: BrokerConfig, listener_name: str, options: LoginOptions) -> list[MechanismSettings]:
    """The mechanisms enabled on a SASL listener, in the order of the configuration. Raises ConfigException."""
    names = config.for_listener(listener_name, "sasl.enabled.mechanisms")
    assert isinstance(names, list)
    return [_mechanism(config, listener_name, name, options) for name in dict.fromkeys(names)]


def _mechanism(config: BrokerConfig, listener_name: str, name: str, options: LoginOptions) -> MechanismSettings:
    known = _HANDLERS.get(name)
    if known is None:
        raise UnsupportedConfig(
            f"The listener {listener_name} cannot be used: its sasl.enabled.mechanisms name {name}, which this broker "
            "does not have."
        )
    handler = _own_handler(config, listener_name, name)
    if handler not in known:
        raise _bad_handler(name, handler)
    max_reauth_ms = config.for_listener(listener_name, "connections.max.reauth.ms", mechanism=name)
    assert isinstance(max_reauth_ms, int)
    return MechanismSettings(name, handler, max_reauth_ms, options(listener_name, name))


def _own_handler(config: BrokerConfig, listener_name: str, mechanism: str) -> str | None:
    """Only the key with the prefix of the mechanism counts, as in Kafka."""
    key = f"listener.name.{listener_name.lower()}.{mechanism.lower()}.sasl.server.callback.handler.class"
    return config.originals.get(key) or None


def _bad_handler(mechanism: str, handler: str | None) -> ConfigException:
    name = "sasl.server.callback.handler.class"
    if handler is None:
        return UnsupportedConfig(
            f"{mechanism} needs {name} with the prefix of its listener and mechanism: name {SIGNED_VALIDATORS[0]}, or "
            f"{UNSECURED_VALIDATOR} to accept tokens without a signature."
        )
    return invalid_value(name, handler, f"Class {handler} could not be found.")


def token_rules(config: BrokerConfig, listener_name: str) -> TokenRules:
    """The sasl.oauthbearer.* values of a listener, as far as they judge a token."""

    def value(name: str) -> object:
        return config.for_listener(listener_name, name, mechanism=OAUTHBEARER)

    audiences = value("sasl.oauthbearer.expected.audience")
    issuer = value("sasl.oauthbearer.expected.issuer")
    skew_s = value("sasl.oauthbearer.clock.skew.seconds")
    assert isinstance(audiences, list | None) and isinstance(skew_s, int)
    return TokenRules(
        tuple(audiences or ()),
        None if issuer is None else str(issuer).strip() or None,
        skew_s,
        _claim_name("sasl.oauthbearer.scope.claim.name", value),
        _claim_name("sasl.oauthbearer.sub.claim.name", value),
    )


@dataclass(frozen=True, slots=True)
class KerberosSettings:
    """The sasl.kerberos.* values of a listener."""

    service_name: str | None
    principal_rules: tuple[str, ...]
    renew_window_factor: float
    renew_jitter: float
    min_time_before_relogin_ms: int
    kinit_cmd: str


def kerberos_settings(config: BrokerConfig, listener_name: str) -> KerberosSettings:
    """Raises ConfigException for a value that cannot be read."""

    def value(name: str) -> object:
        return config.for_listener(listener_name, name, mechanism=GSSAPI)

    service_name, rules, least_ms = (
        value("sasl.kerberos.service.name"),
        value("sasl.kerberos.principal.to.local.rules"),
        value("sasl.kerberos.min.time.before.relogin"),
    )
    factor, jitter = value("sasl.kerberos.ticket.renew.window.factor"), value("sasl.kerberos.ticket.renew.jitter")
    assert isinstance(rules, list) and isinstance(least_ms, int)
    assert isinstance(factor, float | int) and isinstance(jitter, float | int)
    return KerberosSettings(
        None if service_name is None else str(service_name),
        tuple(rules),
        factor,
        jitter,
        least_ms,
        str(value("sasl.kerberos.kinit.cmd")),
    )


def key_source(config: BrokerConfig, listener_name: str) -> KeySource:
    """Where the keys are. Raises ConfigException without a URL."""

    def value(name: str) -> object:
        return config.for_listener(listener_name, name, mechanism=OAUTHBEARER)

    def number(name: str) -> int:
        found = value(name)
        assert isinstance(found, int)
        return found

    url = value("sasl.oauthbearer.jwks.endpoint.url")
    if not isinstance(url, str) or not url.strip():
        problem = "be non-null" if url is None else "not contain only whitespace"
        raise ConfigException(f"The OAuth configuration option sasl.oauthbearer.jwks.endpoint.url value must {problem}")
    refresh_ms = number("sasl.oauthbearer.jwks.endpoint.refresh.ms")
    if refresh_ms < 0:
        raise ConfigException(
            "The OAuth configuration option sasl.oauthbearer.jwks.endpoint.refresh.ms value must be at least 0"
        )
    if refresh_ms == 0:
        raise ConfigException("JWKS validation key refresh configuration value retryWaitMs value must be positive")
    return KeySource(
        url.strip(),
        refresh_ms,
        number("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms"),
        number("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms"),
    )


def _claim_name(key: str, value: Callable[[str], object]) -> str:
    found = value(key)
    text = "" if found is None else str(found).strip()
    if not text:
        raise ConfigException(f"The OAuth configuration option {key} value must not contain only whitespace")
    return text
