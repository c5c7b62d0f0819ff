"""The controller's metrics, under Kafka's names.

Role        Registers gauges and timers; reads the context only during a scrape.
Source      KafkaController (newGauge calls), ControllerStats, ControllerEventManager, ControllerChannelManager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kafka_zk.controller.decisions.context import ControllerContext, PartitionState, ReplicaState
from kafka_zk.controller.decisions.rebalance import preferred_imbalance_count
from kafka_zk.controller.events import ControllerState
from kafka_zk.metrics.registry import MetricsRegistry, Row

if TYPE_CHECKING:
    from kafka_zk.controller.active_controller import ActiveController

ZK_MIGRATION_STATE_ZK = 4

_CHANNELS = "kafka.controller:type=ControllerChannelManager"
_REQUEST_TIME = f"{_CHANNELS},name=RequestRateAndQueueTimeMs"


def _offline_partitions(context: ControllerContext) -> int:
    return sum(
        1
        for topic_partition, state in context.partition_states.items()
        if state in (PartitionState.OFFLINE, PartitionState.NEW)
        and topic_partition.topic not in context.topics_to_delete
    )


def _replicas_to_delete(context: ControllerContext) -> int:
    gone = (ReplicaState.DELETION_SUCCESSFUL, ReplicaState.NON_EXISTENT)
    return sum(
        1
        for topic in context.topics_to_delete
        for replica in context.replicas_of_topic(topic)
        if context.replica_states.get(replica) not in gone
    )


def _replicas_ineligible(context: ControllerContext) -> int:
    return sum(
        len(context.replicas_in_state(topic, ReplicaState.DELETION_INELIGIBLE)) for topic in context.topics_to_delete
    )


_OF_CONTEXT: dict[str, Callable[[ControllerContext], int]] = {
    "OfflinePartitionsCount": _offline_partitions,
    "PreferredReplicaImbalanceCount": preferred_imbalance_count,
    "GlobalTopicCount": lambda context: len(context.assignments),
    "GlobalPartitionCount": lambda context: sum(map(len, context.assignments.values())),
    "TopicsToDeleteCount": lambda context: len(context.topics_to_delete),
    "ReplicasToDeleteCount": _replicas_to_delete,
    "TopicsIneligibleToDeleteCount": lambda context: len(context.topics_ineligible_for_deletion),
    "ReplicasIneligibleToDeleteCount": _replicas_ineligible,
    "ActiveBrokerCount": lambda context: len(context.brokers),
}


class Shown(Protocol):
    """A KafkaController, as far as metrics show it."""

    state: ControllerState

    @property
    def active_controller(self) -> ActiveController | None: ...
    @property
    def is_active(self) -> bool: ...
    @property
    def queue_size(self) -> int: ...


class ControllerMetrics:
    """All metrics of one controller; meaningful on the active one, zero elsewhere."""

    def __init__(self, metrics: MetricsRegistry, controller: Shown) -> None:
        self._metrics = metrics
        self._controller = controller
        prefix = "kafka.controller:type=KafkaController,name="
        metrics.gauge(prefix + "ActiveControllerCount", lambda: int(controller.is_active))
        metrics.gauge(prefix + "ControllerState", lambda: controller.state.gauge_value)
        metrics.gauge(prefix + "FencedBrokerCount", lambda: 0)
        metrics.gauge(prefix + "ZkMigrationState", lambda: ZK_MIGRATION_STATE_ZK)
        for name, count in _OF_CONTEXT.items():
            metrics.gauge(prefix + name, self._of_context(count))
        stats = "kafka.controller:type=ControllerStats,name="
        self._timers = {
            state: metrics.timer(f"{stats}{state.timer_name}RateAndTimeMs").update
            for state in ControllerState
            if state.timer_name is not None
        }
        self._unclean = metrics.meter(f"{stats}UncleanLeaderElectionsPerSec", event_type="elections").mark
        queue = "kafka.controller:type=ControllerEventManager,name="
        metrics.gauge(queue + "EventQueueSize", lambda: controller.queue_size)
        self._queue_time = metrics.histogram(queue + "EventQueueTimeMs").update
        metrics.gauge(f"{_CHANNELS},name=TotalQueueSize", lambda: sum(self._queue_sizes().values()))
        metrics.gauge_table(
            _CHANNELS, ("QueueSize",), self._queue_size_rows, row_count=lambda: len(self._queue_sizes())
        )

    def on_unclean_election(self) -> None:
        self._unclean(1)

    def on_taken(self, waited_ms: int) -> None:
        self._queue_time(waited_ms)

    def on_processed(self, state: ControllerState, took_ms: int) -> None:
        timer = self._timers.get(state)
        if timer is not None:
            timer(took_ms)

    def on_request_taken(self, broker_id: int, waited_ms: int) -> None:
        self._metrics.timer(_REQUEST_TIME, **{"broker-id": broker_id}).update(waited_ms)

    def on_channel_removed(self, broker_id: int) -> None:
        self._metrics.remove(_REQUEST_TIME, **{"broker-id": broker_id})

    def _queue_sizes(self) -> dict[int, int]:
        active_controller = self._controller.active_controller
        return {} if active_controller is None else active_controller.channels.queue_sizes

    def _queue_size_rows(self) -> list[Row]:
        return [((("broker-id", str(broker_id)),), (size,)) for broker_id, size in self._queue_sizes().items()]

    def _of_context(self, count: Callable[[ControllerContext], int]) -> Callable[[], int]:
        def value() -> int:
            active_controller = self._controller.active_controller
            return 0 if active_controller is None else count(active_controller.context)

        return value
