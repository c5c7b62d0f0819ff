"""Quotas and credentials as they come to stand in ZooKeeper, and what is left when they go."""

from __future__ import annotations

import json
import random

import gevent
import pytest

from kafka_zk.admin.client_quotas import alter_client_quotas, describe_client_quotas
from kafka_zk.admin.quota_entities import QuotaFilter
from kafka_zk.admin.quota_znodes import change_overrides
from kafka_zk.admin.scram_credentials import (
    Deletion,
    Upsertion,
    alter_credentials,
    describe_everybody,
    describe_users,
)
from kafka_zk.protocol.errors import (
    BrokerError,
    DuplicateResource,
    InvalidRequest,
    ResourceNotFound,
    UnacceptableCredential,
    UnsupportedSaslMechanism,
)
from kafka_zk.sasl.scram_credentials import Mechanism
from kafka_zk.zk.session import ZkClient
from tests.unit.admin.given import Cluster

ALICE = {"user": "alice"}
ALICES_APP = {"user": "alice", "client-id": "app"}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def alter(
    zk: ZkClient, names: dict[str, str], changes: dict[str, float | None], *, validate_only: bool = False
) -> None:
    alter_client_quotas(zk, names, [*changes.items()], validate_only=validate_only)


def below(cluster: Cluster, path: str) -> list[str]:
    return [f"{path}/{name}" for name in sorted(cluster.zk.children(path))]


def notices(cluster: Cluster) -> list[str]:
    paths = below(cluster, "/config/changes")
    return [json.loads(cluster.zk.get(path)[0])["entity_path"] for path in paths]


def test_a_quota_stands_as_kafka_writes_it_and_everybody_is_told(cluster: Cluster) -> None:
    alter(cluster.zk, {"client-id": "a b"}, {"consumer_byte_rate": 2097152.0, "request_percentage": 50.0})
    written = b'{"version":1,"config":{"request_percentage":"50.0","consumer_byte_rate":"2097152"}}'
    assert cluster.zk.get("/config/clients/a%20b")[0] == written
    assert notices(cluster) == ["clients/a%20b"]


def test_rule_20_an_entity_without_quotas_leaves_no_znode(cluster: Cluster) -> None:
    alter(cluster.zk, ALICES_APP, {"producer_byte_rate": 5.0})
    assert below(cluster, "/config/users") == ["/config/users/alice"]
    alter(cluster.zk, ALICES_APP, {"producer_byte_rate": None})
    assert below(cluster, "/config/users") == []
    assert notices(cluster) == ["users/alice/clients/app"] * 2


def test_a_user_with_quotas_stays_when_its_last_client_goes(cluster: Cluster) -> None:
    alter(cluster.zk, ALICE, {"producer_byte_rate": 5.0})
    alter(cluster.zk, ALICES_APP, {"producer_byte_rate": 5.0})
    alter(cluster.zk, ALICES_APP, {"producer_byte_rate": None})
    assert cluster.zk.children("/config/users/alice") == []
    assert describe_client_quotas(cluster.zk, QuotaFilter()) == {(("users", "alice"),): {"producer_byte_rate": 5.0}}


def test_a_user_whose_clients_have_quotas_stays(cluster: Cluster) -> None:
    alter(cluster.zk, ALICE, {"producer_byte_rate": 5.0})
    alter(cluster.zk, ALICES_APP, {"producer_byte_rate": 6.0})
    alter(cluster.zk, ALICE, {"producer_byte_rate": None})
    assert cluster.zk.get("/config/users/alice")[0] == b'{"version":1,"config":{}}'
    assert len(describe_client_quotas(cluster.zk, QuotaFilter())) == 1


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("producer_byte_rate", 1.5, "Configuration producer_byte_rate must be a LONG value"),
        ("producer_byte_rate", -1.0, "must be a LONG value"),
        ("producer_byte_rate", float("inf"), "must be a LONG value"),
        ("no_such_rate", 1.0, "Invalid configuration key no_such_rate"),
        ("connection_creation_rate", 1.0, "Invalid configuration key connection_creation_rate"),
    ],
)
def test_a_quota_that_makes_no_sense_changes_nothing(cluster: Cluster, key: str, value: float, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        alter(cluster.zk, ALICE, {"request_percentage": 1.0, key: value})
    assert below(cluster, "/config/users") == notices(cluster) == []


def test_looking_changes_nothing(cluster: Cluster) -> None:
    alter(cluster.zk, {"ip": "10.0.0.1"}, {"connection_creation_rate": 5.0}, validate_only=True)
    assert below(cluster, "/config/ips") == notices(cluster) == []


def upsertion(user: str, mechanism: int = 1, iterations: int = 4096) -> Upsertion:
    return Upsertion(user, mechanism, iterations, b"salt", b"salted")


def test_a_credential_stands_beside_the_quotas_of_its_user(cluster: Cluster) -> None:
    alter(cluster.zk, ALICE, {"producer_byte_rate": 5.0})
    assert alter_credentials(cluster.zk, [], [upsertion("alice"), upsertion("alice", 2, 8192)]) == {"alice": None}
    assert describe_everybody(cluster.zk) == {"alice": {Mechanism.SHA_256: 4096, Mechanism.SHA_512: 8192}}
    assert alter_credentials(cluster.zk, [Deletion("alice", 1), Deletion("alice", 2)], []) == {"alice": None}
    assert describe_everybody(cluster.zk) == {}
    assert cluster.zk.get("/config/users/alice")[0] == b'{"version":1,"config":{"producer_byte_rate":"5"}}'


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ([upsertion("")], UnacceptableCredential, "Username must not be empty"),
        ([upsertion("u", iterations=4095)], UnacceptableCredential, "Too few iterations"),
        ([upsertion("u", iterations=16385)], UnacceptableCredential, "Too many iterations"),
        ([upsertion("u", mechanism=3)], UnsupportedSaslMechanism, "Unknown SCRAM mechanism"),
        ([upsertion("u"), upsertion("u")], DuplicateResource, "twice in the same request"),
        ([upsertion("u", 2), Deletion("u", 2)], DuplicateResource, "twice in the same request"),
        ([upsertion("u", 2), Deletion("u", 1)], ResourceNotFound, "that does not exist"),
        ([Deletion("u", 0)], UnsupportedSaslMechanism, "Unknown SCRAM mechanism"),
    ],
)
def test_a_user_of_whom_one_change_is_wrong_gets_none(
    cluster: Cluster, changes: list[Upsertion | Deletion], error: type[BrokerError], message: str
) -> None:
    deletions = [change for change in changes if isinstance(change, Deletion)]
    upsertions = [change for change in changes if isinstance(change, Upsertion)]
    outcomes = alter_credentials(cluster.zk, deletions, [*upsertions, upsertion("good")])
    assert outcomes.pop("good") is None
    (refused,) = outcomes.values()
    assert type(refused) is error
    assert message in str(refused)
    assert list(describe_everybody(cluster.zk)) == ["good"]


