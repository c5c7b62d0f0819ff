"""Partition reassignment, step by step.

Role        Acts, in the controller greenlet, on the decisions of `reassignment`.
Invariants  The topic's znode says what is in progress before any broker is told, and is corrected last: a new
            controller can continue from any point. A topic being reassigned is not deleted meanwhile.
            /admin/reassign_partitions goes only when all it lists is done.
Source      KafkaController.onPartitionReassignment (steps U, A, B), processApiPartitionReassignment,
            processZkPartitionReassignment, processListPartitionReassignments; KIP-455.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kafka_zk.controller.active_controller import ActiveController
from kafka_zk.controller.decisions.assignment import ReplicaAssignment
from kafka_zk.controller.decisions.context import PartitionReplica, PartitionState, ReplicaState
from kafka_zk.controller.decisions.election import Strategy
from kafka_zk.controller.decisions.reassignment import (
    abandoned_replicas,
    is_complete,
    needs_new_leader,
    planned_assignment,
)
from kafka_zk.controller.errors import RESIGNATION_ERRORS
from kafka_zk.controller.events import ZkPartitionReassignment
from kafka_zk.controller.handlers import deletion
from kafka_zk.protocol.errors import BrokerError, UnknownTopicOrPartition
from kafka_zk.protocol.types import TopicPartition

Results = dict[TopicPartition, BrokerError | None]


def on_api_request(controller: ActiveController, targets: Mapping[TopicPartition, Sequence[int] | None]) -> Results:
    """Blocks. Start or cancel reassignments; the answer says which could be started, not which are done."""
    results, planned = _plan(controller, targets)
    # What is asked for last counts, also against the znode of the old tools.
    _forget_in_znode(controller, lambda partition, _: partition in planned)
    return {**results, **_advance_all(controller, planned)}


def on_znode(controller: ActiveController) -> None:
    """Blocks. /admin/reassign_partitions was created: start what it lists, drop from it what cannot be started."""
    wanted = controller.store.reassignments()
    if wanted is None:
        return
    refused, planned = _plan(controller, wanted)
    results = {**refused, **_advance_all(controller, planned)}
    failed = {partition: error for partition, error in results.items() if error is not None}
    if failed:
        listed = ", ".join(f"{partition}: {error}" for partition, error in failed.items())
        controller.warning(f"Failed reassignment through zk with the following errors: {listed}")
        _forget_in_znode(controller, lambda partition, _: partition in failed)


def listing(
    controller: ActiveController, partitions: Sequence[TopicPartition] | None
) -> dict[TopicPartition, ReplicaAssignment]:
    """The ongoing reassignments of `partitions` (None: all)."""
    wanted = sorted(controller.context.being_reassigned) if partitions is None else partitions
    found = {topic_partition: controller.context.assignment(topic_partition) for topic_partition in wanted}
    return {
        topic_partition: assignment for topic_partition, assignment in found.items() if assignment.is_being_reassigned
    }


def resume(controller: ActiveController, concerns: Callable[[ReplicaAssignment], bool]) -> None:
    """Blocks. Continue the ongoing reassignments that `concerns` accepts."""
    running = {
        partition: controller.context.assignment(partition) for partition in sorted(controller.context.being_reassigned)
    }
    _advance_all(
        controller, {partition: assignment for partition, assignment in running.items() if concerns(assignment)}
    )


def drop_abandoned(controller: ActiveController) -> None:
    """Blocks. On failover: remove leaders and ISR members that are no longer in the assignment.

    A reassignment was given up, and the controller that wrote so died before it took them away. Where no assigned
    replica is alive and in sync, they are all there is, and stay.
    Differs from Kafka, which leaves them: the partition has no leader once only they are in sync and restart.
    """
    context = controller.context
    for partition, state in list(context.leadership.items()):
        assigned = context.assignment(partition).replicas
        abandoned = [each for each in dict.fromkeys((state.leader, *state.isr)) if each >= 0 and each not in assigned]
        in_sync = [each for each in state.isr if each in assigned and context.is_replica_online(each, partition)]
        if not abandoned or not in_sync or not context.needs_a_leader(partition):
            continue
        if state.leader in abandoned:
            controller.partitions.move([partition], PartitionState.ONLINE, Strategy.OFFLINE)
        for broker_id in abandoned:
            context.replica_states[PartitionReplica(partition, broker_id)] = ReplicaState.ONLINE
        _remove_replicas(controller, partition, abandoned)


def complete_where_caught_up(controller: ActiveController, partitions: Sequence[TopicPartition]) -> None:
    """Blocks. After ISR changes, just read: finish the reassignments whose every target replica is in the ISR."""
    caught_up = {}
    for partition in controller.context.being_reassigned.intersection(partitions):
        assignment, state = controller.context.assignment(partition), controller.context.leadership.get(partition)
        if not assignment.is_being_reassigned or (state is not None and is_complete(assignment.target, state.isr)):
            controller.info(
                f"Target replicas {list(assignment.target)} have all caught up with the leader for {partition}"
            )
            caught_up[partition] = assignment
    _advance_all(controller, dict(sorted(caught_up.items())))


def _plan(
    controller: ActiveController, targets: Mapping[TopicPartition, Sequence[int] | None]
) -> tuple[Results, dict[TopicPartition, ReplicaAssignment]]:
    refused: Results = {}
    planned = {}
    for partition, target in targets.items():
        try:
            planned[partition] = planned_assignment(controller.context, partition, target)
        except BrokerError as error:
            refused[partition] = error
    return refused, planned


def _advance_all(controller: ActiveController, wanted: Mapping[TopicPartition, ReplicaAssignment]) -> Results:
    """Blocks. Do what is next for each; what is done then goes from the old tools' list, all at once."""
    results = {
        partition: _try_to_advance(controller, partition, assignment) for partition, assignment in wanted.items()
    }
    running = controller.context.being_reassigned
    done = {
        topic_partition: wanted[topic_partition].target
        for topic_partition, error in results.items()
        if error is None and topic_partition not in running
    }
    if done:
        _forget_in_znode(controller, lambda partition, target: done.get(partition) == tuple(target))
    return results


