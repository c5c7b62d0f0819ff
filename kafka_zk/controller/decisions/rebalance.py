"""Which partitions an automatic rebalance moves back to their preferred leader.

Role        Pure.
Source      KafkaController.checkAndTriggerAutoLeaderRebalance.
"""

from __future__ import annotations

from kafka_zk.controller.decisions.context import ControllerContext
from kafka_zk.controller.decisions.election import preferred_leader
from kafka_zk.protocol.types import TopicPartition


def imbalance_ratio(context: ControllerContext, preferred_here: list[TopicPartition]) -> float:
    """The share of the partitions that prefer one broker but are led by another; 0.0 for an empty list."""
    if not preferred_here:
        return 0.0
    return len(_led_elsewhere(context, preferred_here)) / len(preferred_here)


def partitions_to_rebalance(
    context: ControllerContext, *, max_imbalance_percentage: int
) -> dict[int, list[TopicPartition]]:
    """Per broker over the limit (brokers rising): partitions whose preferred replica may lead at once.

    Nothing while any reassignment runs: it moves leaders itself.
    """
    if context.being_reassigned:
        return {}
    by_preferred: dict[int, list[TopicPartition]] = {}
    for partition in context.all_partitions():
        replicas = context.assignment(partition).replicas
        if replicas and partition.topic not in context.topics_to_delete:
            by_preferred.setdefault(replicas[0], []).append(partition)
    chosen: dict[int, list[TopicPartition]] = {}
    for broker_id, preferred_here in sorted(by_preferred.items()):
        if imbalance_ratio(context, preferred_here) <= max_imbalance_percentage / 100:
            continue
        candidates = [
            topic_partition
            for topic_partition in _led_elsewhere(context, preferred_here)
            if _may_lead(context, topic_partition)
        ]
        if candidates:
            chosen[broker_id] = candidates
    return chosen


def preferred_imbalance_count(context: ControllerContext) -> int:
    """How many partitions are led by another broker than their preferred one (the metric of that name)."""
    return sum(
        1
        for topic_partition, state in context.leadership.items()
        if topic_partition.topic not in context.topics_to_delete
        and state.leader != next(iter(context.assignment(topic_partition).replicas), -1)
    )


def _led_elsewhere(context: ControllerContext, partitions: list[TopicPartition]) -> list[TopicPartition]:
    return [
        topic_partition
        for topic_partition in partitions
        if topic_partition in context.leadership
        and context.leadership[topic_partition].leader != context.assignment(topic_partition).replicas[0]
    ]


def _may_lead(context: ControllerContext, partition: TopicPartition) -> bool:
    replicas = context.assignment(partition).replicas
    online = [r for r in replicas if context.is_replica_online(r, partition)]
    return preferred_leader(replicas, context.leadership[partition].isr, online) is not None
