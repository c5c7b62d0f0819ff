"""Delegation tokens: who may do what with them, how long they live, and how a broker keeps up with the others."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterable, Iterator, Sequence

import gevent
import pytest

from kafka_zk.clock import SimClock
from kafka_zk.protocol.errors import (
    DelegationTokenExpired,
    DelegationTokenNotFound,
    DelegationTokenOwnerMismatch,
)
from kafka_zk.security.tokens.rules import TokenRules, may_describe
from kafka_zk.security.tokens.store import TokenStore
from kafka_zk.zk.errors import SessionExpired, ZkError
from kafka_zk.zk.operations import Operation
from kafka_zk.zk.session import NodeData
from kafka_zk.zk.znodes.access import DelegationTokenZNode
from tests.simulation.model_zookeeper import ModelZooKeeper

RULES = TokenRules("secret-8", max_lifetime_ms=1_000_000, expiry_time_ms=100_000)
ALICE, BOB, CAROL = "User:alice", "User:bob", "User:carol"


@pytest.fixture
def server() -> ModelZooKeeper:
    return ModelZooKeeper().with_kafka_paths()


@pytest.fixture
def clock() -> SimClock:
    # The znodes of the model are of the time 0: its notices must not look old.
    return SimClock(wall_ms=0)


def store_of(server: ModelZooKeeper, clock: SimClock) -> TokenStore:
    store = TokenStore(server.client(), RULES, clock, broker_id=0)
    store.start(sweep_interval_ms=3_600_000, is_controller=lambda: False)
    return store


@pytest.fixture
def store(server: ModelZooKeeper, clock: SimClock) -> Iterator[TokenStore]:
    made = store_of(server, clock)
    yield made
    made.stop()


def test_a_life_is_bounded_by_the_request_and_by_the_cluster() -> None:
    for asked_ms, life_ms in ((50_000, 50_000), (0, 1_000_000), (-1, 1_000_000), (2**62, 1_000_000)):
        token = RULES.new_token(ALICE, ALICE, (), asked_ms, 0)
        assert (token.max_timestamp, token.expiry_timestamp) == (life_ms, min(life_ms, 100_000))
    for_ever = TokenRules("secret-8", max_lifetime_ms=2**63 - 1, expiry_time_ms=2**63 - 1)
    token = for_ever.new_token(ALICE, ALICE, (), -1, 1)
    assert (token.max_timestamp, token.expiry_timestamp) == (2**63 - 1, 2**63 - 1)


def test_a_renewal_ends_with_the_life_and_comes_too_late_after_the_end() -> None:
    token = RULES.new_token(ALICE, ALICE, (), -1, 0)
    assert RULES.renewed(token, -1, 50_000).expiry_timestamp == 150_000
    assert RULES.renewed(token, 2**62, 50_000).expiry_timestamp == 1_000_000
    with pytest.raises(DelegationTokenExpired):
        RULES.renewed(token, -1, 100_001)


def test_owner_and_renewers_renew_and_a_requester_does_not(store: TokenStore) -> None:
    _, hmac = store.create(ALICE, CAROL, [BOB], -1)
    store.renew(ALICE, hmac, 5)
    store.renew(BOB, hmac, 5)
    with pytest.raises(DelegationTokenOwnerMismatch):
        store.renew(CAROL, hmac, 5)
    with pytest.raises(DelegationTokenNotFound):
        store.renew(ALICE, hmac[:-1] + bytes([hmac[-1] ^ 1]), 5)


def test_a_token_is_seen_by_those_it_concerns_and_by_who_may_describe_it() -> None:
    token = RULES.new_token(ALICE, CAROL, [BOB], -1, 0)

    def sees(principal: str, wanted: set[str] | None, *, token_id: bool = False, owner: bool = False) -> bool:
        return may_describe(
            token,
            principal,
            wanted,
            may_describe_token=lambda asked: token_id and asked == token.token_id,
            may_describe_tokens_of=lambda asked: owner and asked == ALICE,
        )

    assert all(sees(who, None) for who in (ALICE, BOB, CAROL))
    assert not sees("User:eve", None)
    assert sees("User:eve", None, token_id=True) and sees("User:eve", {ALICE}, owner=True)
    assert not sees(ALICE, {"User:dave"}) and sees(ALICE, {BOB})


def test_no_repr_shows_the_secret(store: TokenStore) -> None:
    assert "secret-8" not in repr(RULES) and "secret-8" not in repr(store)


def test_an_expired_token_is_removed_at_a_wish_and_by_the_sweep(
    store: TokenStore, server: ModelZooKeeper, clock: SimClock
) -> None:
    first, hmac = store.create(ALICE, ALICE, (), -1)
    second, _ = store.create(ALICE, ALICE, (), -1)
    clock.advance(100_001)
    third, _ = store.create(ALICE, ALICE, (), -1)
    with pytest.raises(DelegationTokenExpired):
        store.expire(ALICE, hmac, 5)
    store.expire(ALICE, hmac, -1)
    assert {token.token_id for token in store.all()} == {second.token_id, third.token_id}
    store.sweep()
    assert server.client().children(DelegationTokenZNode.PARENT) == [third.token_id]
    assert store.scram_login("SCRAM-SHA-256", first.token_id) is None


def test_a_renewal_never_brings_back_what_was_just_removed(clock: SimClock) -> None:
    for seed in range(20):
        turns = random.Random(seed)
        server = ModelZooKeeper(lambda turns=turns: gevent.sleep(0) if turns.random() < 0.7 else None)
        store = store_of(server.with_kafka_paths(), clock)
        token, hmac = store.create(ALICE, ALICE, (), -1)

        def renew(store: TokenStore = store, hmac: bytes = hmac) -> None:
            with contextlib.suppress(DelegationTokenNotFound):
                store.renew(ALICE, hmac, 5)

        gevent.joinall([gevent.spawn(store.expire, ALICE, hmac, -1), gevent.spawn(renew)], raise_error=True)
        store.stop()
        assert DelegationTokenZNode.path(token.token_id) not in server.nodes, seed
        assert store.all() == [], seed


def settle() -> None:
    for _ in range(100):
        gevent.sleep(0)


def known(store: TokenStore) -> set[str]:
    return {token.token_id for token in store.all()}


def test_a_renewal_on_another_broker_never_brings_back_what_was_removed(
    store: TokenStore, server: ModelZooKeeper, clock: SimClock
) -> None:
    """Not even before its notice has come there. Kafka writes such a token again."""
    token, hmac = store.create(ALICE, ALICE, (), -1)
    there = store_of(server, clock)
    store.expire(ALICE, hmac, -1)
    assert known(there) == {token.token_id}, "it has not heard of it"
    with pytest.raises(DelegationTokenNotFound):
        there.renew(ALICE, hmac, -1)
    assert DelegationTokenZNode.path(token.token_id) not in server.nodes
    assert known(there) == set()
    there.stop()


def test_the_sweep_spares_what_another_broker_has_renewed(
    store: TokenStore, server: ModelZooKeeper, clock: SimClock
) -> None:
    """Nor before the notice has come: a broker becomes controller, and sweeps, before it has read all tokens again."""
    token, hmac = store.create(ALICE, ALICE, (), -1)
    there = store_of(server, clock)
    clock.advance(90_000)
    there.renew(ALICE, hmac, -1)
    clock.advance(10_001)
    store.sweep()
    settle()
    assert known(store) == known(there) == {token.token_id}
    there.stop()


def test_the_sweep_leaves_what_is_renewed_under_its_eyes(
    store: TokenStore, server: ModelZooKeeper, clock: SimClock
) -> None:
    token, _ = store.create(ALICE, ALICE, (), -1)
    path = DelegationTokenZNode.path(token.token_id)
    renewed = DelegationTokenZNode.encode(RULES.renewed(token, -1, 90_000))
    clock.advance(100_001)

    def renew_first(batch: Sequence[Operation]) -> None:
        server.cut = lambda batch: None
        server.client().set(path, renewed)

    server.cut = renew_first
    store.sweep()
    assert path in server.nodes


def test_whatever_ends_between_a_change_and_its_notice_no_broker_misses_it(
    store: TokenStore, server: ModelZooKeeper, clock: SimClock
) -> None:
    """A token that was removed must not log anybody in where its removal was not announced."""
    token, hmac = store.create(ALICE, ALICE, (), -1)
    there = store_of(server, clock)

    def end_after_the_removal(batch: Sequence[Operation]) -> None:
        if DelegationTokenZNode.path(token.token_id) not in server.nodes:
            raise SessionExpired

    server.cut = end_after_the_removal
    store.expire(ALICE, hmac, -1)
    settle()
    assert known(there) == set()
    there.stop()


def test_what_changes_while_all_tokens_are_read_counts(
    store: TokenStore, server: ModelZooKeeper, clock: SimClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new session reads all of them while notices still come in."""
    there = store_of(server, clock)
    first, hmac = there.create(ALICE, ALICE, (), -1)
    settle()
    client = store._zk
    get_many = client.get_many

    def read_slowly(paths: Iterable[str]) -> list[NodeData | ZkError]:
        monkeypatch.setattr(client, "get_many", get_many)
        found = get_many(paths)
        there.expire(ALICE, hmac, -1)
        there.create(ALICE, ALICE, (), -1)
        settle()
        return found

    monkeypatch.setattr(client, "get_many", read_slowly)
    store.load()
    settle()
    assert known(store) == known(there) != {first.token_id}
    there.stop()


