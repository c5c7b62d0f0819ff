"""How many groups there are, by state, and how many offsets.

Role        Acts: registers; counts when asked.
Source      The gauges of Kafka 3.9 GroupMetadataManager.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_zk.coordinator.group.decisions.states import GroupState
from kafka_zk.coordinator.group.manager import GroupManager
from kafka_zk.metrics import MetricsRegistry

_PREFIX = "kafka.coordinator.group:type=GroupMetadataManager,name="


def register_gauges(metrics: MetricsRegistry, manager: GroupManager) -> None:
    metrics.gauge(f"{_PREFIX}NumGroups", lambda: len(manager.groups))
    metrics.gauge(
        f"{_PREFIX}NumOffsets", lambda: sum(len(group.offsets.committed) for group in manager.groups.values())
    )
    for state in GroupState:
        metrics.gauge(f"{_PREFIX}NumGroups{state.value}", _count(manager, state))


def _count(manager: GroupManager, state: GroupState) -> Callable[[], int]:
    return lambda: sum(group.state is state for group in manager.groups.values())
