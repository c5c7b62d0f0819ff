"""Rules in ZooKeeper: they are changed by several brokers, and read by all."""

from __future__ import annotations

import itertools
import logging
import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import gevent
import pytest

from kafka_zk.clock import SimClock
from kafka_zk.protocol.acl import Operation, PatternType, Permission, ResourceType
from kafka_zk.security.acl import store as store_module
from kafka_zk.security.acl.cache import AclCache
from kafka_zk.security.acl.changes import AclChanges
from kafka_zk.security.acl.filters import EVERYTHING, AclFilter, EntryFilter, PatternFilter
from kafka_zk.security.acl.following import AclFollower
from kafka_zk.security.acl.rules import Acl, AclBinding, ResourcePattern
from kafka_zk.security.acl.store import AclStore
from kafka_zk.zk.errors import NoAuth, SessionExpired
from kafka_zk.zk.znodes.access import ResourceZNode
from tests.simulation.model_zookeeper import Cut, ModelZooKeeper

TOPIC = ResourceType.TOPIC
FLIGHTS = ResourcePattern(TOPIC, "flights", PatternType.LITERAL)
PATH = "/kafka-acl/Topic/flights"


class Broker(NamedTuple):
    zk: Any
    cache: AclCache
    changes: AclChanges
    follower: AclFollower

    def rules(self, pattern: ResourcePattern = FLIGHTS) -> frozenset[Acl]:
        found = self.cache.get(pattern)
        return found.acls if found else frozenset()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> ModelZooKeeper:
    monkeypatch.setattr(store_module, "RETRY_BACKOFF_MS", 1)
    monkeypatch.setattr(store_module, "RETRY_JITTER_MS", 5)
    return ModelZooKeeper().with_kafka_paths()


@pytest.fixture
def brokers(server: ModelZooKeeper) -> Iterator[list[Broker]]:
    made = [started(server) for _ in range(2)]
    yield made
    for each in made:
        each.follower.stop()
        each.zk.close()


def started(server: ModelZooKeeper) -> Broker:
    zk: Any = server.client()
    cache = AclCache()
    store = AclStore(zk, cache, random.Random(1))
    follower = AclFollower(zk, store, SimClock(wall_ms=0))
    follower.start()
    return Broker(zk, cache, AclChanges(cache, store), follower)


def reads(who: str) -> Acl:
    return Acl(f"User:{who}", "*", Operation.READ, Permission.ALLOW)


def bound(*who: str, pattern: ResourcePattern = FLIGHTS) -> list[AclBinding]:
    return [AclBinding(pattern, reads(each)) for each in who]


def filter_of(who: str | None, name: str | None = "flights", pattern: PatternType = PatternType.LITERAL) -> AclFilter:
    principal = None if who is None else f"User:{who}"
    return AclFilter(PatternFilter(TOPIC, name, pattern), EntryFilter(principal, None, Operation.ANY, Permission.ANY))


def settle() -> None:
    for _ in range(50):
        gevent.sleep(0)


def stored(zk: Any) -> set[str]:
    return {entry.principal for entry in ResourceZNode.decode(*zk.get(PATH))}


def test_what_one_broker_adds_the_other_learns(brokers: list[Broker]) -> None:
    here, there = brokers
    assert here.changes.create(bound("bob")) == [None]
    assert here.rules() == {reads("bob")}
    settle()
    assert there.rules() == {reads("bob")}


def test_prefixed_rules_have_their_own_place_and_their_own_notices(brokers: list[Broker]) -> None:
    here, there = brokers
    prefixed = ResourcePattern(TOPIC, "fl", PatternType.PREFIXED)
    here.changes.create(bound("bob", pattern=prefixed))
    assert here.zk.get("/kafka-acl-extended/prefixed/Topic/fl")[0]
    settle()
    assert there.rules(prefixed) == {reads("bob")}


