"""A broker that is killed leaves ZooKeeper at once: a helper process ends its session."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.broker.membership.session_file import NAME as SESSION_FILE
from kafka_zk.zk.session import close_session
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient
from tests.support.wire import wait_for_brokers
from tests.support.znodes import broker_epoch

SOON_S = 20
"""The helper needs some 50 ms; a session that nobody ends would last for 30 s."""


@pytest.fixture
def broker(tmp_path: Path, zookeeper_connect: str) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path, zookeeper_connect, overrides={"zookeeper.session.timeout.ms": "30000"}).start()
    yield running
    running.kill()


def helper_of(broker: OurBroker) -> int:
    """The only child of the broker."""
    pid = broker.process.pid
    (helper,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(helper)


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_the_registration_of_a_killed_broker_goes_at_once(broker: OurBroker, zookeeper_connect: str) -> None:
    helper = helper_of(broker)
    # Who stops a whole service signals all its processes.
    os.kill(helper, signal.SIGTERM)
    assert broker_epoch(zookeeper_connect) is not None
    broker.kill()
    wait_until(lambda: broker_epoch(zookeeper_connect) is None, "the registration is gone", SOON_S)
    wait_until(lambda: has_ended(helper), "the helper has ended", SOON_S)


def test_it_is_the_present_session_that_ends_not_an_earlier_one(broker: OurBroker, zookeeper_connect: str) -> None:
    first_epoch = broker_epoch(zookeeper_connect)
    session = json.loads((broker.log_dir / SESSION_FILE).read_text())
    close_session(zookeeper_connect, session["session_id"], bytes.fromhex(session["password"]))
    wait_until(lambda: broker_epoch(zookeeper_connect) not in (None, first_epoch), "the broker registers again")
    broker.kill()
    wait_until(lambda: broker_epoch(zookeeper_connect) is None, "the registration is gone", SOON_S)


def test_a_broker_that_stops_leaves_no_helper(broker: OurBroker) -> None:
    helper = helper_of(broker)
    assert broker.stop() == 128 + signal.SIGTERM
    assert has_ended(helper)


def test_a_broker_goes_on_without_its_helper_and_stops_in_order(broker: OurBroker, zookeeper_connect: str) -> None:
    os.kill(helper_of(broker), signal.SIGKILL)
    with RawClient(broker.bootstrap) as client:
        wait_for_brokers(client)
    assert broker.stop() == 128 + signal.SIGTERM
    assert broker_epoch(zookeeper_connect) is None
    assert "Traceback" not in broker.process.output()


def test_a_killed_broker_starts_again_at_once(broker: OurBroker, zookeeper_connect: str) -> None:
    for _ in range(3):
        broker.kill()
        broker.start()
    assert broker_epoch(zookeeper_connect) is not None