def test_a_request_for_many_owners_costs_no_more_than_one(store: TokenStore) -> None:
    """Anybody who has logged in may send one: each token must not be compared with each of them."""
    token = RULES.new_token(ALICE, ALICE, [BOB], -1, 0)
    compared: list[object] = []

    class Owner(str):
        def __eq__(self, other: object) -> bool:
            compared.append(other)
            return str(self) == other

        __hash__ = str.__hash__

    owners = {Owner(f"User:{number}") for number in range(1_000)}
    compared.clear()
    no = {"may_describe_token": lambda _: False, "may_describe_tokens_of": lambda _: False}
    assert not may_describe(token, CAROL, owners, **no)
    assert len(compared) < 10


def test_what_others_changed_while_there_was_no_session_is_read_again(
    store: TokenStore, server: ModelZooKeeper, clock: SimClock
) -> None:
    """(security 12.32) Notices may be gone by then."""
    kept, hmac = store.create(ALICE, ALICE, (), -1)
    gone, _ = store.create(ALICE, ALICE, (), -1)
    other = server.client()
    other.delete(DelegationTokenZNode.path(gone.token_id))
    new = RULES.new_token(BOB, BOB, (), -1, 0)
    other.create(DelegationTokenZNode.path(new.token_id), DelegationTokenZNode.encode(new))
    store.load()
    assert {token.token_id for token in store.all()} == {kept.token_id, new.token_id}
    assert store.renew(ALICE, hmac, 7) == clock.wall_ms() + 7


