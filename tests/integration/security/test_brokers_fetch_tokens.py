"""Brokers log in at each other with tokens of an endpoint over https, which they fetch before they end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import gevent
import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.topics import NewTopic
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.clock import SystemClock
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.sasl_classes import SIGNED_VALIDATORS, TOKEN_LOGINS
from kafka_zk.sasl.client.token_settings import TokenSettings, token_settings
from kafka_zk.security.authentication import refreshing_login
from kafka_zk.security.authentication.refreshing_login import RefreshingLogin
from tests.integration.security.sasl_broker import OAUTH_MODULE
from tests.integration.test_broker_refused_start import refusal
from tests.support.broker import OurBroker
from tests.support.certificates import PASSWORD, CertificateAuthority, Stores
from tests.support.oauth_server import ISSUER, OAuthServer
from tests.support.processes import free_port
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot, plain_client

SECRET = "hush/+7"
PREFIX = "listener.name.inner."
OF_MECHANISM = f"{PREFIX}oauthbearer."
HALF = {f"{OF_MECHANISM}sasl.login.refresh.window.factor": "0.5"}
TURNS = 10
"""Of the loop, while an answer is waited for."""
LATE_S, SOON_S = 9.0, 5.0
"""An answer that comes in the end, and what does not wait for it."""


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return CertificateAuthority().issue("localhost", tmp_path_factory.mktemp("stores"))


@pytest.fixture
def server(stores: Stores) -> Iterator[OAuthServer]:
    running = OAuthServer(stores)
    yield running
    running.stop()


def options(stores: Stores) -> dict[str, str]:
    return {
        "clientId": "broker",
        "clientSecret": SECRET,
        "ssl.truststore.location": str(stores.truststore_p12),
        "ssl.truststore.password": PASSWORD,
        "ssl.truststore.type": "PKCS12",
    }


def overrides(server: OAuthServer, stores: Stores, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours and Apache's alike."""
    module = " ".join(f'{name}="{text}"' for name, text in options(stores).items())
    return {
        "listeners": f"INNER://127.0.0.1:{free_port()},CLIENTS://127.0.0.1:{free_port()}",
        "listener.security.protocol.map": "CLIENTS:PLAINTEXT,INNER:SASL_PLAINTEXT",
        "inter.broker.listener.name": "INNER",
        "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{OF_MECHANISM}sasl.jaas.config": f"{OAUTH_MODULE} required {module};",
        f"{OF_MECHANISM}sasl.login.callback.handler.class": TOKEN_LOGINS[0],
        f"{OF_MECHANISM}sasl.server.callback.handler.class": SIGNED_VALIDATORS[0],
        f"{OF_MECHANISM}sasl.oauthbearer.token.endpoint.url": server.token_url,
        f"{PREFIX}sasl.oauthbearer.jwks.endpoint.url": server.keys_url,
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.clock.skew.seconds": "0",
        "controlled.shutdown.enable": "false",
        **(more or {}),
    }


def test_followers_stay_in_sync_with_tokens_that_end(
    zookeeper: ZooKeeperServer, tmp_path: Path, server: OAuthServer, stores: Stores
) -> None:
    """(security 12.26)"""
    # A token is replaced at half of its life: who is late on a busy machine has the other half.
    server.lifetime_s = 6.0
    connect = fresh_chroot(zookeeper, "tokens")
    properties = [overrides(server, stores, HALF) for _ in range(2)]
    brokers = [OurBroker(tmp_path / str(i), connect, broker_id=i, overrides=own) for i, own in enumerate(properties)]
    try:
        for broker in brokers:
            broker.launch()
        for broker in brokers:
            broker.wait_ready()
        config = {"bootstrap.servers": properties[0]["listeners"].rpartition("://")[2]}
        with AdminClient(config) as admin:
            admin.create_topics([NewTopic("both", assignment={0: [0, 1], 1: [1, 0]})])
        serializers = dict.fromkeys(("key.serializer", "value.serializer"), "ByteArraySerializer")
        with KafkaProducer({**config, **serializers, "acks": "all"}) as producer:
            asked, until = server.token_requests, time.monotonic() + 60
            while server.token_requests < asked + 4 and time.monotonic() < until:
                for partition in range(2):
                    producer.send("both", b"x", partition=partition).result(30)
        assert server.token_requests >= asked + 4, "both brokers renew"
    finally:
        for broker in brokers:
            broker.stop()
    for broker in brokers:
        output = broker.process.output()
        assert "ailed authentication" not in output and "ailed re-authentication" not in output
        assert "Shrinking ISR" not in output and "has no effect" not in output
        assert SECRET not in output


