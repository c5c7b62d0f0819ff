"""What became of credentials while a broker had no session of ZooKeeper."""

from __future__ import annotations

from pathlib import Path

from kafka_zk.sasl.scram_credentials import Mechanism
from tests.integration.security.sasl_broker import sasl_overrides
from tests.integration.test_broker_zookeeper_loss import session_of
from tests.interop.sasl.exchange import Scram, exchange
from tests.interop.sasl.users import put_scram_user
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.znodes import looking_at
from tests.support.zookeeper import ZooKeeperServer, expire_session


def may_log_in(broker: OurBroker, user: str) -> bool:
    """An unknown user fails at the first token."""
    answers = exchange(broker.bootstrap, Scram(user=user).frames()[:2]).answers
    return answers[1][5:7] == b"\0\0"


def test_users_that_came_and_went_without_a_notice_are_known_after_a_new_session(
    tmp_path: Path, zookeeper: ZooKeeperServer, zookeeper_connect: str
) -> None:
    """(security 12.32, for credentials)"""
    put_scram_user(zookeeper_connect, "gone", *Mechanism)
    broker = OurBroker(tmp_path, zookeeper_connect, overrides=sasl_overrides()).start()
    try:
        assert may_log_in(broker, "gone")
        put_scram_user(zookeeper_connect, "new", *Mechanism)
        with looking_at(zookeeper_connect) as client:
            client.delete("/config/users/gone")
        assert may_log_in(broker, "gone"), "nobody has told"
        assert not may_log_in(broker, "new")
        expire_session(zookeeper, *session_of(broker))
        wait_until(lambda: not may_log_in(broker, "gone"), "the removed user is out")
        wait_until(lambda: may_log_in(broker, "new"), "the new user is in")
    finally:
        broker.stop()