def test_users_are_described_each_for_itself(cluster: Cluster) -> None:
    alter_credentials(cluster.zk, [], [upsertion("alice"), upsertion("bob")])
    described = dict(describe_users(cluster.zk, ["alice", "nobody", "bob", "bob", ""]))
    assert described["alice"] == {Mechanism.SHA_256: 4096}
    assert isinstance(described["nobody"], ResourceNotFound)
    assert isinstance(described["bob"], DuplicateResource)
    assert isinstance(described[""], ResourceNotFound)


def test_a_change_is_made_again_where_the_quotas_were_removed_and_made_anew(cluster: Cluster) -> None:
    alter(cluster.zk, ALICE, {"producer_byte_rate": 1.0})
    meanwhile: list[dict[str, float | None]] = [{"producer_byte_rate": None}, {"consumer_byte_rate": 2.0}]

    def change(overrides: dict[str, str]) -> dict[str, str]:
        while meanwhile:
            alter(cluster.zookeeper.client(), ALICE, meanwhile.pop(0))
        return {**overrides, "request_percentage": "3.0"}

    change_overrides(cluster.zk, (("users", "alice"),), change)
    described = describe_client_quotas(cluster.zk, QuotaFilter())
    assert described == {(("users", "alice"),): {"consumer_byte_rate": 2.0, "request_percentage": 3.0}}


def test_changes_of_several_brokers_at_once_are_all_made(cluster: Cluster, chance: random.Random) -> None:
    cluster.zookeeper.switch = lambda: gevent.sleep(0) if chance.random() < 0.7 else None
    keys = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")
    expected: dict[str, dict[str, float]] = {"alice": {}, "app": {}}

    def set_and_take_away(names: dict[str, str], key: str, quotas: dict[str, float]) -> None:
        zk = cluster.zookeeper.client()
        for value in [*chance.choices((None, 1.0, 2.0), k=10), chance.choice((None, 3.0))]:
            alter(zk, names, {key: value})
        if value is not None:
            quotas[key] = value

    def set_and_delete_credentials(mechanism: int) -> None:
        zk = cluster.zookeeper.client()
        for _ in range(5):
            assert alter_credentials(zk, [], [upsertion("alice", mechanism)]) == {"alice": None}
            assert alter_credentials(zk, [Deletion("alice", mechanism)], []) == {"alice": None}

    at_once = [gevent.spawn(set_and_take_away, ALICE, key, expected["alice"]) for key in keys]
    at_once += [gevent.spawn(set_and_take_away, ALICES_APP, key, expected["app"]) for key in keys]
    at_once += [gevent.spawn(set_and_delete_credentials, mechanism) for mechanism in (1, 2)]
    gevent.joinall(at_once, raise_error=True)
    found = describe_client_quotas(cluster.zk, QuotaFilter())
    alice, app = (("users", "alice"),), (("users", "alice"), ("clients", "app"))
    assert found.get(alice, {}) == expected["alice"]
    assert found.get(app, {}) == expected["app"]
    if expected["app"]:
        assert below(cluster, "/config/users/alice/clients") == ["/config/users/alice/clients/app"]
    elif not expected["alice"]:
        assert below(cluster, "/config/users") == []
    assert len(notices(cluster)) == 6 * 11 + 2 * 10
