"""A broker that is away while rules, users and tokens change, until no notice is left that could tell it.

Notices live 15 minutes; here they are deleted at once. `--away-minutes 16` waits until the other broker has done so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_zk.client.admin.acls import AccessControlEntry, AclBinding, ResourcePattern
from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.scram import ScramDeletion, ScramMechanism, ScramUpsertion
from kafka_zk.client.admin.tokens import DelegationToken
from kafka_zk.protocol.acl import Operation, Permission, ResourceType
from kafka_zk.protocol.messages.describe_acls import DESCRIBE_ACLS_REQUEST, DescribeAclsRequest
from tests.integration.security.sasl_broker import PLAIN_MODULE, sasl_overrides
from tests.interop.sasl.exchange import Scram, exchange
from tests.support import znodes
from tests.support.broker import OurBroker
from tests.support.processes import paused, wait_until
from tests.support.raw_client import RawClient, as_plain
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

NOTICES = ("/kafka-acl-changes", "/kafka-acl-extended-changes", "/config/changes", "/delegation_token/token_changes")
AWAY = 1
ALICE = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": f'{PLAIN_MODULE} required username="alice" password="alice-secret";',
}


class Pair(NamedTuple):
    connect: str
    here: OurBroker
    away: OurBroker
    plain_addresses: tuple[str, str]


@pytest.fixture
def pair(zookeeper: ZooKeeperServer, tmp_path: Path) -> Iterator[Pair]:
    connect = fresh_chroot(zookeeper, "away")
    brokers, addresses = [], []
    for broker_id in (0, AWAY):
        overrides = sasl_overrides(
            {
                "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
                "super.users": "User:ANONYMOUS;User:alice",
                "delegation.token.secret.key": "the-cluster's-secret-7",
                "zookeeper.session.timeout.ms": "4000",
            }
        )
        addresses.append(overrides["listeners"].rpartition("://")[2])
        brokers.append(OurBroker(tmp_path / str(broker_id), connect, broker_id=broker_id, overrides=overrides))
        brokers[-1].start()
    yield Pair(connect, brokers[0], brokers[1], (addresses[0], addresses[1]))
    for broker in brokers:
        broker.stop()


@contextmanager
def frozen(pair: Pair) -> Iterator[None]:
    """Without a session of ZooKeeper while the block runs."""
    with paused(pair.away.process.pid):
        znodes.wait_until_unregistered(pair.connect, AWAY)
        yield


def rules_at(address: str) -> list[str]:
    """As the broker there has them in memory."""
    anything = DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    with RawClient(address) as client:
        answer = client.send(DESCRIBE_ACLS_REQUEST, anything, 3)
    assert answer.error_code == 0
    return sorted(repr((as_plain(each) | {"acls": None}, acl)) for each in answer.resources for acl in each.acls)


def knows(broker: OurBroker, user: str, extensions: str = "") -> bool:
    """An unknown user, or token, fails at the first message of SCRAM."""
    answers = exchange(broker.bootstrap, Scram(user=user, extensions=extensions).frames()[:2]).answers
    return answers[1][5:7] == b"\0\0"


def knows_token(broker: OurBroker, token: DelegationToken) -> bool:
    return knows(broker, token.token_id, ",tokenauth=true")


def rule(topic: str) -> AclBinding:
    entry = AccessControlEntry("User:bob", "*", Operation.READ, Permission.ALLOW)
    return AclBinding(ResourcePattern(ResourceType.TOPIC, topic), entry)


def notices(connect: str) -> list[str]:
    return [f"{path}/{name}" for path in NOTICES for name in znodes.children(connect, path)]


def delete_notices(connect: str) -> None:
    with znodes.looking_at(connect) as client:
        for path in notices(connect):
            client.delete(path)


def wait_until_purged(pair: Pair, admin: AdminClient, before: list[str], minutes: float) -> None:
    """As the other broker does it, with the first notice of each kind that comes after their time."""
    time.sleep(minutes * 60)
    admin.create_acls([rule("late")])
    admin.alter_user_scram_credentials(upsertions=[_user("late")])
    admin.create_delegation_token()
    wait_until(lambda: not set(before) & set(notices(pair.connect)), "the notices are purged")


def _user(name: str) -> ScramUpsertion:
    return ScramUpsertion(name, ScramMechanism.SCRAM_SHA_256, b"a-secret", iterations=4096)


@pytest.mark.slow
def test_rules_users_and_tokens_of_an_absence_are_known_after_it(pair: Pair, pytestconfig: pytest.Config) -> None:
    """(security 12.32)"""
    minutes = pytestconfig.getoption("away_minutes")
    with AdminClient({"bootstrap.servers": pair.here.bootstrap, **ALICE}) as admin:
        admin.create_acls([rule("kept"), rule("removed")])
        admin.alter_user_scram_credentials(upsertions=[_user("kept"), _user("removed")])
        kept, expired = admin.create_delegation_token(), admin.create_delegation_token()
        wait_until(lambda: knows_token(pair.away, expired) and knows(pair.away, "removed"), "both brokers know")
        with frozen(pair):
            admin.delete_acls(rule("removed").pattern)
            admin.create_acls([rule("added")])
            admin.alter_user_scram_credentials(
                deletions=[ScramDeletion("removed", ScramMechanism.SCRAM_SHA_256)], upsertions=[_user("added")]
            )
            admin.expire_delegation_token(expired.hmac)
            added = admin.create_delegation_token()
            written = notices(pair.connect)
            assert {path.rpartition("/")[0] for path in written} >= {NOTICES[0], *NOTICES[2:]}
            if minutes:
                wait_until_purged(pair, admin, written, minutes)
            else:
                delete_notices(pair.connect)
    wait_until(lambda: knows(pair.away, "added"), "the users are known")
    wait_until(lambda: rules_at(pair.plain_addresses[1]) == rules_at(pair.plain_addresses[0]), "the rules are equal")
    assert any("added" in each for each in rules_at(pair.plain_addresses[1]))
    assert not any("removed" in each for each in rules_at(pair.plain_addresses[1]))
    assert knows(pair.away, "kept") and not knows(pair.away, "removed")
    wait_until(lambda: knows_token(pair.away, added), "the new token is known")
    assert knows_token(pair.away, kept) and not knows_token(pair.away, expired)
    assert "Traceback" not in pair.away.process.output()
