"""A realm, and a broker of each kind in it, for all tests of Kerberos."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.kdc import SERVICE, Kdc, missing
from tests.support.processes import free_port
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

USERS = ("alice", "bob")


@pytest.fixture(scope="package")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    """Whose configuration is that of this process, too."""
    if why := missing():
        pytest.skip(why)
    realm = Kdc(tmp_path_factory.mktemp("kdc"), SERVICE, *USERS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KRB5_CONFIG", realm.environ["KRB5_CONFIG"])
        realm.start()
        yield realm
        realm.stop()


def kerberos_listener(kdc: Kdc, port: int, **more: str) -> dict[str, str]:
    """Properties of a broker with a Kerberos listener for clients and brokers. Ours and Apache's alike."""
    return {
        "listeners": f"SASL_PLAINTEXT://localhost:{port}",
        "security.inter.broker.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism.inter.broker.protocol": "GSSAPI",
        "sasl.enabled.mechanisms": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "listener.name.sasl_plaintext.gssapi.sasl.jaas.config": kdc.jaas(SERVICE, more=""),
        "auto.create.topics.enable": "true",
        **more,
    }


def client_properties(kdc: Kdc, bootstrap: str, user: str = "alice", **more: str) -> dict[str, str]:
    return {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.jaas.config": kdc.jaas(user),
        **more,
    }


@pytest.fixture(scope="package")
def ours(kdc: Kdc, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    broker = OurBroker(
        tmp_path_factory.mktemp("ours"),
        fresh_chroot(zookeeper, "kerberos"),
        overrides=kerberos_listener(kdc, free_port()),
        environ={"KAFKA_OPTS": kdc.java_option},
    )
    # It finds the realm by KAFKA_OPTS alone, as Java does.
    broker.process._env.pop("KRB5_CONFIG", None)
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="package")
def apache(kdc: Kdc, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheBroker]:
    port = free_port()
    broker = ApacheBroker(
        tmp_path_factory.mktemp("apache"),
        fresh_chroot(zookeeper, "kerberos-apache"),
        overrides=kerberos_listener(kdc, port),
        jvm_options=(kdc.java_option,),
    )
    broker.port = port
    broker.start()
    yield broker
    broker.stop()
