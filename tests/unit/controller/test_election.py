"""The four election strategies."""

from itertools import product

import pytest

from kafka_zk.config.metadata_version import MetadataVersion
from kafka_zk.controller.decisions.assignment import ReplicaAssignment
from kafka_zk.controller.decisions.context import RECOVERED, RECOVERING
from kafka_zk.controller.decisions.election import Strategy, elect, offline_leader
from kafka_zk.controller.decisions.versions import RequestVersions
from tests.unit.controller.given import cluster, state, tp


def elected(context, strategy, current, **options):
    election = elect(context, tp(), current, strategy, **options)
    leadership = election.leadership
    outcome = None if leadership is None else (leadership.leader, leadership.isr)
    return outcome, election.recipients


def test_offline_takes_the_first_replica_that_is_online_and_in_the_isr():
    context = cluster({tp(): (1, 2, 3)}, live=(2, 3))
    assert elected(context, Strategy.OFFLINE, state(1, (1, 3))) == ((3, (3,)), (2, 3))


def test_offline_leaves_a_partition_alone_whose_isr_is_dead():
    context = cluster({tp(): (1, 2)}, live=(2,))
    assert elected(context, Strategy.OFFLINE, state(1, (1,)))[0] is None


def test_an_unclean_election_needs_the_topic_to_allow_it_and_says_recovering():
    context = cluster({tp(): (1, 2, 3)}, live=(2, 3))
    election = elect(context, tp(), state(1, (1,)), Strategy.OFFLINE, unclean_allowed=True)
    assert (election.leadership.leader, election.leadership.isr) == (2, (2,))
    assert election.leadership.recovery_state == RECOVERING
    assert election.is_unclean


def test_before_protocol_3_2_no_state_says_recovering():
    context = cluster({tp(): (1, 2, 3)}, live=(2, 3))
    current = state(1, (1,))
    election = elect(context, tp(), current, Strategy.UNCLEAN, has_leader_recovery=False)
    assert election.is_unclean
    assert election.leadership.recovery_state == RECOVERED
    assert not RequestVersions.of(MetadataVersion("3.1-IV0")).has_leader_recovery
    assert RequestVersions.of(MetadataVersion("3.2-IV0")).has_leader_recovery


def test_a_clean_leader_is_preferred_even_where_unclean_ones_are_allowed():
    context = cluster({tp(): (1, 2, 3)}, live=(2, 3))
    election = elect(context, tp(), state(1, (1, 3)), Strategy.UNCLEAN)
    assert (election.leadership.leader, election.is_unclean, election.leadership.recovery_state) == (3, False, 0)


def test_preferred_elects_only_the_first_replica_and_tells_all():
    context = cluster({tp(): (1, 2, 3)}, live=(1, 2))
    assert elected(context, Strategy.PREFERRED, state(2, (1, 2, 3))) == ((1, (1, 2, 3)), (1, 2, 3))


@pytest.mark.parametrize(("live", "isr"), [((2, 3), (1, 2, 3)), ((1, 2, 3), (2, 3))])
def test_preferred_fails_when_the_first_replica_is_dead_or_outside_the_isr(live, isr):
    context = cluster({tp(): (1, 2, 3)}, live=live)
    assert elected(context, Strategy.PREFERRED, state(2, isr))[0] is None


def test_reassign_takes_the_first_target_that_is_online_and_in_the_isr():
    context = cluster({tp(): ()}, live=(1, 2, 4))
    context.set_assignment(tp(), ReplicaAssignment((3, 4, 1), adding=(3, 4), removing=(1,)))
    assert elected(context, Strategy.REASSIGN, state(1, (1, 3, 4))) == ((4, (1, 3, 4)), (3, 4))


def test_a_broker_that_shuts_down_hands_its_leadership_to_one_that_stays():
    context = cluster({tp(): (1, 2, 3)}, live=(1, 2, 3), shutting_down=(1, 2))
    assert elected(context, Strategy.CONTROLLED_SHUTDOWN, state(1, (1, 2, 3))) == ((3, (3,)), (1, 2, 3))


def test_a_broker_that_shuts_down_keeps_the_partition_only_it_can_lead():
    context = cluster({tp(): (1, 2)}, live=(1, 2), shutting_down=(1,))
    assert elected(context, Strategy.CONTROLLED_SHUTDOWN, state(1, (1,)))[0] is None


@pytest.mark.parametrize("strategy", Strategy)
def test_every_election_raises_the_leader_epoch_by_one_and_keeps_the_version_to_write_against(strategy):
    context = cluster({tp(): (1, 2)}, live=(1, 2))
    election = elect(context, tp(), state(2, (1, 2)), strategy)
    assert election.leadership.leader_epoch == 6
    assert election.leadership.partition_epoch == 7


def test_a_replica_in_a_failed_directory_is_not_online():
    context = cluster({tp(): (1, 2)}, live=(1, 2))
    context.offline_dir_replicas[1] = {tp()}
    assert elected(context, Strategy.OFFLINE, state(1, (1, 2))) == ((2, (2,)), (2,))


@pytest.mark.parametrize(
    ("isr", "online", "unclean"), list(product([(), (1,), (2,), (1, 2)], [(), (1,), (2,), (1, 2)], [False, True]))
)
def test_no_election_ever_picks_an_offline_leader_nor_an_unclean_one_unasked(isr, online, unclean):
    leader, is_unclean = offline_leader((1, 2), isr, online, may_be_unclean=unclean)
    clean = [r for r in (1, 2) if r in isr and r in online]
    if clean:
        assert (leader, is_unclean) == (clean[0], False)
    elif unclean and online:
        assert (leader, is_unclean) == (online[0], True)
    else:
        assert (leader, is_unclean) == (None, False)
