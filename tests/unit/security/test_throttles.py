"""Throttle times are those of Apache's quota managers, over random rounds of use and pauses.

tests/golden/quotas/throttles.txt was printed by tests/interop/java/Throttles.java, which drives Kafka 3.9.1's own
ClientQuotaManager, ClientRequestQuotaManager and ControllerMutationQuotaManager with a clock of its own. A line: the
manager, its quota, then for each step the pause before it, what was used, and the throttle time; `+` where it was kept.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_zk.clock import SimClock
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.protocol.errors import ThrottlingQuotaExceeded
from kafka_zk.security.quotas.limits import CLIENTS
from kafka_zk.security.quotas.manager import QuotaManagers
from kafka_zk.security.quotas.overrides import CLIENT_KEYS, QuotaKind

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "quotas" / "throttles.txt"
RATES = {"Produce": QuotaKind.PRODUCE, "Request": QuotaKind.REQUEST}


def lines(*kinds: str) -> list[list[str]]:
    found = [line.split() for line in GOLDEN.read_text().splitlines()]
    return [line for line in found if line[0] in kinds]


def managers_with(kind: QuotaKind, bound: str, clock: SimClock) -> QuotaManagers:
    managers = QuotaManagers(clock, MetricsRegistry(clock))
    number = bound if kind in (QuotaKind.REQUEST, QuotaKind.CONTROLLER_MUTATION) else bound.removesuffix(".0")
    managers.update(((CLIENTS, "c"),), {CLIENT_KEYS[kind].name: number})
    return managers


@pytest.mark.parametrize("line", lines("Produce", "Request"), ids=lambda line: line[0])
def test_a_rate_over_its_quota_waits_as_long_as_with_kafka(line: list[str]) -> None:
    clock = SimClock(monotonic_ms=1_000_000)
    kind = RATES[line[0]]
    managers = managers_with(kind, line[1], clock)
    for number, step in enumerate(line[2:]):
        pause_ms, used, throttle_ms = step.removesuffix("+").split(",")
        clock.advance(int(pause_ms))
        assert managers.record(kind, "ANONYMOUS", "c", float(used)) == int(throttle_ms), f"step {number}"
        if step.endswith("+"):
            clock.advance(int(throttle_ms))


@pytest.mark.parametrize("line", lines("Strict", "Permissive"), ids=lambda line: line[0])
def test_an_overdrawn_bucket_refuses_or_waits_as_with_kafka(line: list[str]) -> None:
    clock = SimClock(monotonic_ms=1_000_000)
    managers = managers_with(QuotaKind.CONTROLLER_MUTATION, line[1], clock)
    for number, step in enumerate(line[2:]):
        pause_ms, count, outcome, left_ms = step.split(",")
        clock.advance(int(pause_ms))
        quota = managers.mutations("ANONYMOUS", "c", strict=line[0] == "Strict")
        refused_ms = None
        try:
            quota.record(int(count))
        except ThrottlingQuotaExceeded:
            refused_ms = quota.throttle_ms()
        assert refused_ms == (None if outcome == "ok" else int(outcome.removeprefix("no"))), f"step {number}"
        clock.advance(100)
        assert quota.throttle_ms() == int(left_ms), f"step {number}"
