"""Both state machines: every pair of states is legal or refused, as Kafka's tables say."""

from itertools import product

import pytest

from kafka_zk.controller.decisions import partition_states, replica_states
from kafka_zk.controller.decisions.context import PartitionReplica, PartitionState, ReplicaState
from kafka_zk.protocol.types import NO_LEADER
from tests.unit.controller.given import cluster, state, tp

P, R = PartitionState, ReplicaState

LEGAL_PARTITION_MOVES = {
    (P.NON_EXISTENT, P.NEW),
    (P.NEW, P.ONLINE),
    (P.ONLINE, P.ONLINE),
    (P.OFFLINE, P.ONLINE),
    (P.NEW, P.OFFLINE),
    (P.ONLINE, P.OFFLINE),
    (P.OFFLINE, P.OFFLINE),
    (P.OFFLINE, P.NON_EXISTENT),
}
LEGAL_REPLICA_MOVES = {
    (R.NON_EXISTENT, R.NEW),
    *product((R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_INELIGIBLE), (R.ONLINE, R.OFFLINE)),
    (R.OFFLINE, R.DELETION_STARTED),
    (R.DELETION_STARTED, R.DELETION_SUCCESSFUL),
    (R.OFFLINE, R.DELETION_INELIGIBLE),
    (R.DELETION_STARTED, R.DELETION_INELIGIBLE),
    (R.DELETION_SUCCESSFUL, R.NON_EXISTENT),
}


@pytest.mark.parametrize(("current", "target"), list(product(P, P)))
def test_a_partition_moves_only_between_the_states_of_the_table(current, target):
    context = cluster({tp(): (1,)}, live=(1,))
    context.partition_states[tp()] = current
    legal, refused = partition_states.split_by_legality(context, [tp()], target)
    assert (legal == [tp()]) is ((current, target) in LEGAL_PARTITION_MOVES)
    assert legal + refused == [tp()]


@pytest.mark.parametrize(("current", "target"), list(product(R, R)))
def test_a_replica_moves_only_between_the_states_of_the_table(current, target):
    context = cluster({tp(): (1,)}, live=(1,))
    replica = PartitionReplica(tp(), 1)
    context.replica_states[replica] = current
    legal, refused = replica_states.split_by_legality(context, [replica], target)
    assert (legal == [replica]) is ((current, target) in LEGAL_REPLICA_MOVES)
    assert legal + refused == [replica]


def test_what_was_never_seen_counts_as_non_existent():
    context = cluster({tp(): (1,)}, live=(1,))
    assert partition_states.split_by_legality(context, [tp()], P.NEW) == ([tp()], [])
    assert replica_states.split_by_legality(context, [PartitionReplica(tp(), 1)], R.ONLINE)[0] == []


def test_a_new_partition_is_led_by_its_first_live_replica_with_all_live_ones_in_the_isr():
    context = cluster({tp(): (3, 1, 2)}, live=(1, 2), shutting_down=())
    first = partition_states.first_leadership(context, tp())
    assert (first.leader, first.isr, first.leader_epoch, first.controller_epoch) == (1, (1, 2), 0, 4)


def test_a_new_partition_without_a_live_replica_gets_no_leadership():
    context = cluster({tp(): (3, 4)}, live=(1, 3), shutting_down=(3,))
    assert partition_states.first_leadership(context, tp()) is None


def test_the_first_state_of_a_term_follows_from_the_leader():
    known = {tp("on"): state(1, (1,)), tp("off"): state(2, (2,)), tp("none"): state(NO_LEADER, (1,))}
    context = cluster(dict.fromkeys((*known, tp("new")), (1, 2)), live=(1,), leadership=known)
    states = [partition_states.state_at_startup(context, tp(t)) for t in ("on", "off", "none", "new")]
    assert states == [P.ONLINE, P.OFFLINE, P.OFFLINE, P.NEW]


def test_a_replica_on_a_dead_broker_starts_a_term_as_ineligible_for_deletion():
    context = cluster({tp(): (1, 2)}, live=(1,))
    assert replica_states.state_at_startup(context, PartitionReplica(tp(), 1)) is R.ONLINE
    assert replica_states.state_at_startup(context, PartitionReplica(tp(), 2)) is R.DELETION_INELIGIBLE


def test_a_follower_leaves_the_isr_under_the_same_leader_and_a_new_epoch():
    shrunk = replica_states.without_replica(state(1, (1, 2, 3)), 2)
    assert (shrunk.leader, shrunk.isr, shrunk.leader_epoch) == (1, (1, 3), 6)


def test_a_leader_that_leaves_the_isr_leaves_the_partition_without_leader():
    shrunk = replica_states.without_replica(state(1, (1, 2)), 1)
    assert (shrunk.leader, shrunk.isr, shrunk.leader_epoch) == (NO_LEADER, (2,), 6)


def test_the_last_member_of_an_isr_is_never_removed():
    shrunk = replica_states.without_replica(state(1, (1,)), 1)
    assert (shrunk.leader, shrunk.isr, shrunk.leader_epoch) == (NO_LEADER, (1,), 6)


def test_who_is_not_in_the_isr_changes_nothing_by_leaving():
    assert replica_states.without_replica(state(1, (1, 2)), 3) is None
