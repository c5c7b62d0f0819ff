"""Notices, many at a time."""

import gevent
import pytest

from kafka_zk.clock import SimClock
from kafka_zk.zk import sequence_listener
from kafka_zk.zk.errors import NoAuth
from kafka_zk.zk.sequence_listener import NOTICE_LIFETIME_MS, SequenceListener
from tests.simulation.model_zookeeper import ModelZooKeeper

PARENT = "/config/changes"


@pytest.fixture
def zk():
    server = ModelZooKeeper().with_kafka_paths()
    client = server.client()
    for index in range(50):
        client.create(f"{PARENT}/config_change_", b"%d" % index, sequential=True)
    yield client
    client.close()


def listener(zk, handled, clock=None):
    return SequenceListener(zk, PARENT, "config_change_", handled.append, clock or SimClock())


def process_and_purge(zk, handled):
    """A look at a start, and the next one when the notices' time is over."""
    clock = SimClock()
    following = listener(zk, handled, clock)
    following.process()
    clock.advance(NOTICE_LIFETIME_MS)
    following.process()


def test_the_notices_that_a_start_finds_are_read_and_purged_in_a_few_rounds(zk, monkeypatch):
    rounds, switch = [], zk.server.switch
    monkeypatch.setattr(zk.server, "switch", lambda: rounds.append(None) or switch())
    handled = []
    process_and_purge(zk, handled)
    assert handled == [b"%d" % index for index in range(50)], "in the order of their numbers"
    assert zk.children(PARENT) == [], "they are old"
    assert len(rounds) <= 8


def test_a_clock_that_is_ahead_takes_no_notice_from_brokers_that_have_not_read_it(zk):
    clock = SimClock()
    ahead = listener(zk, [], clock)
    ahead.process()
    clock.set_wall(3_600_000)
    zk.create(f"{PARENT}/config_change_", b"late", sequential=True)
    ahead.process()
    handled = []
    listener(zk, handled).process()
    assert handled[-1] == b"late"
    clock.advance(NOTICE_LIFETIME_MS)
    ahead.process()
    assert zk.children(PARENT) == []


def test_a_notice_is_handled_once_and_what_cannot_be_handled_stops_no_other(zk):
    handled = []

    def handle(data):
        handled.append(data)
        if data == b"3":
            raise ZeroDivisionError

    clock = SimClock()
    following = SequenceListener(zk, PARENT, "config_change_", handle, clock)
    following.process()
    zk.create(f"{PARENT}/config_change_", b"late", sequential=True)
    following.process()
    assert handled == [*(b"%d" % index for index in range(50)), b"late"]
    assert clock.wall_ms() > NOTICE_LIFETIME_MS


def test_a_notice_that_cannot_be_read_stops_no_other(zk):
    handled = []
    zk.server.hidden.add(f"{PARENT}/config_change_0000000003")
    listener(zk, handled).process()
    assert handled == [b"%d" % index for index in range(50) if index != 3]


def test_an_old_notice_that_cannot_be_removed_stops_no_other(zk):
    kept = "config_change_0000000003"
    zk.server.forbidden.add(f"{PARENT}/{kept}")
    process_and_purge(zk, [])
    assert zk.children(PARENT) == [kept]


def test_what_could_not_be_read_is_asked_for_again_without_other_news(zk, monkeypatch):
    monkeypatch.setattr(sequence_listener, "RETRY_PAUSE_S", 0)
    handled, asked, children = [], [], zk.children

    def refused_once(path):
        asked.append(path)
        if len(asked) == 1:
            raise NoAuth(path)
        return children(path)

    following = listener(zk, handled)
    following.start()
    monkeypatch.setattr(zk, "children", refused_once)
    zk.create(f"{PARENT}/config_change_", b"late", sequential=True)
    for _ in range(10):
        gevent.sleep(0)
    following.stop()
    assert handled[-1] == b"late"


def test_a_task_runs_between_notices_and_again_when_zookeeper_fails(zk, monkeypatch):
    handled, runs = [], []
    monkeypatch.setattr(sequence_listener, "RETRY_PAUSE_S", 0)
    following = listener(zk, handled)
    following.start()

    def task():
        runs.append(1)
        if len(runs) == 1:
            raise NoAuth("/config")

    following.run_soon(task)
    with gevent.Timeout(5):
        while len(runs) < 2:
            gevent.sleep(0)
    following.stop()
