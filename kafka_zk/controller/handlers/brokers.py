"""Brokers that join, leave, restart or change endpoints, and log directories that fail.

Role        Acts, in the controller greenlet.
Invariants  A broker whose registration has a larger czxid than known is handled as dead first and new after: it has
            forgotten all that it was sent. Brokers get the broker list before they get leaders.
Source      KafkaController.processBrokerChange, onBrokerStartup, onBrokerFailure, onReplicasBecomeOffline; KIP-380.
"""

from __future__ import annotations

from collections.abc import Collection

from kafka_zk.controller.active_controller import ActiveController
from kafka_zk.controller.decisions.context import PartitionReplica, PartitionState, ReplicaState
from kafka_zk.controller.events import (
    BrokerModifications,
    LeaderAndIsrResponseReceived,
    UpdateMetadataResponseReceived,
)
from kafka_zk.controller.handlers import deletion, reassignment
from kafka_zk.controller.state_change_log import StateChangeLog
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.znodes import BrokerIdZNode


def on_broker_change(controller: ActiveController) -> None:
    """Blocks. Compare /brokers/ids with what is known and act on each difference."""
    context = controller.context
    found = controller.store.compatible_brokers()
    new = sorted(found.keys() - context.brokers.keys())
    dead = sorted(context.brokers.keys() - found.keys())
    bounced = sorted(id for id in found.keys() & context.brokers.keys() if found[id].epoch > context.brokers[id].epoch)
    if not (new or dead or bounced):
        return
    controller.info(
        f"Newly added brokers: {_listed(new)}, deleted brokers: {_listed(dead)}, "
        f"bounced brokers: {_listed(bounced)}, all live brokers: {_listed(sorted(found))}"
    )
    for broker_id in (*bounced, *dead):
        controller.channels.remove(broker_id)
    for broker_id in (*new, *bounced):
        controller.channels.add(found[broker_id])
    if new:
        context.brokers.update({id: found[id] for id in new})
        _brokers_started(controller, new)
    if bounced:
        for broker_id in bounced:
            del context.brokers[broker_id]
        _brokers_failed(controller, bounced)
        context.brokers.update({id: found[id] for id in bounced})
        _brokers_started(controller, bounced)
    if dead:
        for broker_id in dead:
            del context.brokers[broker_id]
        _brokers_failed(controller, dead)


def on_broker_modifications(controller: ActiveController, broker_ids: Collection[int]) -> None:
    """Blocks. Broker znodes changed: if endpoints or features differ, send the new broker list to all brokers."""
    known = controller.context.brokers
    changed = {
        id: found
        for id, found in controller.store.brokers(sorted(broker_ids)).items()
        # Another epoch is another life of the broker, which BrokerChange deals with.
        if id in known
        and found.epoch == known[id].epoch
        and (found.endpoints, found.features) != (known[id].endpoints, known[id].features)
    }
    for broker_id, found in changed.items():
        controller.info(f"Updated broker metadata: {known[broker_id]} -> {found}")
        known[broker_id] = found
        controller.channels.move(found)
    if changed:
        controller.outbox.update_metadata(controller.context.live_or_shutting_down_ids())


def watch_brokers(controller: ActiveController, broker_ids: Collection[int]) -> None:
    """Blocks. Watch the znodes of these brokers; only a read arms the watch."""
    for broker_id in sorted(broker_ids):
        controller.watch(BrokerIdZNode.path(broker_id), "data", BrokerModifications(broker_id))
    on_broker_modifications(controller, broker_ids)


def _brokers_started(controller: ActiveController, broker_ids: list[int]) -> None:
    context = controller.context
    controller.info(f"New broker startup callback for {_listed(broker_ids)}")
    for broker_id in broker_ids:
        context.offline_dir_replicas.pop(broker_id, None)
        context.shutting_down.discard(broker_id)
    # First all brokers learn the larger broker list, new ones with all metadata; only then can leadership
    # that names them be understood.
    controller.outbox.update_metadata(id for id in context.live_or_shutting_down_ids() if id not in broker_ids)
    controller.outbox.update_metadata(broker_ids, context.partitions_with_leaders())
    replicas = context.replicas_on(broker_ids)
    controller.replicas.move(replicas, ReplicaState.ONLINE)
    controller.partitions.bring_online()
    reassignment.resume(controller, lambda assignment: not set(assignment.target).isdisjoint(broker_ids))
    waiting = {r.partition.topic for r in replicas if r.partition.topic in context.topics_to_delete}
    if waiting:
        controller.info(
            f"Some replicas for topics scheduled for deletion are on the newly restarted brokers: {sorted(waiting)}"
        )
        deletion.resume_for(controller, waiting)
    watch_brokers(controller, broker_ids)


