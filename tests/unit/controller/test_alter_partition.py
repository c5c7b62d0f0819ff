"""The decision table of AlterPartition: one test a row, and one that rows are tried in order."""

import pytest

from kafka_zk.controller.decisions.alter_partition import (
    AlreadySo,
    Refused,
    WantedIsr,
    Write,
    broker_epoch_problem,
    decide,
)
from kafka_zk.protocol.errors import (
    FencedLeaderEpoch,
    IneligibleReplica,
    InvalidRequest,
    InvalidUpdateVersion,
    NotController,
    OperationNotAttempted,
    StaleBrokerEpoch,
    UnknownTopicOrPartition,
)
from tests.unit.controller.given import cluster, state, tp


def given(**options):
    current = state(1, (1, 2), **options)
    return cluster({tp(): (1, 2, 3, 4)}, live=(1, 2, 3), leadership={tp(): current}), current


def wanted(isr=(1, 2, 3), *, leader_epoch=5, partition_epoch=7, recovery_state=0):
    return WantedIsr(leader_epoch, isr, recovery_state, partition_epoch)


def refusal(context, wish, *, api_version=3):
    decision = decide(context, tp(), 1, wish, api_version)
    assert isinstance(decision, Refused)
    return type(decision.error)


def test_a_legal_change_is_written_under_the_controllers_epoch_and_the_same_leader_epoch():
    context, _ = given()
    decision = decide(context, tp(), 1, wanted(), 3)
    assert isinstance(decision, Write)
    written = decision.leadership
    assert (written.leader, written.isr, written.leader_epoch, written.controller_epoch) == (1, (1, 2, 3), 5, 4)
    assert written.partition_epoch == 7


def test_a_partition_without_leadership_is_unknown():
    context, _ = given()
    decision = decide(context, tp("other"), 1, wanted(), 3)
    assert isinstance(decision.error, UnknownTopicOrPartition)


@pytest.mark.parametrize("ahead", [{"leader_epoch": 6}, {"partition_epoch": 8}])
def test_a_leader_ahead_of_the_controller_is_told_to_look_for_another_one(ahead):
    assert refusal(given()[0], wanted(**ahead)) is NotController


def test_an_old_leader_is_fenced():
    assert refusal(given()[0], wanted(leader_epoch=4)) is FencedLeaderEpoch


@pytest.mark.parametrize("partition_epoch", [6, 7])
def test_a_repeated_change_succeeds_with_the_cached_state(partition_epoch):
    context, current = given()
    decision = decide(context, tp(), 1, wanted((1, 2), partition_epoch=partition_epoch), 3)
    assert decision == AlreadySo(current)


def test_the_order_of_the_isr_counts_for_a_repetition():
    context, _ = given()
    assert isinstance(decide(context, tp(), 1, wanted((2, 1)), 3), Write)


def test_a_change_based_on_an_old_version_is_refused():
    assert refusal(given()[0], wanted(partition_epoch=6)) is InvalidUpdateVersion


def test_a_recovering_leader_may_not_have_followers_in_the_isr():
    context, _ = given(recovery_state=1)
    assert refusal(context, wanted((1, 3), recovery_state=1)) is InvalidRequest


def test_a_recovered_leader_never_becomes_recovering_again():
    assert refusal(given()[0], wanted((1,), recovery_state=1)) is InvalidRequest


def test_a_recovering_leader_may_say_that_it_has_recovered():
    context, _ = given(recovery_state=1)
    assert isinstance(decide(context, tp(), 1, wanted((1,)), 3), Write)


def test_a_dead_or_leaving_broker_may_not_join_the_isr():
    context, _ = given()
    assert refusal(context, wanted((1, 2, 4))) is IneligibleReplica
    context.shutting_down.add(3)
    assert refusal(context, wanted((1, 2, 3))) is IneligibleReplica
    assert refusal(context, wanted((1, 2, 3)), api_version=1) is OperationNotAttempted


def test_the_epochs_are_looked_at_before_the_members():
    context, _ = given()
    assert refusal(context, wanted((1, 99), leader_epoch=4)) is FencedLeaderEpoch
    assert refusal(context, wanted((1, 99), leader_epoch=4, partition_epoch=8)) is NotController


def test_only_the_present_life_of_a_broker_may_ask():
    context, _ = given()
    assert broker_epoch_problem(context, 1, 101) is None
    assert isinstance(broker_epoch_problem(context, 1, 100), StaleBrokerEpoch)
    assert isinstance(broker_epoch_problem(context, 1, 102), StaleBrokerEpoch)
    assert isinstance(broker_epoch_problem(context, 9, 109), StaleBrokerEpoch)


def test_a_recovery_state_that_no_kafka_knows_is_refused():
    """Written, it would make the partition's state unreadable for all."""
    assert refusal(given()[0], wanted((1,), recovery_state=2)) is InvalidRequest
