"""Assignments, reassignments, deletions and rebalances: decisions over the context."""

import pytest

from kafka_zk.controller.decisions.assignment import ReplicaAssignment
from kafka_zk.controller.decisions.context import PartitionReplica, ReplicaState
from kafka_zk.controller.decisions.reassignment import (
    abandoned_replicas,
    is_complete,
    needs_new_leader,
    planned_assignment,
)
from kafka_zk.controller.decisions.rebalance import partitions_to_rebalance, preferred_imbalance_count
from kafka_zk.controller.decisions.topic_deletion import due, ineligible_topics, is_eligible, split_replicas
from kafka_zk.protocol.errors import InvalidReplicaAssignment, NoReassignmentInProgress, UnknownTopicOrPartition
from tests.unit.controller.given import cluster, state, tp

# Assignments


def test_a_reassignment_lists_the_target_first_and_names_what_comes_and_goes():
    assignment = ReplicaAssignment((1, 2)).reassign_to((3, 2))
    assert assignment == ReplicaAssignment((3, 2, 1), adding=(3,), removing=(1,))
    assert (assignment.origin, assignment.target) == ((2, 1), (3, 2))


def test_a_reassignment_over_a_running_one_starts_from_the_first_origin():
    running = ReplicaAssignment((1, 2)).reassign_to((3, 4))
    again = running.reassign_to((5, 2))
    assert again == ReplicaAssignment((5, 2, 1), adding=(5,), removing=(1,))
    assert abandoned_replicas(running, again) == [3, 4]


def test_going_back_to_the_origin_ends_a_reassignment():
    running = ReplicaAssignment((1, 2)).reassign_to((3,))
    assert not running.reassign_to(running.origin).is_being_reassigned


# Reassignments


def test_cancelling_without_a_reassignment_is_refused_also_for_unknown_partitions():
    context = cluster({tp(): (1, 2)}, live=(1, 2))
    for partition in (tp(), tp("nope")):
        with pytest.raises(NoReassignmentInProgress):
            planned_assignment(context, partition, None)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ((), "Empty replica list"),
        ((1, 1), "Duplicate replica ids"),
        ((1, -2), "Invalid broker id"),
        ((1, 9), "brokers that are not alive"),
        ((1, 4), "brokers that are not alive"),
    ],
)
def test_an_impossible_target_is_refused(target, words):
    context = cluster({tp(): (1, 2)}, live=(1, 2, 4), shutting_down=(4,))
    with pytest.raises(InvalidReplicaAssignment, match=words):
        planned_assignment(context, tp(), target)


def test_a_dead_replica_may_stay_in_the_target():
    context = cluster({tp(): (1, 2)}, live=(1, 3))
    assert planned_assignment(context, tp(), (3, 2)).target == (3, 2)


def test_partitions_that_are_unknown_or_being_deleted_are_not_moved():
    context = cluster({tp(): (1, 2)}, live=(1, 2))
    context.topics_to_delete.add("t")
    for partition in (tp(), tp("nope")):
        with pytest.raises(UnknownTopicOrPartition):
            planned_assignment(context, partition, (1,))


def test_a_reassignment_is_complete_once_its_target_is_in_the_isr():
    assert is_complete((3, 2), (1, 2, 3))
    assert not is_complete((3, 2), (1, 2))


@pytest.mark.parametrize(("leader", "live", "needed"), [(1, (1, 2), False), (1, (2,), True), (2, (1, 2), True)])
def test_a_new_leader_is_needed_when_the_old_one_is_outside_the_target_or_dead(leader, live, needed):
    context = cluster({tp(): (1, 3)}, live=live, leadership={tp(): state(leader, (1, 2))})
    assert needs_new_leader(context, tp(), (1, 3)) is needed


# Deletions


def deleting(states, *, live=(1, 2)):
    context = cluster({tp(): (1, 2)}, live=live)
    context.topics_to_delete.add("t")
    for broker_id, replica_state in states.items():
        context.replica_states[PartitionReplica(tp(), broker_id)] = replica_state
    return context


