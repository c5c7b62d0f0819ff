"""What is counted, what is shown of it, and when it is forgotten."""

from __future__ import annotations

import math
import weakref

import pytest

from kafka_zk.clock import SimClock
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.protocol.errors import InvalidConfig
from kafka_zk.security.quotas.manager import QuotaManagers
from kafka_zk.security.quotas.overrides import QuotaKind
from kafka_zk.security.quotas.usage import FORGET_AFTER_MS, SWEEP_INTERVAL_MS

DEFAULT_CLIENT = (("clients", None),)
ALICE = (("users", "alice"),)


class Managers:
    """Quota managers, a clock and a registry of their own."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.metrics = MetricsRegistry(self.clock)
        self.managers = QuotaManagers(self.clock, self.metrics)

    def produce(self, client_id: str, size_bytes: int, user: str = "alice") -> int:
        return self.managers.record(QuotaKind.PRODUCE, user, client_id, size_bytes)

    def shown(self, kind: str, **tags: str) -> dict[str, object]:
        metric = self.metrics.find(f"kafka.server:type={kind}", **{k.replace("_", "-"): v for k, v in tags.items()})
        return {} if metric is None else dict(metric.attributes())


@pytest.fixture
def given() -> Managers:
    return Managers()


def test_clients_of_a_default_quota_have_it_each_for_itself(given: Managers) -> None:
    given.managers.update(DEFAULT_CLIENT, {"producer_byte_rate": "100"})
    assert given.produce("greedy", 2000) == 10_000
    assert given.produce("modest", 900) == 0


def test_clients_of_a_users_quota_share_it(given: Managers) -> None:
    given.managers.update(ALICE, {"producer_byte_rate": "100"})
    assert given.produce("one", 900) == 0
    assert given.produce("two", 300) == 2_000
    assert given.produce("two", 300, user="bob") == 0


def test_a_new_quota_holds_for_what_was_used_before(given: Managers) -> None:
    given.managers.update(DEFAULT_CLIENT, {"producer_byte_rate": "1000000"})
    assert given.produce("c", 5000) == 0
    given.managers.update(DEFAULT_CLIENT, {"producer_byte_rate": "100"})
    assert given.produce("c", 0) == 40_000
    given.managers.update(DEFAULT_CLIENT, {})
    assert given.produce("c", 5000) == 0


def test_what_is_taken_back_does_not_count(given: Managers) -> None:
    given.managers.update(DEFAULT_CLIENT, {"consumer_byte_rate": "100"})
    assert given.managers.record(QuotaKind.FETCH, "alice", "c", 2000) > 0
    given.managers.take_back(QuotaKind.FETCH, "alice", "c", 2000)
    assert given.managers.record(QuotaKind.FETCH, "alice", "c", 900) == 0


def test_a_fetch_may_be_as_large_as_all_windows_but_one_allow(given: Managers) -> None:
    assert given.managers.most_in_window(QuotaKind.FETCH, "alice", "c") == math.inf
    given.managers.update(DEFAULT_CLIENT, {"consumer_byte_rate": "100"})
    assert given.managers.most_in_window(QuotaKind.FETCH, "alice", "c") == 1000


def test_requests_wait_one_window_at_most(given: Managers) -> None:
    given.managers.update(DEFAULT_CLIENT, {"request_percentage": "0.5"})
    assert given.managers.record(QuotaKind.REQUEST, "alice", "c", 90.0) == 1000


def test_a_value_that_is_no_number_changes_nothing(given: Managers) -> None:
    given.managers.update(DEFAULT_CLIENT, {"producer_byte_rate": "100"})
    with pytest.raises(InvalidConfig, match="producer_byte_rate"):
        given.managers.update(DEFAULT_CLIENT, {"consumer_byte_rate": "5", "producer_byte_rate": "10.5"})
    assert given.produce("c", 2000) == 10_000


def test_nothing_is_configured_once_the_last_quota_is_gone(given: Managers) -> None:
    assert not given.managers.is_configured
    given.managers.update(ALICE, {"SCRAM-SHA-256": "salt=..."})
    assert not given.managers.is_configured
    given.managers.update(ALICE, {"request_percentage": "50"})
    assert given.managers.is_configured
    given.managers.update(ALICE, {})
    assert not given.managers.is_configured


def test_metrics_stand_under_kafkas_names(given: Managers) -> None:
    given.managers.update(ALICE, {"producer_byte_rate": "100"})
    given.managers.throttled(QuotaKind.PRODUCE, "alice", "c", given.produce("c", 2000))
    assert given.shown("Produce", user="alice") == {"byte-rate": 200.0, "throttle-time": 10_000.0}
    assert given.shown("Produce")["queue-size"] == 1
    given.clock.advance(10_000)
    assert given.shown("Produce")["queue-size"] == 0
    assert given.shown("Request").keys() == {"queue-size", "exempt-request-time"}
    given.managers.mutations("alice", "c", strict=True).record(3)
    shown = given.shown("ControllerMutation", user="alice")
    assert shown.keys() == {"mutation-rate", "throttle-time", "tokens"}


def test_users_are_shown_as_in_paths(given: Managers) -> None:
    given.managers.update((("users", "CN=a b"),), {"producer_byte_rate": "100"})
    given.produce("c", 10, user="CN=a b")
    assert given.shown("Produce", user="CN%3Da%20b")


def test_a_client_unused_for_an_hour_is_forgotten(given: Managers) -> None:
    given.managers.update(DEFAULT_CLIENT, {"producer_byte_rate": "100"})
    given.produce("gone", 10)
    given.clock.advance(FORGET_AFTER_MS - 1)
    given.produce("here", 10)
    given.metrics.fold_some()
    assert given.shown("Produce", client_id="gone")
    given.clock.advance(SWEEP_INTERVAL_MS)
    given.metrics.fold_some()
    assert not given.shown("Produce", client_id="gone")
    assert given.shown("Produce", client_id="here")


def test_a_client_is_forgotten_when_nobody_has_a_quota_any_more(given: Managers) -> None:
    given.managers.update(DEFAULT_CLIENT, {"producer_byte_rate": "100"})
    given.produce("gone", 10)
    given.managers.update(DEFAULT_CLIENT, {})
    given.clock.advance(FORGET_AFTER_MS + SWEEP_INTERVAL_MS)
    given.metrics.fold_some()
    assert not given.shown("Produce", client_id="gone")


def test_client_ids_that_share_a_quota_in_use_are_forgotten_as_well(given: Managers) -> None:
    class ClientId(str):
        """A name of which one can tell whether somebody still has it."""

        __slots__ = ("__weakref__",)

    given.managers.update(ALICE, {"producer_byte_rate": "100"})
    once = ClientId("once")
    given.produce(once, 10)
    seen = weakref.ref(once)
    del once
    given.clock.advance(SWEEP_INTERVAL_MS)
    given.produce("always", 10)
    given.metrics.fold_some()
    assert seen() is None


@pytest.mark.parametrize("bound", ["1e-320", "-1e-320", "0", "-5", "NaN", "Infinity"])
def test_no_quota_is_too_odd_to_count_with(given: Managers, bound: str) -> None:
    given.managers.update(DEFAULT_CLIENT, {"request_percentage": bound, "controller_mutation_rate": bound})
    assert 0 <= given.managers.record(QuotaKind.REQUEST, "alice", "c", 90.0) <= 1000
    mutations = given.managers.mutations("alice", "c", strict=False)
    mutations.record(10)
    assert mutations.throttle_ms() >= 0
