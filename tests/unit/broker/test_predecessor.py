"""A start that finds its broker id registered waits for the session of its predecessor, and for nobody else's."""

from __future__ import annotations

import pytest

from kafka_zk.broker.membership.predecessor import EXPIRY_SLACK_MS, ZOOKEEPER_AWAY_MS, WaitForPredecessor
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.zk.znodes import BrokerRegistration

TIMEOUT_MS = 18_000
DEAD, OTHER = 0xDEAD, 0xBEEF
LOOK_MS = 100


def registered(*addresses: tuple[str, int]) -> BrokerRegistration:
    named = ("PLAINTEXT", "INTERNAL")
    return BrokerRegistration(
        1, tuple(EndPoint(name, "PLAINTEXT", *address) for name, address in zip(named, addresses, strict=False))
    )


MINE = registered(("host", 9092), ("host", 9093))


def looks(wait: WaitForPredecessor, *, of_ms: int, since_ms: int = 0, session_id: int = DEAD) -> list[bool]:
    """The decisions of looks at our own registration, each a while after the last one."""
    return [wait.goes_on(MINE, session_id, now_ms) for now_ms in range(since_ms, since_ms + of_ms, LOOK_MS)]


@pytest.fixture
def wait() -> WaitForPredecessor:
    return WaitForPredecessor(MINE, timeout_ms=TIMEOUT_MS)


def test_nobody_registered_is_not_waited_for(wait: WaitForPredecessor) -> None:
    assert not wait.goes_on(None, 0, 0)


@pytest.mark.parametrize(
    ("addresses", "waits"),
    [
        ([("host", 9092), ("host", 9093)], True),
        ([("HOST", 9092)], True),
        ([("host", 9099), ("host", 9093)], True),
        ([("host", 9099)], False),
        ([("elsewhere", 9092), ("elsewhere", 9093)], False),
        ([], False),
    ],
    ids=["the same", "in other letters", "one of them", "other ports", "another host", "nowhere"],
)
def test_only_a_registration_with_an_address_of_ours_is_waited_for(
    wait: WaitForPredecessor, addresses: list[tuple[str, int]], waits: bool
) -> None:
    assert wait.goes_on(registered(*addresses), DEAD, 0) is waits


def test_the_wait_ends_with_the_registration(wait: WaitForPredecessor) -> None:
    assert all(looks(wait, of_ms=5_000))
    assert not wait.goes_on(None, 0, 5_000)


def test_the_wait_ends_a_little_after_the_timeout_of_a_session(wait: WaitForPredecessor) -> None:
    limit_ms = TIMEOUT_MS + EXPIRY_SLACK_MS
    assert all(looks(wait, of_ms=limit_ms))
    assert wait.left_ms(limit_ms - 500) == 500
    assert not wait.goes_on(MINE, DEAD, limit_ms)
    assert wait.left_ms(limit_ms + 500) == 0


def test_who_registers_meanwhile_is_alive(wait: WaitForPredecessor) -> None:
    assert all(looks(wait, of_ms=2_000))
    assert not wait.goes_on(MINE, OTHER, 2_000)


def test_a_registration_that_moves_to_other_addresses_is_of_who_is_alive(wait: WaitForPredecessor) -> None:
    assert all(looks(wait, of_ms=2_000))
    assert not wait.goes_on(registered(("host", 9099)), DEAD, 2_000)


def test_sessions_are_as_young_as_the_return_of_zookeeper(wait: WaitForPredecessor) -> None:
    limit_ms = TIMEOUT_MS + EXPIRY_SLACK_MS
    assert all(looks(wait, of_ms=2_000))
    back_ms = 1_900 + ZOOKEEPER_AWAY_MS + limit_ms
    assert all(looks(wait, since_ms=back_ms, of_ms=limit_ms))
    assert not wait.goes_on(MINE, DEAD, back_ms + limit_ms)
