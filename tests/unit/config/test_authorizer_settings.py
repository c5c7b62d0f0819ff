"""The authorizer's settings."""

from __future__ import annotations

import pytest

from kafka_zk.config.authorizer import AuthorizerSettings, with_own_zookeeper_keys
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.errors import ConfigException

NEEDED = {"zookeeper.connect": "h:1", "broker.id": "1"}
ACLS = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}


def test_super_users_are_split_at_semicolons_as_names_hold_commas() -> None:
    settings = AuthorizerSettings.of({"super.users": "User:CN=a,O=b; User:bob;"})
    assert settings.super_users == {"User:CN=a,O=b", "User:bob"}


@pytest.mark.parametrize("users", ["bob", "User:a;;User:b", "User:a;bob"])
def test_a_super_user_without_a_type_stops_the_start(users: str) -> None:
    with pytest.raises(ConfigException, match="expected a string in format principalType:principalName but got "):
        BrokerConfig.from_properties({**NEEDED, **ACLS, "super.users": users})


@pytest.mark.parametrize("name", ["org.example.Mine", "kafka.security.auth.SimpleAclAuthorizer"])
def test_an_unknown_authorizer_stops_the_start(name: str) -> None:
    """(security 12.35)"""
    with pytest.raises(ConfigException, match=r"authorizer\.class\.name"):
        BrokerConfig.from_properties({**NEEDED, "authorizer.class.name": name})


def test_a_flag_is_true_or_false() -> None:
    key = "allow.everyone.if.no.acl.found"
    assert AuthorizerSettings.of({key: "TRUE"}).allow_everyone_if_no_acl_found
    assert not AuthorizerSettings.of({}).allow_everyone_if_no_acl_found
    with pytest.raises(ConfigException):
        BrokerConfig.from_properties({**NEEDED, **ACLS, key: "yes"})


def test_the_session_of_the_authorizer_has_keys_of_its_own() -> None:
    settings = AuthorizerSettings.of(
        {
            "authorizer.zookeeper.url": "other:2181/acls",
            "authorizer.zookeeper.session.timeout.ms": "1",
            "authorizer.zookeeper.connection.timeout.ms": "2",
            "authorizer.zookeeper.max.in.flight.requests": "3",
        }
    )
    assert settings.zookeeper_url == "other:2181/acls"
    assert (settings.session_timeout_ms, settings.connection_timeout_ms, settings.max_in_flight) == (1, 2, 3)
    given = {"zookeeper.ssl.truststore.location": "/a", "authorizer.zookeeper.ssl.truststore.location": "/b"}
    assert with_own_zookeeper_keys(given)["zookeeper.ssl.truststore.location"] == "/b"
