"""Partition reassignment, step by step.

Role        Acts, in the controller greenlet, on the decisions of `reassignment`.
Invariants  The topic's znode says what is going on before anybody else hears of it, and is put right last: a new
            controller can go on from any point. A topic being reassigned is not deleted meanwhile.
            /admin/reassign_partitions goes only when all it lists is done.
Source      KafkaController.onPartitionReassignment (steps U, A, B), processApiPartitionReassignment,
            processZkPartitionReassignment, processListPartitionReassignments; KIP-455.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kafka_zk.controller.decisions.assignment import ReplicaAssignment
from kafka_zk.controller.decisions.context import PartitionReplica, PartitionState, ReplicaState
from kafka_zk.controller.decisions.election import Strategy
from kafka_zk.controller.decisions.reassignment import (
    abandoned_replicas,
    is_complete,
    needs_new_leader,
    planned_assignment,
)
from kafka_zk.controller.errors import END_OF_TERM
from kafka_zk.controller.events import ZkPartitionReassignment
from kafka_zk.controller.handlers import deletion
from kafka_zk.controller.term import Term
from kafka_zk.protocol.errors import BrokerError, UnknownTopicOrPartition
from kafka_zk.protocol.types import TopicPartition

Results = dict[TopicPartition, BrokerError | None]


def on_api_request(term: Term, targets: Mapping[TopicPartition, Sequence[int] | None]) -> Results:
    """Blocks. Start or cancel reassignments; the answer says which could be started, not which are done."""
    results, planned = _plan(term, targets)
    # What is asked for last counts, also against the znode of the old tools.
    _forget_in_znode(term, lambda partition, _: partition in planned)
    return {**results, **_advance_all(term, planned)}


def on_znode(term: Term) -> None:
    """Blocks. /admin/reassign_partitions was created: start what it lists, drop from it what cannot be started."""
    wanted = term.store.reassignments()
    if wanted is None:
        return
    refused, planned = _plan(term, wanted)
    results = {**refused, **_advance_all(term, planned)}
    failed = {partition: error for partition, error in results.items() if error is not None}
    if failed:
        listed = ", ".join(f"{partition}: {error}" for partition, error in failed.items())
        term.warning(f"Failed reassignment through zk with the following errors: {listed}")
        _forget_in_znode(term, lambda partition, _: partition in failed)


def listing(term: Term, partitions: Sequence[TopicPartition] | None) -> dict[TopicPartition, ReplicaAssignment]:
    """The ongoing reassignments of `partitions` (None: all)."""
    wanted = sorted(term.context.being_reassigned) if partitions is None else partitions
    found = {topic_partition: term.context.assignment(topic_partition) for topic_partition in wanted}
    return {
        topic_partition: assignment for topic_partition, assignment in found.items() if assignment.is_being_reassigned
    }


def resume(term: Term, concerns: Callable[[ReplicaAssignment], bool]) -> None:
    """Blocks. Continue the ongoing reassignments that `concerns` accepts."""
    running = {partition: term.context.assignment(partition) for partition in sorted(term.context.being_reassigned)}
    _advance_all(term, {partition: assignment for partition, assignment in running.items() if concerns(assignment)})


def drop_abandoned(term: Term) -> None:
    """Blocks. On failover: remove leaders and ISR members that are no longer in the assignment.

    A reassignment was given up, and the controller that wrote so died before it took them away. Where no assigned
    replica is alive and in sync, they are all there is, and stay.
    Differs from Kafka, which leaves them: the partition has no leader once only they are in sync and restart.
    """
    context = term.context
    for partition, state in list(context.leadership.items()):
        assigned = context.assignment(partition).replicas
        abandoned = [each for each in dict.fromkeys((state.leader, *state.isr)) if each >= 0 and each not in assigned]
        in_sync = [each for each in state.isr if each in assigned and context.is_replica_online(each, partition)]
        if not abandoned or not in_sync or not context.needs_a_leader(partition):
            continue
        if state.leader in abandoned:
            term.partitions.move([partition], PartitionState.ONLINE, Strategy.OFFLINE)
        for broker_id in abandoned:
            context.replica_states[PartitionReplica(partition, broker_id)] = ReplicaState.ONLINE
        _remove_replicas(term, partition, abandoned)


def complete_where_caught_up(term: Term, partitions: Sequence[TopicPartition]) -> None:
    """Blocks. After ISR changes, just read: finish the reassignments whose every target replica is in the ISR."""
    caught_up = {}
    for partition in term.context.being_reassigned.intersection(partitions):
        assignment, state = term.context.assignment(partition), term.context.leadership.get(partition)
        if not assignment.is_being_reassigned or (state is not None and is_complete(assignment.target, state.isr)):
            term.info(f"Target replicas {list(assignment.target)} have all caught up with the leader for {partition}")
            caught_up[partition] = assignment
    _advance_all(term, dict(sorted(caught_up.items())))


def _plan(
    term: Term, targets: Mapping[TopicPartition, Sequence[int] | None]
) -> tuple[Results, dict[TopicPartition, ReplicaAssignment]]:
    refused: Results = {}
    planned = {}
    for partition, target in targets.items():
        try:
            planned[partition] = planned_assignment(term.context, partition, target)
        except BrokerError as error:
            refused[partition] = error
    return refused, planned


def _advance_all(term: Term, wanted: Mapping[TopicPartition, ReplicaAssignment]) -> Results:
    """Blocks. Do what is next for each; what is done then goes from the old tools' list, all at once."""
    results = {partition: _try_to_advance(term, partition, assignment) for partition, assignment in wanted.items()}
    running = term.context.being_reassigned
    done = {
        topic_partition: wanted[topic_partition].target
        for topic_partition, error in results.items()
        if error is None and topic_partition not in running
    }
    if done:
        _forget_in_znode(term, lambda partition, target: done.get(partition) == tuple(target))
    return results


