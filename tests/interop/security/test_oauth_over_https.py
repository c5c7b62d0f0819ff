"""Keys and tokens of an OAuth server over https: Apache's broker and ours check it alike, and log in at each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.topics import NewTopic
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.config.sasl_classes import SIGNED_VALIDATORS
from tests.integration.security.sasl_broker import OAUTH_MODULE, PREFIX, sasl_overrides
from tests.integration.security.test_brokers_fetch_tokens import OF_MECHANISM, SECRET, overrides
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.certificates import PASSWORD, CertificateAuthority, Stores
from tests.support.oauth_server import OAuthServer
from tests.support.processes import wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

KINDS = (ApacheBroker, OurBroker)
APACHE, OURS = 1, 2


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


@pytest.fixture(scope="module")
def stores(authority: CertificateAuthority, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return authority.issue("localhost", tmp_path_factory.mktemp("stores"))


@pytest.fixture
def server(stores: Stores) -> Iterator[OAuthServer]:
    running = OAuthServer(stores)
    yield running
    running.stop()


def test_brokers_of_both_kinds_replicate_with_tokens_of_one_server(
    zookeeper: ZooKeeperServer, tmp_path: Path, server: OAuthServer, stores: Stores
) -> None:
    """(security 12.1) The followers' sessions end as often as a token does."""
    server.lifetime_s = 8.0
    connect = fresh_chroot(zookeeper, "oauth-mixed")
    properties = {broker_id: overrides(server, stores) for broker_id in (APACHE, OURS)}
    brokers = [
        kind(tmp_path / kind.__name__, connect, broker_id=broker_id, overrides=properties[broker_id])
        for kind, broker_id in zip(KINDS, (APACHE, OURS), strict=True)
    ]
    clients = [own["listeners"].rpartition("://")[2] for own in properties.values()]
    apache = brokers[0]
    assert isinstance(apache, ApacheBroker)
    apache.port = int(clients[0].rpartition(":")[2])
    try:
        for broker in brokers:
            broker.launch()
        for broker in brokers:
            broker.wait_ready()
        config = {"bootstrap.servers": ",".join(clients)}
        with AdminClient(config) as admin:
            wait_until(lambda: len(admin.describe_cluster().nodes) == 2, "both brokers are known")
            admin.create_topics([NewTopic("both", assignment={0: [APACHE, OURS], 1: [OURS, APACHE]})])
            serializers = dict.fromkeys(("key.serializer", "value.serializer"), "ByteArraySerializer")
            asked, sent = server.token_requests, 0
            with KafkaProducer({**config, **serializers, "acks": "all"}) as producer:
                while server.token_requests < asked + 2:
                    for partition in range(2):
                        producer.send("both", b"%d" % sent, partition=partition).result(30)
                    sent += 1
            isrs = [set(each.isr) for each in admin.describe_topics(["both"])["both"].partitions]
        assert isrs == [{APACHE, OURS}, {APACHE, OURS}]
        for partition in range(2):
            wait_until(lambda p=partition: _logs_are_equal(brokers, p), "the logs are equal")  # type: ignore[misc]
    finally:
        for broker in brokers:
            broker.kill()
    output = brokers[1].process.output()
    assert "ailed authentication" not in output and "ailed re-authentication" not in output
    assert SECRET not in output


def _logs_are_equal(brokers: list[ApacheBroker | OurBroker], partition: int) -> bool:
    logs = [
        b"".join(path.read_bytes() for path in sorted((broker.log_dir / f"both-{partition}").glob("*.log")))
        for broker in brokers
    ]
    return logs[0] == logs[1] != b""