def _try_to_advance(
    controller: ActiveController, partition: TopicPartition, assignment: ReplicaAssignment
) -> BrokerError | None:
    """Blocks. Do what is next for one; if it fails, perhaps for good, the others continue.

    Differs from Kafka, whose controllers resign, one after the other, over one topic that cannot be written.
    """
    try:
        _advance(controller, partition, assignment)
    except RESIGNATION_ERRORS:
        raise
    except BrokerError as error:
        controller.error(f"Failed completing reassignment of partition {partition}: {error}")
        return error
    return None


def _advance(controller: ActiveController, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
    deletion.mark_ineligible(controller, {partition.topic}, "topic reassignment in progress")
    _adopt(controller, partition, assignment)
    adding = [PartitionReplica(partition, broker_id) for broker_id in assignment.adding]
    if not _is_complete(controller, partition, assignment):
        if partition in controller.context.leadership:
            _send_new_epoch(controller, partition, assignment)
            controller.replicas.move(adding, ReplicaState.NEW)
            return
        # It never had a leader. Now one of its replicas may be alive, and in sync from the start: no leader will say.
        controller.replicas.move(adding, ReplicaState.NEW)
        controller.partitions.move([partition], PartitionState.ONLINE)
        if not _is_complete(controller, partition, assignment):
            return
    controller.replicas.move(adding, ReplicaState.ONLINE)
    completed = ReplicaAssignment(assignment.target)
    controller.context.set_assignment(partition, completed)
    if needs_new_leader(controller.context, partition, completed.replicas):
        controller.info(
            f"Leader {controller.context.leadership[partition].leader} of {partition} is dead or not a target replica; "
            "electing another one"
        )
        controller.partitions.move([partition], PartitionState.ONLINE, Strategy.REASSIGN)
    else:
        _send_new_epoch(controller, partition, completed)
    _remove_replicas(controller, partition, assignment.removing)
    _write(controller, partition, completed)
    controller.context.being_reassigned.discard(partition)
    controller.outbox.update_metadata(controller.context.live_or_shutting_down_ids(), [partition])
    deletion.resume_for(controller, {partition.topic})


def _adopt(controller: ActiveController, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
    """Write the wanted assignment to ZooKeeper, then to the context; drop replicas that only an older request added."""
    before = controller.context.assignment(partition)
    if before != assignment:
        _write(controller, partition, assignment)
        controller.context.set_assignment(partition, assignment)
        abandoned = abandoned_replicas(before, assignment)
        state = controller.context.leadership.get(partition)
        if state is not None and state.leader in abandoned:
            # Differs from Kafka, which leaves the partition without a leader until some broker fails.
            controller.partitions.move([partition], PartitionState.ONLINE, Strategy.OFFLINE)
        _remove_replicas(controller, partition, abandoned)
    controller.context.being_reassigned.add(partition)


def _is_complete(controller: ActiveController, partition: TopicPartition, assignment: ReplicaAssignment) -> bool:
    """Blocks. Asks ZooKeeper: the ISR in memory may be older than the leader's last change."""
    if not assignment.is_being_reassigned:
        return True
    state = controller.store.states([partition]).get(partition)
    return state is not None and is_complete(assignment.target, state.isr)


def _send_new_epoch(controller: ActiveController, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
    """A larger leader epoch with the same leader and ISR: only that makes brokers take the new replica lists."""
    leadership = controller.store.bump_leader_epoch(partition, controller_epoch=controller.context.epoch)
    if leadership is None:
        controller.error(f"Cannot update leader epoch for partition {partition}: its state in ZooKeeper is missing")
        return
    controller.context.leadership[partition] = leadership
    with controller.outbox.batch() as batch:
        batch.add_leader_and_isr(assignment.origin, partition, leadership, is_new=False)
        for broker_id in assignment.adding:
            # Differs from Kafka, to which each of these is new: one in sync whose directory failed would make itself
            # again in another one, empty, and maybe lead.
            is_new = broker_id not in leadership.isr
            batch.add_leader_and_isr([broker_id], partition, leadership, is_new=is_new)


def _remove_replicas(controller: ActiveController, partition: TopicPartition, broker_ids: Sequence[int]) -> None:
    """Out of the ISR, stopped, deleted, forgotten; the answers are not waited for."""
    replicas = [PartitionReplica(partition, broker_id) for broker_id in broker_ids]
    for state in (
        ReplicaState.OFFLINE,
        ReplicaState.DELETION_STARTED,
        ReplicaState.DELETION_SUCCESSFUL,
        ReplicaState.NON_EXISTENT,
    ):
        controller.replicas.move(replicas, state)


def _write(controller: ActiveController, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
    """Blocks. Write the topic's znode with this assignment. Raises UnknownTopicOrPartition if the topic is gone."""
    topic = partition.topic
    whole = {**controller.context.assignments[topic], partition.partition: assignment}
    if not controller.store.write_topic(topic, controller.context.topic_ids.get(topic), whole):
        raise UnknownTopicOrPartition(
            f"Failed to update assignment for {partition} since the topic has no current assignment"
        )
    controller.info(f"Successfully updated assignment of partition {partition} to {assignment}")


def _forget_in_znode(controller: ActiveController, is_settled: Callable[[TopicPartition, Sequence[int]], bool]) -> None:
    """Blocks. Take settled entries out of /admin/reassign_partitions; delete it with the last one."""
    with controller.contained("updating /admin/reassign_partitions"):
        listed = controller.store.reassignments()
        if listed is None:
            return
        remaining = {
            topic_partition: target
            for topic_partition, target in listed.items()
            if not is_settled(topic_partition, target)
        }
        if len(remaining) == len(listed):
            return
        controller.store.write_reassignments(remaining)
        if not remaining:
            # Another one may be created at any time; only a read arms the watch for it.
            controller.put(ZkPartitionReassignment())