def _try_to_advance(term: Term, partition: TopicPartition, assignment: ReplicaAssignment) -> BrokerError | None:
    """Blocks. Do what is next for one; where it fails, for good maybe, the others go on.

    Differs from Kafka, whose controllers resign, one after the other, over one topic that cannot be written.
    """
    try:
        _advance(term, partition, assignment)
    except END_OF_TERM:
        raise
    except BrokerError as error:
        term.error(f"Failed completing reassignment of partition {partition}: {error}")
        return error
    return None


def _advance(term: Term, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
    deletion.mark_ineligible(term, {partition.topic}, "topic reassignment in progress")
    _adopt(term, partition, assignment)
    adding = [PartitionReplica(partition, broker_id) for broker_id in assignment.adding]
    if not _is_complete(term, partition, assignment):
        if partition in term.context.leadership:
            _send_new_epoch(term, partition, assignment)
            term.replicas.move(adding, ReplicaState.NEW)
            return
        # It never had a leader. Now one of its replicas may be alive, and in sync from the start: no leader will say.
        term.replicas.move(adding, ReplicaState.NEW)
        term.partitions.move([partition], PartitionState.ONLINE)
        if not _is_complete(term, partition, assignment):
            return
    term.replicas.move(adding, ReplicaState.ONLINE)
    completed = ReplicaAssignment(assignment.target)
    term.context.set_assignment(partition, completed)
    if needs_new_leader(term.context, partition, completed.replicas):
        term.info(
            f"Leader {term.context.leadership[partition].leader} of {partition} is dead or not a target replica; "
            "electing another one"
        )
        term.partitions.move([partition], PartitionState.ONLINE, Strategy.REASSIGN)
    else:
        _send_new_epoch(term, partition, completed)
    _remove_replicas(term, partition, assignment.removing)
    _write(term, partition, completed)
    term.context.being_reassigned.discard(partition)
    term.outbox.update_metadata(term.context.live_or_shutting_down_ids(), [partition])
    deletion.resume_for(term, {partition.topic})


def _adopt(term: Term, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
    """Write the wanted assignment to ZooKeeper, then to the context; drop replicas that only an older request added."""
    before = term.context.assignment(partition)
    if before != assignment:
        _write(term, partition, assignment)
        term.context.set_assignment(partition, assignment)
        abandoned = abandoned_replicas(before, assignment)
        state = term.context.leadership.get(partition)
        if state is not None and state.leader in abandoned:
            # Differs from Kafka, which leaves the partition without a leader until some broker fails.
            term.partitions.move([partition], PartitionState.ONLINE, Strategy.OFFLINE)
        _remove_replicas(term, partition, abandoned)
    term.context.being_reassigned.add(partition)


def _is_complete(term: Term, partition: TopicPartition, assignment: ReplicaAssignment) -> bool:
    """Blocks. Asks ZooKeeper: the ISR in memory may be older than the leader's last change."""
    if not assignment.is_being_reassigned:
        return True
    state = term.store.states([partition]).get(partition)
    return state is not None and is_complete(assignment.target, state.isr)


def _send_new_epoch(term: Term, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
    """A larger leader epoch with the same leader and ISR: only that makes brokers take the new replica lists."""
    leadership = term.store.bump_leader_epoch(partition, controller_epoch=term.context.epoch)
    if leadership is None:
        term.error(f"Cannot update leader epoch for partition {partition}: its state in ZooKeeper is missing")
        return
    term.context.leadership[partition] = leadership
    with term.outbox.batch() as batch:
        batch.add_leader_and_isr(assignment.origin, partition, leadership, is_new=False)
        for broker_id in assignment.adding:
            # Differs from Kafka, to which each of these is new: one in sync whose directory failed would make itself
            # again in another one, empty, and maybe lead.
            is_new = broker_id not in leadership.isr
            batch.add_leader_and_isr([broker_id], partition, leadership, is_new=is_new)


def _remove_replicas(term: Term, partition: TopicPartition, broker_ids: Sequence[int]) -> None:
    """Out of the ISR, stopped, deleted, forgotten; the answers are not waited for."""
    replicas = [PartitionReplica(partition, broker_id) for broker_id in broker_ids]
    for state in (
        ReplicaState.OFFLINE,
        ReplicaState.DELETION_STARTED,
        ReplicaState.DELETION_SUCCESSFUL,
        ReplicaState.NON_EXISTENT,
    ):
        term.replicas.move(replicas, state)


def _write(term: Term, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
    """Blocks. Write the topic's znode with this assignment. Raises UnknownTopicOrPartition if the topic is gone."""
    topic = partition.topic
    whole = {**term.context.assignments[topic], partition.partition: assignment}
    if not term.store.write_topic(topic, term.context.topic_ids.get(topic), whole):
        raise UnknownTopicOrPartition(
            f"Failed to update assignment for {partition} since the topic has no current assignment"
        )
    term.info(f"Successfully updated assignment of partition {partition} to {assignment}")


def _forget_in_znode(term: Term, is_settled: Callable[[TopicPartition, Sequence[int]], bool]) -> None:
    """Blocks. Take settled entries out of /admin/reassign_partitions; delete it with the last one."""
    with term.contained("updating /admin/reassign_partitions"):
        listed = term.store.reassignments()
        if listed is None:
            return
        remaining = {
            topic_partition: target
            for topic_partition, target in listed.items()
            if not is_settled(topic_partition, target)
        }
        if len(remaining) == len(listed):
            return
        term.store.write_reassignments(remaining)
        if not remaining:
            # Another one may be created at any time; only a read arms the watch for it.
            term.put(ZkPartitionReassignment())