INITIALIZING = "The OAuth validator configuration encountered an error when initializing the VerificationKeyResolver"
RETRIEVING = "An internal error occurred while retrieving token from callback handler"
NO_MORE = "; will not attempt further retries"
TRUSTING = {"password": PASSWORD, "type": "PKCS12"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trust", "names", "said"),
    [
        ({}, ["localhost"], INITIALIZING),
        ({"location": "{truststore}", **TRUSTING}, ["elsewhere.example"], INITIALIZING),
        ({"location": "{truststore}", **TRUSTING, "password": "hush-7"}, ["localhost"], "Failed to load SSL keystore"),
        ({"location": "/no/such"}, ["localhost"], "Failed to load SSL keystore /no/such of type JKS"),
        ({"password": "hush-7"}, ["localhost"], "SSL trust store is not specified, but trust store password is spec"),
        ({"location": "{truststore}", **TRUSTING}, ["localhost"], None),
    ],
    ids=["not trusted", "another host", "wrong password", "no store", "half a store", "trusted"],
)
def test_keys_are_fetched_from_a_server_that_is_trusted(
    zookeeper: ZooKeeperServer,
    tmp_path: Path,
    authority: CertificateAuthority,
    trust: dict[str, str],
    names: list[str],
    said: str | None,
) -> None:
    """That the name of the host is compared cannot be switched off."""
    stores = authority.issue("server", tmp_path / "stores", sans=names)
    server = OAuthServer(stores)
    given = {f"ssl.truststore.{name}": text for name, text in trust.items()}
    given |= {"unsecuredLoginStringClaim_sub": "broker", "ssl.endpoint.identification.algorithm": ""}
    module = " ".join(f'{name}="{text}"' for name, text in given.items())
    more = {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{PREFIX}oauthbearer.sasl.server.callback.handler.class": SIGNED_VALIDATORS[0],
        "sasl.oauthbearer.jwks.endpoint.url": server.keys_url,
        f"{PREFIX}oauthbearer.sasl.jaas.config": f"{OAUTH_MODULE} required {module};".replace(
            "{truststore}", str(stores.truststore_p12)
        ),
    }
    try:
        for kind in KINDS:
            output = _start(kind, tmp_path, zookeeper, more)
            assert (said is None) == (output is None), kind
            assert output is None or (said is not None and said in output and "hush-7" not in output), kind
    finally:
        server.stop()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"sasl.oauthbearer.token.endpoint.url": "https://localhost:1/token"}, 200, RETRIEVING),
        ({}, 503, RETRIEVING),
        ({}, 401, f"The response code 401.*was encountered reading the token endpoint response{NO_MORE}"),
        ({"sasl.login.retry.backoff.max.ms": "50"}, 200, r"retryBackoffMaxMs value \(50\) is less than retryBackoffMs"),
        ({"sasl.jaas.config": f"{OAUTH_MODULE} required;"}, 200, "option clientId value must be non-null"),
    ],
    ids=["down", "unavailable", "refused", "backoff", "no client"],
)
def test_a_start_is_refused_as_by_apache(
    zookeeper: ZooKeeperServer,
    tmp_path: Path,
    server: OAuthServer,
    stores: Stores,
    changes: dict[str, str],
    status: int,
    said: str,
) -> None:
    more = {"sasl.login.retry.backoff.max.ms": "500"} | {
        (f"{OF_MECHANISM}{name}" if name.startswith(("sasl.jaas", "sasl.oauth")) else name): text
        for name, text in changes.items()
    }
    keys = OAuthServer()
    server.status = status
    for kind in KINDS:
        own = overrides(server, stores, {"sasl.oauthbearer.jwks.endpoint.url": keys.keys_url, **more})
        output = _start(kind, tmp_path, zookeeper, own, of_clients=False)
        assert output is not None and re.search(said, output), kind
        assert SECRET not in output
    keys.stop()


def _start(
    kind: type[ApacheBroker] | type[OurBroker],
    folder: Path,
    zookeeper: ZooKeeperServer,
    more: dict[str, str],
    *,
    of_clients: bool = True,
) -> str | None:
    """What a broker says that does not start; None where it starts."""
    own = sasl_overrides(more) if of_clients else more
    broker = kind(folder / kind.__name__, fresh_chroot(zookeeper, kind.__name__), overrides=own)
    if isinstance(broker, ApacheBroker):
        broker.port = int(own["listeners"].partition(",")[0].rpartition(":")[2])
    try:
        broker.start()
    except AssertionError:
        return broker.process.output()
    finally:
        broker.kill()
    return None