def test_a_removal_takes_what_matched_and_no_more(brokers: list[Broker]) -> None:
    """CVE-2024-27309."""
    here, _ = brokers
    here.changes.create(bound("a", "b", "c"))
    ((removed,),) = here.changes.delete([filter_of("b")])
    assert (removed.binding, removed.error) == (AclBinding(FLIGHTS, reads("b")), None)
    assert here.rules() == {reads("a"), reads("c")}
    assert stored(here.zk) == {"User:a", "User:c"}


def test_the_last_rule_takes_the_znode_with_it(brokers: list[Broker]) -> None:
    here, there = brokers
    here.changes.create(bound("bob"))
    here.changes.delete([filter_of(None)])
    assert here.zk.exists(PATH) is None
    settle()
    assert len(here.cache) == len(there.cache) == 0


def test_a_rule_is_reported_under_the_first_filter_that_took_it(brokers: list[Broker]) -> None:
    here, _ = brokers
    here.changes.create(bound("a", "b"))
    first, second = here.changes.delete([filter_of("a"), filter_of(None)])
    assert [[removal.binding.acl for removal in found] for found in (first, second)] == [[reads("a")], [reads("b")]]


def test_a_removal_looks_where_this_broker_knows_of_no_rules_yet(brokers: list[Broker]) -> None:
    """KAFKA-9386."""
    here, there = brokers
    there.follower.stop()
    here.changes.create(bound("bob"))
    assert there.rules() == frozenset()
    ((removed,),) = there.changes.delete([filter_of(None)])
    assert removed.binding == AclBinding(FLIGHTS, reads("bob"))
    assert here.zk.exists(PATH) is None


@pytest.mark.parametrize("removes", [False, True], ids=["additions", "removals"])
def test_a_permission_that_another_broker_takes_away_does_not_wait_for_thousands_of_changes(
    server: ModelZooKeeper, brokers: list[Broker], removes: bool
) -> None:
    here, there = brokers
    server.switch = lambda: gevent.sleep(0)
    many = [ResourcePattern(TOPIC, f"t{number}", PatternType.LITERAL) for number in range(200)]
    bindings = [AclBinding(pattern, reads("eve")) for pattern in many]
    here.changes.create([*bound("bob"), *(bindings if removes else [])])
    with gevent.Timeout(20):
        while not there.rules() or (removes and not there.rules(many[-1])):
            gevent.sleep(0.001)
    if removes:
        changing = gevent.spawn(here.changes.delete, [filter_of("eve", pattern.name) for pattern in many])
    else:
        changing = gevent.spawn(here.changes.create, bindings)
    there.changes.delete([filter_of("bob")])
    while here.rules() and not changing.ready():
        gevent.sleep(0)
    assert not changing.ready()
    changing.get()


def test_removing_from_nowhere_removes_nothing(brokers: list[Broker]) -> None:
    assert brokers[0].changes.delete([filter_of(None, "nowhere"), filter_of(None, "a/b")]) == [[], []]


def test_adding_what_is_there_raises_its_version_and_tells_nobody(brokers: list[Broker]) -> None:
    here, _ = brokers
    here.changes.create(bound("bob"))
    before = here.zk.children("/kafka-acl-changes")
    here.changes.create(bound("bob"))
    assert here.zk.exists(PATH).version == 1
    assert here.zk.children("/kafka-acl-changes") == before


def test_of_changes_on_two_brokers_at_once_none_is_lost(brokers: list[Broker]) -> None:
    """KAFKA-3328, KAFKA-7255: 50 additions, then removals of every other one."""
    who = [f"u{number}" for number in range(50)]
    done = [gevent.spawn(broker.changes.create, bound(each)) for broker, each in zip(itertools.cycle(brokers), who)]
    gevent.joinall(done, raise_error=True)
    settle()
    assert stored(brokers[0].zk) == {f"User:{each}" for each in who}
    removed = [
        gevent.spawn(broker.changes.delete, [filter_of(each)])
        for broker, each in zip(itertools.cycle(brokers), who[::2])
    ]
    gevent.joinall(removed, raise_error=True)
    settle()
    assert stored(brokers[0].zk) == {f"User:{each}" for each in who[1::2]}
    assert brokers[0].rules() == brokers[1].rules() == {reads(each) for each in who[1::2]}


