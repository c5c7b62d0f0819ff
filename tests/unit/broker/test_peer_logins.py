"""How a broker logs in at the others: as its configuration says now, and what it says of tokens."""

from __future__ import annotations

import pytest

from kafka_zk.broker.kerberos import KerberosLogins
from kafka_zk.broker.peer_logins import PeerLogins
from kafka_zk.clock import SystemClock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.sasl_classes import DEFAULT_LOGIN, TOKEN_LOGINS
from kafka_zk.config.support import start_up_warnings
from kafka_zk.sasl.jaas import OAUTHBEARER, PLAIN
from kafka_zk.security.authentication.login_modules import JaasFile
from kafka_zk.security.authentication.settings import KeySource, TokenRules, key_source, token_rules

LISTENER = "listener.name.inner."
JAAS = f"{LISTENER}plain.sasl.jaas.config"


def jaas(user: str) -> str:
    return f'{PLAIN} required username="{user}" password="secret-7";'


def config_of(mechanism: str, **more: str) -> BrokerConfig:
    return BrokerConfig.from_properties(
        {
            "zookeeper.connect": "h:1",
            "listeners": "INNER://h:2",
            "listener.security.protocol.map": "INNER:SASL_PLAINTEXT",
            "inter.broker.listener.name": "INNER",
            "sasl.enabled.mechanisms": mechanism,
            "sasl.mechanism.inter.broker.protocol": mechanism,
            **more,
        }
    )


def peers_of(config: BrokerConfig) -> PeerLogins:
    return PeerLogins(config, SystemClock(), KerberosLogins())


def first_token(peers: PeerLogins) -> bytes:
    begin = peers.of("INNER")
    assert begin is not None
    return begin("me", "host", None)._exchange.first()


def test_an_altered_login_counts_for_the_next_connection() -> None:
    config = config_of("PLAIN", **{JAAS: jaas("one")})
    peers = peers_of(config)
    peers.check(JaasFile())
    assert first_token(peers) == b"\0one\0secret-7"
    config.become(config.with_dynamic(default={}, broker={JAAS: jaas("two")}))
    assert first_token(peers) == b"\0two\0secret-7"


@pytest.mark.parametrize("text", ["no JAAS", f"{OAUTHBEARER} required;", f"{PLAIN} required;"])
def test_one_that_cannot_be_used_leaves_the_old_one(text: str) -> None:
    config = config_of("PLAIN", **{JAAS: jaas("one")})
    peers = peers_of(config)
    first_token(peers)
    config.become(config.with_dynamic(default={}, broker={JAAS: text}))
    assert first_token(peers) == b"\0one\0secret-7"


def test_a_broker_does_not_begin_with_one_that_cannot_be_used() -> None:
    with pytest.raises(ConfigException, match="no option password"):
        peers_of(config_of("PLAIN", **{JAAS: f"{PLAIN} required username=x;"})).check(JaasFile())


def test_the_usual_handler_may_be_named() -> None:
    handler = f"{LISTENER}plain.sasl.login.callback.handler.class"
    peers_of(config_of("PLAIN", **{JAAS: jaas("one"), handler: DEFAULT_LOGIN})).check(JaasFile())
    with pytest.raises(ConfigException, match="could not be found"):
        peers_of(config_of("PLAIN", **{JAAS: jaas("one"), handler: TOKEN_LOGINS[0]})).check(JaasFile())


OF_TOKENS = {
    "sasl.oauthbearer.token.endpoint.url": "http://h/token",
    "sasl.oauthbearer.scope.claim.name": "scp",
    "sasl.oauthbearer.sub.claim.name": "usr",
    "sasl.login.retry.backoff.ms": "7",
    "sasl.login.retry.backoff.max.ms": "70",
    "sasl.login.connect.timeout.ms": "71",
    "sasl.login.read.timeout.ms": "72",
}
OF_REFRESHING = {
    "sasl.login.refresh.window.factor": "0.7",
    "sasl.login.refresh.window.jitter": "0.1",
    "sasl.login.refresh.min.period.seconds": "73",
    "sasl.login.refresh.buffer.seconds": "74",
}
OF_KEYS = {
    "sasl.oauthbearer.jwks.endpoint.url": "http://h/keys",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": "75",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": "76",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "77",
    "sasl.oauthbearer.clock.skew.seconds": "78",
    "sasl.oauthbearer.expected.audience": "a,b",
    "sasl.oauthbearer.expected.issuer": "it",
}
PREFIXES = ("", LISTENER, f"{LISTENER}oauthbearer.")


def of_tokens(prefix: str) -> BrokerConfig:
    own = {prefix + key: text for key, text in (OF_TOKENS | OF_KEYS).items()}
    # Of a mechanism there are none of these.
    own |= {(prefix if prefix != PREFIXES[2] else LISTENER) + key: text for key, text in OF_REFRESHING.items()}
    return config_of(
        "OAUTHBEARER",
        **{
            f"{LISTENER}oauthbearer.sasl.jaas.config": f'{OAUTHBEARER} required clientId="me" clientSecret="secret-7";',
            f"{LISTENER}oauthbearer.sasl.login.callback.handler.class": TOKEN_LOGINS[0],
        },
        **own,
    )


@pytest.mark.parametrize("prefix", PREFIXES)
def test_each_key_of_tokens_counts_with_and_without_prefixes(prefix: str) -> None:
    config = of_tokens(prefix)
    peers = peers_of(config)
    peers.check(JaasFile())
    found = peers._settings("INNER")
    expected = [BrokerConfig.from_properties({"zookeeper.connect": "h:1", **OF_TOKENS, **OF_REFRESHING}).values]
    assert found.values == {key: expected[0][key] for key in (*OF_TOKENS, *OF_REFRESHING)}
    rules = found.token_settings().rules
    assert (rules.window_factor, rules.window_jitter, rules.min_period_s, rules.buffer_s) == (0.7, 0.1, 73, 74)
    assert key_source(config, "INNER") == KeySource("http://h/keys", 75, 76, 77)
    assert token_rules(config, "INNER") == TokenRules(("a", "b"), "it", 78, "scp", "usr")


@pytest.mark.parametrize("prefix", PREFIXES)
def test_no_key_of_tokens_is_called_one_without_effect(prefix: str) -> None:
    assert start_up_warnings(of_tokens(prefix)) == []
