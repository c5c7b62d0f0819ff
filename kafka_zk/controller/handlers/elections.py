"""Requested elections: by API, the old tools' znode, the rebalance timer or a config change.

Role        Acts, in the controller greenlet.
Source      KafkaController.processReplicaLeaderElection, onReplicaElection, checkAndTriggerAutoLeaderRebalance,
            processUncleanLeaderElectionEnable, processTopicUncleanLeaderElectionEnable; KIP-460.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_zk.controller.active_controller import ActiveController
from kafka_zk.controller.decisions.context import PartitionState
from kafka_zk.controller.decisions.election import Strategy
from kafka_zk.controller.decisions.rebalance import partitions_to_rebalance
from kafka_zk.controller.events import AutoPreferredElection, ElectionType, ZkPreferredElection
from kafka_zk.protocol.errors import (
    BrokerError,
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    InvalidTopicException,
    PreferredLeaderNotAvailable,
    UnknownTopicOrPartition,
)
from kafka_zk.protocol.types import TopicPartition

Outcomes = dict[TopicPartition, int | BrokerError]
"""The leader elected, or the error."""

_STRATEGIES = {ElectionType.PREFERRED: Strategy.PREFERRED, ElectionType.UNCLEAN: Strategy.UNCLEAN}


def on_election_request(
    controller: ActiveController, partitions: Iterable[TopicPartition] | None, kind: ElectionType
) -> Outcomes:
    """Blocks. Elect leaders where they are asked for (None: everywhere) and needed."""
    context = controller.context
    wanted = context.all_partitions() if partitions is None else list(dict.fromkeys(partitions))
    results: Outcomes = {}
    electable = []
    for partition in wanted:
        refusal = _refusal(controller, partition, kind)
        if refusal is None:
            electable.append(partition)
        else:
            results[partition] = refusal
    for partition, outcome in elect_leaders(controller, electable, kind).items():
        if isinstance(outcome, BrokerError):
            failed = PreferredLeaderNotAvailable if kind is ElectionType.PREFERRED else EligibleLeadersNotAvailable
            results[partition] = failed(str(outcome))
        else:
            results[partition] = outcome
    return results


def _refusal(controller: ActiveController, partition: TopicPartition, kind: ElectionType) -> BrokerError | None:
    context = controller.context
    replicas = context.assignment(partition).replicas
    if not replicas:
        return UnknownTopicOrPartition("The partition does not exist.")
    if partition.topic in context.topics_to_delete:
        return InvalidTopicException("The topic is being deleted")
    state = context.leadership.get(partition)
    if state is None:
        return None
    if kind is ElectionType.PREFERRED:
        is_settled = state.leader == replicas[0]
    else:
        is_settled = context.is_replica_online(state.leader, partition)
    return ElectionNotNeeded() if is_settled else None


def elect_leaders(controller: ActiveController, partitions: list[TopicPartition], kind: ElectionType) -> Outcomes:
    """Blocks. Run the election whether it is needed or not."""
    if not partitions:
        return {}
    controller.info(f"Starting replica leader election ({kind.name}) for partitions {','.join(map(str, partitions))}")
    return controller.partitions.move(partitions, PartitionState.ONLINE, _STRATEGIES[kind])


def on_preferred_election_znode(controller: ActiveController) -> None:
    """Blocks. /admin/preferred_replica_election was created: elect, then remove it, whatever came of it."""
    listed = controller.store.preferred_elections()
    if listed is None:
        return
    known = [topic_partition for topic_partition in listed if controller.context.assignment(topic_partition).replicas]
    on_election_request(controller, known, ElectionType.PREFERRED)
    with controller.contained("removing /admin/preferred_replica_election"):
        controller.store.remove_preferred_elections()
        # Another one may be created at any time; only a read arms the watch for it.
        controller.put(ZkPreferredElection())


def on_auto_rebalance(controller: ActiveController) -> None:
    """Blocks. Move leadership back to preferred replicas where a broker is over the limit; set the next timer."""
    try:
        limit = controller.settings.leader_imbalance_per_broker_percentage
        for partitions in partitions_to_rebalance(controller.context, max_imbalance_percentage=limit).values():
            elect_leaders(controller, partitions, ElectionType.PREFERRED)
    finally:
        schedule_auto_rebalance(controller, controller.settings.leader_imbalance_check_interval_seconds * 1000)


def schedule_auto_rebalance(controller: ActiveController, delay_ms: int) -> None:
    controller.timers[:] = [
        controller.clock.call_at(
            controller.clock.monotonic_ms() + delay_ms, lambda: controller.put(AutoPreferredElection())
        )
    ]


def on_unclean_election_enabled(controller: ActiveController, topic: str | None) -> None:
    """Blocks. unclean.leader.election.enable became true, for `topic` or (None) as the default: try at once."""
    if topic is None:
        controller.info("Unclean leader election has been enabled by default")
    else:
        controller.info(f"Unclean leader election has been enabled for topic {topic}")
    controller.partitions.bring_online(topic)


def on_unclean_default_changed(controller: ActiveController) -> None:
    """Blocks. Apply a change of the broker's unclean.leader.election.enable."""
    controller.partitions.unclean_by_default = controller.settings.unclean_leader_election_enable
    if controller.partitions.unclean_by_default:
        on_unclean_election_enabled(controller, None)
