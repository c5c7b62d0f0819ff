"""Metrics of groups and committed offsets.

Role        Acts: registers gauges that count on each scrape.
Source      The gauges of Kafka 3.9 GroupMetadataManager; the sensors of group-coordinator-metrics there and in
            GroupCoordinator; the purgatories that its timers replace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from kafka_zk.coordinator.group.decisions.actions import JOIN_TIMER, SYNC_TIMER, TimerKey
from kafka_zk.coordinator.group.decisions.group import Group
from kafka_zk.coordinator.group.decisions.states import GroupState
from kafka_zk.coordinator.group.timers import GroupTimers
from kafka_zk.metrics import MetricsRegistry

_EVENTS = "kafka.server:type=group-coordinator-metrics"
_PURGATORY = "kafka.server:type=DelayedOperationPurgatory,name="
_PREFIX = "kafka.coordinator.group:type=GroupMetadataManager,name="


class GroupMetrics:
    """Totals of events; rates are computed when metrics fold. `loaded(ms)` after each partition's load.

    As in Kafka, counts commits and not their offsets, but each offset that expires; offsets removed with their topic
    are not counted as deleted.
    """

    __slots__ = ("completed_rebalances", "deleted_offsets", "expired_offsets", "loaded", "offset_commits")

    def __init__(self, metrics: MetricsRegistry) -> None:
        self.offset_commits = 0
        self.expired_offsets = 0
        self.deleted_offsets = 0
        self.completed_rebalances = 0
        self.loaded = metrics.spread_of(_EVENTS, average="partition-load-time-avg", maximum="partition-load-time-max")
        totals: dict[str, Callable[[], int]] = {
            "offset-commit": lambda: self.offset_commits,
            "offset-expiration": lambda: self.expired_offsets,
            "offset-deletion": lambda: self.deleted_offsets,
            "group-completed-rebalance": lambda: self.completed_rebalances,
        }
        for stem, total in totals.items():
            metrics.rate_of(_EVENTS, total, rate=f"{stem}-rate", count=f"{stem}-count")


def register_timers(metrics: MetricsRegistry, timers: GroupTimers) -> None:
    """Show what Kafka keeps in purgatories: sessions of members, and rebalances that wait for members."""
    waits: dict[str, Callable[[TimerKey], bool]] = {
        "Heartbeat": lambda key: key not in (JOIN_TIMER, SYNC_TIMER),
        "Rebalance": lambda key: key in (JOIN_TIMER, SYNC_TIMER),
    }
    for name, belongs in waits.items():
        for gauge in ("PurgatorySize", "NumDelayedOperations"):
            metrics.gauge(f"{_PURGATORY}{gauge}", partial(timers.count, belongs), delayedOperation=name)


def register_gauges(metrics: MetricsRegistry, groups: Mapping[str, Group]) -> None:
    """Show `groups`, as they come and go, under Kafka's names."""
    metrics.gauge(f"{_PREFIX}NumGroups", lambda: len(groups))
    metrics.gauge(f"{_PREFIX}NumOffsets", lambda: sum(len(group.offsets.committed) for group in groups.values()))
    for state in GroupState:
        metrics.gauge(f"{_PREFIX}NumGroups{state.value}", _count(groups, state))


def _count(groups: Mapping[str, Group], state: GroupState) -> Callable[[], int]:
    return lambda: sum(group.state is state for group in groups.values())
