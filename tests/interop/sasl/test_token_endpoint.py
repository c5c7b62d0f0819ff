"""Tokens of a token endpoint: our clients ask for them as Java's do, and log in with them, also when they change."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.errors import KafkaException
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.protocol.errors import BrokerError
from tests.integration.security.sasl_broker import OAUTH_MODULE, PREFIX, sasl_overrides
from tests.integration.security.test_key_fetcher import Issuer
from tests.interop.sasl.test_signed_tokens import SIGNED, signed
from tests.support.apache import run_tool
from tests.support.broker import OurBroker
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
SECRET = "hush/+ ~*-7"
SAME_HEADERS = ("Accept", "Authorization", "Cache-Control", "Content-Type", "Content-Length")
TOKENS, MOST_TRIES = 4, 3
BYTES = dict.fromkeys(("key.serializer", "value.serializer"), "ByteArraySerializer")


class Endpoint:
    """Gives tokens that live for `lifetime_s`; answers the `failures` first requests with those statuses."""

    def __init__(self) -> None:
        self.lifetime_s = 3600
        self.failures: list[int] = []
        self.requests: list[tuple[dict[str, str | None], bytes]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.requests.append(({name: self.headers[name] for name in SAME_HEADERS}, body))
                status = endpoint.failures.pop(0) if endpoint.failures else 200
                token = signed(exp=endpoint.lifetime_s, jti=str(len(endpoint.requests)))
                said = json.dumps({"access_token": token} if status == 200 else {"error": "no"}).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/token"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    running = Endpoint()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    keys = Issuer()
    overrides = sasl_overrides(
        {
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{PREFIX}oauthbearer.sasl.server.callback.handler.class": SIGNED,
            "sasl.oauthbearer.jwks.endpoint.url": keys.url,
            "sasl.oauthbearer.expected.issuer": "https://issuer",
            # No leeway: a token that has ended is refused.
            "sasl.oauthbearer.clock.skew.seconds": "0",
        }
    )
    chroot = fresh_chroot(zookeeper, "endpoint")
    running = OurBroker(tmp_path_factory.mktemp("endpoint"), chroot, overrides=overrides).start()
    yield running
    running.stop()
    keys.stop()


def login(broker: OurBroker, url: str) -> dict[str, str]:
    return {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": HANDLER,
        "sasl.oauthbearer.token.endpoint.url": url,
        "sasl.oauthbearer.header.urlencode": "true",
        "sasl.jaas.config": f'{OAUTH_MODULE} required clientId="me~*" clientSecret="{SECRET}" scope="a b~*/" '
        'extension_traceId="7";',
    }


def test_the_endpoint_is_asked_as_javas_clients_ask(broker: OurBroker, endpoint: Endpoint, tmp_path: Path) -> None:
    config = login(broker, endpoint.url)
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
    done = run_tool(
        "org.apache.kafka.tools.TopicCommand",
        *("--bootstrap-server", broker.bootstrap, "--command-config", str(file), "--list"),
    )
    assert done.exit_code == 0, done
    with AdminClient(config) as admin:
        admin.list_topics()
    javas, ours = endpoint.requests
    assert ours == javas


def test_tokens_that_end_are_replaced_while_records_flow(broker: OurBroker, endpoint: Endpoint) -> None:
    """(security 12.26) So short that half of their life is less than a broker wants between two renewals.

    A session ends a tenth of a second after it has to be renewed. On a busy machine a client may be too late once;
    one that does not renew in time is so each time.
    """
    endpoint.lifetime_s = 2
    losses: list[Exception] = []
    while len(losses) < MOST_TRIES:
        asked = len(endpoint.requests)
        try:
            with KafkaProducer({**login(broker, endpoint.url), **BYTES, "retries": 0}) as producer:
                until_s = time.monotonic() + 60
                while len(endpoint.requests) < asked + TOKENS:
                    assert time.monotonic() < until_s, endpoint.requests
                    producer.send("by-token", b"x").result(30)
                    time.sleep(0.02)
            return
        except (KafkaException, BrokerError) as error:
            losses.append(error)
    raise AssertionError(f"something was lost each time: {losses}")


def test_only_what_may_pass_is_asked_again(broker: OurBroker, endpoint: Endpoint) -> None:
    endpoint.failures = [503, 500]
    with AdminClient(login(broker, endpoint.url)) as admin:
        admin.list_topics()
    assert len(endpoint.requests) == 3
    endpoint.failures = [401]
    with pytest.raises(KafkaException) as raised:
        AdminClient(login(broker, endpoint.url))
    assert len(endpoint.requests) == 4
    assert "The response code 401" in str(raised.value.__cause__)
    assert SECRET not in f"{raised.value} {raised.value.__cause__}"


def test_a_file_may_hold_the_token(broker: OurBroker, tmp_path: Path) -> None:
    file = tmp_path / "token"
    with pytest.raises(KafkaException) as raised:
        AdminClient(login(broker, file.as_uri()))
    assert f"contains a file ({file}) that doesn't exist" in str(raised.value.__cause__)
    file.write_text(signed() + "\n")
    with AdminClient(login(broker, file.as_uri())) as admin:
        admin.list_topics()


def test_a_url_that_is_not_allowed_is_not_asked(
    broker: OurBroker, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CVE-2025-27817"""
    monkeypatch.setenv("KAFKA_OPTS", "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=https://other/token")
    with pytest.raises(KafkaException) as raised:
        AdminClient(login(broker, endpoint.url))
    assert f"{endpoint.url} is not allowed" in str(raised.value.__cause__)
    assert endpoint.requests == []