def test_a_broker_without_its_first_token_does_not_start(
    zookeeper: ZooKeeperServer, tmp_path: Path, server: OAuthServer, stores: Stores
) -> None:
    server.status = 401
    connect = fresh_chroot(zookeeper, "no-token")
    said = refusal(tmp_path, connect, overrides(server, stores))
    assert (
        "An internal error occurred while retrieving token from callback handler: The response code 401 was "
        "encountered reading the token endpoint response; will not attempt further retries"
    ) in said
    assert SECRET not in said and server.token_requests == 1
    zk = plain_client(connect)
    assert zk.get_children("/brokers/ids") == []
    zk.stop()
    zk.close()


# --- one login, in this process -----------------------------------------------------------------------------------


def settings(server: OAuthServer, stores: Stores, **more: object) -> TokenSettings:
    values: dict[str, object] = {
        "sasl.oauthbearer.token.endpoint.url": server.token_url,
        "sasl.oauthbearer.scope.claim.name": "scope",
        "sasl.oauthbearer.sub.claim.name": "sub",
        "sasl.login.retry.backoff.ms": 10,
        "sasl.login.retry.backoff.max.ms": 50,
        "sasl.login.refresh.window.factor": 0.8,
        "sasl.login.refresh.window.jitter": 0.05,
        "sasl.login.refresh.min.period.seconds": 60,
        "sasl.login.refresh.buffer.seconds": 300,
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    return token_settings(values.get, options(stores))


def eventually(condition: object) -> None:
    assert callable(condition)
    with gevent.Timeout(30):
        while not condition():
            gevent.sleep(0.01)


def test_an_endpoint_that_is_down_later_is_asked_until_it_answers(
    server: OAuthServer, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refreshing_login, "PAUSE_AFTER_FAILURE_MS", 50)
    server.lifetime_s = 0.5
    login = RefreshingLogin(settings(server, stores), SystemClock())
    login.start()
    try:
        server.status = 503
        asked = server.token_requests
        # The first of these may be a renewal that was answered before.
        eventually(lambda: server.token_requests > asked + 1)
        first, ends_s = login.exchange().first(), time.monotonic() + server.lifetime_s
        eventually(lambda: time.monotonic() > ends_s and server.token_requests > asked + 4)
        assert login.exchange().first() == first, "the old one stays, also after its end"
        server.status = 200
        eventually(lambda: login.exchange().first() != first)
    finally:
        login.stop()


def test_the_loop_runs_while_an_endpoint_is_slow(server: OAuthServer, stores: Stores) -> None:
    login = RefreshingLogin(settings(server, stores), SystemClock())
    turns = 0
    has_turned = threading.Event()
    server.before_answer = lambda: has_turned.wait(LATE_S)

    def count() -> None:
        nonlocal turns
        while True:
            gevent.sleep(0.005)
            turns += 1
            if turns == TURNS:
                has_turned.set()

    counting = gevent.spawn(count)
    login.start()
    counting.kill()
    login.stop()
    assert has_turned.is_set()


def test_an_endpoint_that_never_answers_ends_the_start_in_time(server: OAuthServer, stores: Stores) -> None:
    server.before_answer = lambda: time.sleep(LATE_S)
    login = RefreshingLogin(settings(server, stores, sasl_login_read_timeout_ms=100), SystemClock())
    begun_s = time.monotonic()
    with pytest.raises(ConfigException, match=r"timed out|takes too long"):
        login.start()
    assert time.monotonic() - begun_s < SOON_S
    login.stop()


def test_a_stop_does_not_wait_for_an_endpoint(server: OAuthServer, stores: Stores) -> None:
    server.lifetime_s = 0.2
    login = RefreshingLogin(settings(server, stores), SystemClock())
    login.start()
    server.before_answer = lambda: time.sleep(LATE_S)
    asked = server.token_requests
    eventually(lambda: server.token_requests > asked)
    begun_s = time.monotonic()
    login.stop()
    assert time.monotonic() - begun_s < SOON_S


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"clientId": None}, "The OAuth configuration option clientId value must be non-null"),
        ({"clientSecret": " "}, "The OAuth configuration option clientSecret value must not contain only whitespace"),
        ({"ssl.truststore.location": None}, "SSL trust store is not specified, but trust store password is specified."),
        ({"ssl.truststore.location": "/no/such"}, "Failed to load SSL keystore /no/such of type PKCS12"),
        ({"ssl.truststore.password": SECRET}, "Failed to load SSL keystore"),
    ],
)
def test_options_that_cannot_be_used_are_told_in_kafkas_words(
    server: OAuthServer, stores: Stores, changes: dict[str, str | None], why: str
) -> None:
    given = {name: text for name, text in (options(stores) | changes).items() if text is not None}
    with pytest.raises(ConfigException) as raised:
        token_settings(settings_values(server).get, given)
    assert why in str(raised.value) and SECRET not in str(raised.value)


def settings_values(server: OAuthServer) -> dict[str, object]:
    return {
        "sasl.oauthbearer.token.endpoint.url": server.token_url,
        "sasl.login.retry.backoff.ms": 10,
        "sasl.login.retry.backoff.max.ms": 50,
    }
