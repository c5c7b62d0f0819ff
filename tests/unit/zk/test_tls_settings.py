"""zookeeper.ssl.*, and the system properties behind them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafka_zk.config.errors import ConfigException
from kafka_zk.tls.settings import TlsSettings
from kafka_zk.zk.tls_settings import identifies_client, tls_settings

ON = {"zookeeper.ssl.client.enable": "true"}
NETTY = {"zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty"}


def of(values: Mapping[str, str], properties: Mapping[str, str] | None = None) -> TlsSettings:
    found = tls_settings({**ON, **values}, properties or {})
    assert found is not None
    return found


def test_tls_is_off_unless_it_is_said() -> None:
    assert tls_settings({"zookeeper.ssl.keystore.location": "k.jks"}, {}) is None
    assert tls_settings({}, {"zookeeper.client.secure": "true"}) is not None
    assert tls_settings({"zookeeper.ssl.client.enable": "false"}, {"zookeeper.client.secure": "true"}) is None


@pytest.mark.parametrize(("file", "store_type"), [("a.jks", "JKS"), ("a.p12", "PKCS12"), ("a.pem", "PEM")])
def test_a_store_without_a_type_has_that_of_its_suffix(file: str, store_type: str) -> None:
    found = of({"zookeeper.ssl.keystore.location": file, "zookeeper.ssl.truststore.location": file})
    assert found.key is not None
    assert found.trust is not None
    assert found.key.store_type == found.trust.store_type == store_type


def test_a_suffix_that_says_nothing_is_refused_in_zookeepers_words() -> None:
    with pytest.raises(ConfigException, match=r"Unable to auto-detect KeyStore file type from file name: a\.store"):
        of({"zookeeper.ssl.keystore.location": "a.store"})


def test_the_key_has_the_password_of_its_store() -> None:
    found = of({"zookeeper.ssl.keystore.location": "a.pem", "zookeeper.ssl.keystore.password": "pw"})
    assert found.key is not None
    assert (found.key.password, found.key.key_password) == (None, "pw")
    assert "pw" not in repr(found)


def test_what_is_configured_comes_before_the_system_property() -> None:
    java = {"zookeeper.ssl.keyStore.location": "java.jks", "zookeeper.ssl.trustStore.location": "java.jks"}
    found = of({"zookeeper.ssl.keystore.location": "ours.jks"}, java)
    assert found.key is not None
    assert found.trust is not None
    assert (found.key.location, found.trust.location) == ("ours.jks", "java.jks")


@pytest.mark.parametrize(
    ("values", "properties", "checked"),
    [
        ({}, {}, True),
        ({"zookeeper.ssl.endpoint.identification.algorithm": "https"}, {}, True),
        ({"zookeeper.ssl.endpoint.identification.algorithm": ""}, {}, False),
        ({}, {"zookeeper.ssl.hostnameVerification": "false"}, False),
    ],
)
def test_the_servers_name_is_compared_unless_that_is_turned_off(
    values: Mapping[str, str], properties: Mapping[str, str], checked: bool
) -> None:
    assert of(values, properties).checks_host_name is checked


@pytest.mark.parametrize("name", ["crl.enable", "ocsp.enable"])
def test_a_check_that_is_not_made_is_refused(name: str) -> None:
    with pytest.raises(ConfigException, match="is not checked here"):
        of({f"zookeeper.ssl.{name}": "true"})


def test_versions_are_those_that_are_said() -> None:
    assert of({}).protocols == ("TLSv1.2", "TLSv1.3")
    assert of({"zookeeper.ssl.protocol": "TLSv1.2"}).protocols == ("TLSv1.2",)
    assert of({"zookeeper.ssl.enabled.protocols": "TLSv1.3"}).protocols == ("TLSv1.3",)


def test_a_certificate_is_an_identity_only_with_all_three_keys() -> None:
    store = {"zookeeper.ssl.keystore.location": "a.jks"}
    assert identifies_client({**ON, **NETTY, **store}, {})
    assert not identifies_client({**ON, **store}, {})
    assert not identifies_client({**ON, **NETTY}, {})
    assert not identifies_client({**NETTY, **store}, {})