def test_after_eleven_attempts_that_others_came_before_a_change_is_given_up(
    brokers: list[Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = brokers
    here.changes.create(bound("bob"))
    attempts = []
    multi = here.zk.multi

    def write_after_another(operations: Sequence[Any]) -> Any:
        attempts.append(operations)
        there.zk.set(PATH, there.zk.get(PATH)[0])
        return multi(operations)

    monkeypatch.setattr(here.zk, "multi", write_after_another)
    (error,) = here.changes.create(bound("eve"))
    assert str(error) == f"Failed to update ACLs for {FLIGHTS} after trying a maximum of 10 times"
    assert len(attempts) == 11 and stored(here.zk) == {"User:bob"}


@pytest.mark.parametrize("garbage", [b"", b"{", b'{"version":2,"acls":[]}', b"\xff\xfe", b'{"version":1,"acls":[1]}'])
def test_garbage_leaves_the_last_good_rules(brokers: list[Broker], garbage: bytes) -> None:
    """(security 12.33) Kafka takes it for "no rules"."""
    here, there = brokers
    here.changes.create(bound("bob"))
    settle()
    there.zk.set(PATH, garbage)
    there.zk.create("/kafka-acl-changes/acl_changes_", b"TOPIC:flights", sequential=True)
    settle()
    assert here.rules() == there.rules() == {reads("bob")}
    here.changes.create(bound("eve"))
    assert stored(here.zk) == {"User:bob", "User:eve"}


def test_garbage_from_the_start_opens_nothing(server: ModelZooKeeper, brokers: list[Broker]) -> None:
    brokers[0].zk.create(PATH, b"{")
    late = started(server)
    assert late.cache.applying(TOPIC, "flights") == [frozenset()], "rules, of which none matches"
    late.follower.stop()


def test_a_removal_that_does_not_find_a_rule_leaves_what_it_cannot_read(
    server: ModelZooKeeper, brokers: list[Broker]
) -> None:
    """Somebody removes all rules of one user: a resource whose rules nobody can read must not become free for all."""
    brokers[0].zk.create(PATH, b"{")
    late = started(server)
    everywhere = AclFilter(PatternFilter(TOPIC, None, PatternType.ANY), filter_of("bob").entry)
    assert late.changes.delete([everywhere, filter_of("bob")]) == [[], []]
    assert late.cache.applying(TOPIC, "flights") == [frozenset()]
    assert late.zk.get(PATH)[0] == b"{"
    assert late.changes.create(bound("eve")) == [None]
    assert stored(late.zk) == {"User:eve"}, "who adds rules replaces it"
    late.follower.stop()


def test_whatever_ends_between_a_removal_and_its_notice_no_broker_misses_it(
    server: ModelZooKeeper, brokers: list[Broker]
) -> None:
    here, there = brokers
    here.changes.create(bound("bob", "eve"))
    settle()

    def end_after_the_removal(batch: Sequence[Any]) -> None:
        if b"User:bob" not in (server.nodes[PATH].data or b""):
            raise SessionExpired

    server.cut = end_after_the_removal
    here.changes.delete([filter_of("bob")])
    settle()
    assert there.rules() == {reads("eve")}


@pytest.mark.parametrize("cut", list(Cut))
def test_a_removal_whose_answer_is_lost_is_told_to_the_others(
    server: ModelZooKeeper, brokers: list[Broker], cut: Cut
) -> None:
    here, there = brokers
    here.changes.create(bound("bob", "eve"))
    settle()
    cuts = iter([cut])
    server.cut = lambda batch: next(cuts, None)
    ((removed,),) = here.changes.delete([filter_of("bob")])
    assert removed.error is None
    settle()
    assert here.rules() == there.rules() == {reads("eve")}
    cuts = iter([cut])
    here.changes.delete([filter_of(None)])
    settle()
    assert len(here.cache) == len(there.cache) == 0


def test_after_a_lost_session_everything_is_read_again(brokers: list[Broker]) -> None:
    """(security 12.32) Also what was announced and purged meanwhile."""
    here, there = brokers
    here.changes.create(bound("gone"))
    settle()
    there.follower.stop()
    here.changes.delete([filter_of(None)])
    here.changes.create(bound("bob", pattern=ResourcePattern(TOPIC, "other", PatternType.LITERAL)))
    there.zk.expire()
    settle()
    assert dict(there.cache) == dict(here.cache)


def test_rules_that_may_not_be_read_any_more_keep_no_others_from_being_read_again(
    server: ModelZooKeeper, brokers: list[Broker]
) -> None:
    """A znode whose access list somebody has changed: it keeps its last known rules. A start fails, and says why."""
    here, there = brokers
    other = ResourcePattern(TOPIC, "other", PatternType.LITERAL)
    here.changes.create([*bound("bob"), *bound("eve", pattern=other)])
    settle()
    there.follower.stop()
    here.changes.delete([filter_of(None, "other")])
    server.hidden.add(PATH)
    there.zk.expire()
    assert (there.rules(), there.rules(other)) == ({reads("bob")}, frozenset())
    with pytest.raises(NoAuth):
        started(server)


def test_rules_of_one_resource_share_one_fate(brokers: list[Broker]) -> None:
    nobody = AclBinding(FLIGHTS, Acl("bob", "*", Operation.READ, Permission.ALLOW))
    other = bound("eve", pattern=ResourcePattern(TOPIC, "other", PatternType.LITERAL))
    slash = bound("eve", pattern=ResourcePattern(TOPIC, "a/b", PatternType.LITERAL))
    errors = brokers[0].changes.create([*bound("eve"), nobody, *other, *slash])
    assert [None if error is None else (int(error.code), str(error)) for error in errors] == [
        (-1, "expected a string in format principalType:principalName but got bob"),
        (-1, "expected a string in format principalType:principalName but got bob"),
        None,
        (42, "Failed to create ACL"),
    ]


@pytest.mark.parametrize("name", ["..", ".", "\x01", "\ud83d"])
def test_a_name_that_no_znode_can_have_fails_alone(brokers: list[Broker], name: str) -> None:
    nowhere = ResourcePattern(TOPIC, name, PatternType.LITERAL)
    bad, good = brokers[0].changes.create([*bound("bob", pattern=nowhere), *bound("eve")])
    assert bad is not None and bad.code == -1
    assert good is None and brokers[0].rules() == {reads("eve")}
    assert brokers[0].changes.delete([filter_of(None, name)]) == [[]]


def test_what_a_broker_lists_is_what_it_knows(brokers: list[Broker]) -> None:
    here, _ = brokers
    here.changes.create(bound("a", "b"))
    assert list(here.changes.matching(EVERYTHING)) == bound("a", "b")
    assert list(here.changes.matching(filter_of("b"))) == bound("b")


def test_words_are_read_in_any_case_and_unknown_ones_kept_harmless(
    server: ModelZooKeeper, brokers: list[Broker], caplog: pytest.LogCaptureFixture
) -> None:
    zk = brokers[0].zk
    zk.create(
        PATH,
        b'{"version":1,"acls":[{"principal":"User:a","permissionType":"ALLOW","operation":"clusteraction","host":"*"},'
        b'{"principal":"User:b","permissionType":"Allow","operation":"Fly","host":"*"}]}',
    )
    zk.create("/kafka-acl/Airport")
    with caplog.at_level(logging.WARNING):
        late = started(server)
    assert late.rules() == {
        Acl("User:a", "*", Operation.CLUSTER_ACTION, Permission.ALLOW),
        Acl("User:b", "*", Operation.UNKNOWN, Permission.ALLOW),
    }
    assert "Ignoring unknown ResourceType: Airport" in caplog.text
    late.follower.stop()