def test_garbage_in_a_znode_keeps_the_last_good_token(store: TokenStore, server: ModelZooKeeper) -> None:
    token, _ = store.create(ALICE, ALICE, (), -1)
    server.client().set(DelegationTokenZNode.path(token.token_id), b"{")
    store.load()
    assert store.scram_login("SCRAM-SHA-256", token.token_id) is not None


def test_a_token_that_may_not_be_read_stops_neither_a_start_nor_a_new_session(
    store: TokenStore, server: ModelZooKeeper, clock: SimClock
) -> None:
    """It belongs to another identity in ZooKeeper. Kafka logs it, and goes on."""
    mine, _ = store.create(ALICE, ALICE, (), -1)
    foreign, _ = store.create(ALICE, ALICE, (), -1)
    server.hidden.add(DelegationTokenZNode.path(foreign.token_id))
    late = store_of(server, clock)
    assert known(late) == {mine.token_id}
    store.load()
    assert known(store) == {mine.token_id, foreign.token_id}, "the last known one stays"
    late.stop()


def test_a_login_has_the_owner_and_the_end_of_the_token(store: TokenStore) -> None:
    token, hmac = store.create(ALICE, BOB, (), -1)
    login = store.scram_login("SCRAM-SHA-512", token.token_id)
    assert login is not None and (login.owner, login.expires_ms) == ("alice", token.expiry_timestamp)
    store.expire(ALICE, hmac, 9)
    again = store.scram_login("SCRAM-SHA-512", token.token_id)
    assert again is not None and again.credential is login.credential and again.expires_ms < login.expires_ms