def _brokers_failed(controller: ActiveController, broker_ids: list[int]) -> None:
    context = controller.context
    controller.info(f"Broker failure callback for {_listed(broker_ids)}")
    for broker_id in broker_ids:
        context.offline_dir_replicas.pop(broker_id, None)
        if broker_id in context.shutting_down:
            context.shutting_down.discard(broker_id)
            controller.info(f"Removed {broker_id} from list of shutting down brokers.")
    replicas_became_offline(controller, context.replicas_on(broker_ids))
    for broker_id in broker_ids:
        controller.unwatch(BrokerIdZNode.path(broker_id), "data")


def replicas_became_offline(controller: ActiveController, replicas: list[PartitionReplica]) -> None:
    """Blocks. Elect new leaders where these replicas led, take them out of the ISRs, halt deletions they hold up."""
    context = controller.context
    in_deletion = [r for r in replicas if r.partition.topic in context.topics_to_delete]
    others = [r for r in replicas if r.partition.topic not in context.topics_to_delete]
    leaderless = context.partitions_with_offline_leader()
    controller.partitions.move(leaderless, PartitionState.OFFLINE)
    controller.partitions.bring_online()
    controller.replicas.move(others, ReplicaState.OFFLINE)
    if in_deletion:
        deletion.replicas_failed(controller, in_deletion)
    if not leaderless:
        # No election has told the brokers that the broker list has changed.
        controller.outbox.update_metadata(context.live_or_shutting_down_ids())


def on_log_dir_events(controller: ActiveController) -> None:
    """Blocks. Ask brokers with a failed log directory again about all their replicas; the answers name the lost."""
    names, broker_ids = controller.store.log_dir_events()
    controller.replicas.move(controller.context.replicas_on(broker_ids), ReplicaState.ONLINE)
    controller.store.remove_log_dir_events(names)


def on_leader_and_isr_response(
    controller: ActiveController, log: StateChangeLog, event: LeaderAndIsrResponseReceived
) -> None:
    """Blocks. Note which replicas the broker cannot serve because their directory is offline."""
    response, context = event.response, controller.context
    if response.error_code != ErrorCode.NONE:
        log.error(
            f"Received error {ErrorCode(response.error_code).name} in LeaderAndIsr response from {event.broker_id}"
        )
        return
    answered: dict[TopicPartition, int] = {}
    for topic in response.topics:
        name = context.topic_names.get(topic.topic_id)
        if name is not None:
            answered.update({TopicPartition(name, p.partition_index): p.error_code for p in topic.partition_errors})
    for part in response.partition_errors:
        answered[TopicPartition(part.topic_name, part.partition_index)] = part.error_code
    before = context.offline_dir_replicas.get(event.broker_id, set())
    healthy = {topic_partition for topic_partition, code in answered.items() if code == ErrorCode.NONE}
    failed = {topic_partition for topic_partition, code in answered.items() if code == ErrorCode.KAFKA_STORAGE_ERROR}
    context.offline_dir_replicas[event.broker_id] = (before - healthy) | failed
    newly_offline = sorted(failed - before)
    if newly_offline:
        controller.info(f"Mark replicas {','.join(map(str, newly_offline))} on broker {event.broker_id} as offline")
        replicas_became_offline(
            controller, [PartitionReplica(topic_partition, event.broker_id) for topic_partition in newly_offline]
        )


def on_update_metadata_response(controller: ActiveController, event: UpdateMetadataResponseReceived) -> None:
    """Log what went wrong; the next change is sent anyway."""
    if event.error_code != ErrorCode.NONE:
        error = ErrorCode(event.error_code).name
        controller.error(f"Received error {error} in UpdateMetadata response from broker {event.broker_id}")


def _listed(ids: Collection[int]) -> str:
    return ",".join(map(str, ids))