S = ReplicaState


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (S.ONLINE, S.ONLINE, "delete"),
        (S.DELETION_STARTED, S.ONLINE, ""),
        (S.DELETION_STARTED, S.DELETION_INELIGIBLE, ""),
        (S.DELETION_SUCCESSFUL, S.DELETION_STARTED, ""),
        (S.DELETION_SUCCESSFUL, S.DELETION_INELIGIBLE, "retry delete"),
        (S.DELETION_SUCCESSFUL, S.DELETION_SUCCESSFUL, "complete"),
    ],
)
def test_what_is_due_for_a_queued_topic_follows_from_its_replicas(first, second, expected):
    found = due(deleting({1: first, 2: second}))
    assert " ".join(name for name in ("complete", "retry", "delete") if getattr(found, name)) == expected


def test_an_ineligible_topic_waits():
    context = deleting({1: S.ONLINE, 2: S.DELETION_INELIGIBLE})
    context.topics_ineligible_for_deletion.add("t")
    assert not is_eligible(context, "t")
    assert due(context).delete == ()


def test_a_topic_with_a_dead_replica_or_a_running_reassignment_is_ineligible():
    assert ineligible_topics(deleting({}, live=(1,)), {"t"}) == {"t"}
    context = deleting({})
    assert ineligible_topics(context, {"t"}) == set()
    context.being_reassigned.add(tp())
    assert ineligible_topics(context, {"t"}) == {"t"}


def test_dead_replicas_and_those_already_deleted_are_not_asked():
    context = deleting({1: S.DELETION_SUCCESSFUL, 2: S.ONLINE})
    assert split_replicas(context, ["t"]).alive == (PartitionReplica(tp(), 2),)
    del context.brokers[2]
    split = split_replicas(context, ["t"])
    assert (split.alive, split.dead) == ((), (PartitionReplica(tp(), 2),))
    assert split.topics_with_dead == {"t"}


# Rebalances


def ten_partitions(led_elsewhere):
    partitions = [tp("t", index) for index in range(10)]
    leadership = {p: state(2 if p.partition < led_elsewhere else 1, (1, 2)) for p in partitions}
    return cluster(dict.fromkeys(partitions, (1, 2)), live=(1, 2), leadership=leadership)


def test_a_broker_over_the_limit_gets_its_leaderships_back():
    assert partitions_to_rebalance(ten_partitions(2), max_imbalance_percentage=10) == {1: [tp("t", 0), tp("t", 1)]}


def test_a_broker_at_the_limit_is_left_alone():
    assert partitions_to_rebalance(ten_partitions(1), max_imbalance_percentage=10) == {}


def test_leadership_goes_back_only_to_a_replica_that_is_alive_and_in_the_isr():
    context = ten_partitions(3)
    context.leadership[tp("t", 0)] = state(2, (2,))
    assert partitions_to_rebalance(context, max_imbalance_percentage=10) == {1: [tp("t", 1), tp("t", 2)]}
    del context.brokers[1]
    assert partitions_to_rebalance(context, max_imbalance_percentage=10) == {}


def test_nothing_is_rebalanced_while_a_reassignment_runs():
    context = ten_partitions(5)
    context.being_reassigned.add(tp("other"))
    assert partitions_to_rebalance(context, max_imbalance_percentage=10) == {}


def test_topics_to_delete_do_not_count_as_imbalanced():
    context = ten_partitions(5)
    assert preferred_imbalance_count(context) == 5
    context.topics_to_delete.add("t")
    assert preferred_imbalance_count(context) == 0


# Context


def test_a_forgotten_topic_leaves_nothing_behind():
    context = deleting({1: S.ONLINE})
    context.leadership[tp()] = state(1, (1,))
    context.being_reassigned.add(tp())
    context.topics_ineligible_for_deletion.add("t")
    context.remove_topic("t")
    assert not (context.assignments or context.leadership or context.replica_states or context.being_reassigned)
    assert not (context.topics_to_delete or context.topics_ineligible_for_deletion)
