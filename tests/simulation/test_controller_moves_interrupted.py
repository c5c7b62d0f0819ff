"""Reassignments that meet something else half way: a death, a cancellation, a deletion, a missing leader."""

import gevent

from kafka_zk.controller import events
from kafka_zk.controller.decisions.requests import RequestBatch
from kafka_zk.controller.errors import BatchAbandoned
from kafka_zk.controller.handlers import reassignment
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_zk.zk.znodes import (
    LogDirEventNotificationZNode,
    PartitionReplicas,
    ReassignPartitionsZNode,
    TopicAssignment,
    TopicZNode,
)
from tests.simulation.scenes import TOPIC_ID, alter_partition, outcome, partition_states, requests_since, start_move, tp


def create(cluster, assignment):
    cluster.create_topic("t", assignment, TOPIC_ID)
    cluster.settle()


def crash(cluster, broker_id):
    cluster.crash(broker_id)
    cluster.settle()


def assigned(cluster, partition=0):
    found = TopicZNode.decode(cluster.zookeeper.nodes[TopicZNode.path("t")].data).partitions[partition]
    return found.replicas, found.adding, found.removing


def running(cluster):
    return outcome(cluster, cluster.controller.submit(events.ListPartitionReassignments(None)))


def test_a_move_of_a_partition_that_never_had_a_leader_can_be_cancelled(cluster):
    crash(cluster, 2)
    crash(cluster, 3)
    create(cluster, {0: [2, 3], 1: [1]})
    assert start_move(cluster, (2,)) == {tp(): None}
    assert list(running(cluster)) == [tp()]
    both = events.ApiPartitionReassignment({tp(): None, tp(partition=1): (1,)})
    assert outcome(cluster, cluster.controller.submit(both)) == {tp(): None, tp(partition=1): None}
    assert assigned(cluster) == ((2, 3), (), ())
    assert list(running(cluster)) == []
    cluster.start(3)
    assert cluster.state("t").leader == 3


def test_a_partition_that_never_had_a_leader_gets_one_where_it_is_moved_to(cluster):
    crash(cluster, 3)
    create(cluster, {0: [3]})
    assert start_move(cluster, (2,)) == {tp(): None}
    state = cluster.state("t")
    assert (state.leader, state.isr) == (2, (2,))
    assert cluster.brokers[2].hosted[tp()] == (2, state.leader_epoch)
    assert (assigned(cluster), list(running(cluster))) == (((2,), (), ()), [])
    cluster.start(3)
    assert tp() not in cluster.brokers[3].hosted


def test_what_leads_a_partition_that_never_had_a_leader_is_not_given_up_for_one_that_is_dead(cluster):
    crash(cluster, 3)
    create(cluster, {0: [3]})
    start_move(cluster, (3, 2))
    assert (cluster.state("t").leader, list(running(cluster))) == (2, [tp()])
    assert start_move(cluster, None)[tp()].code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    cluster.start(3)
    assert cluster.brokers[3].hosted[tp()][0] == 2
    alter_partition(cluster, [2, 3])
    assert (assigned(cluster), list(running(cluster))) == (((3, 2), (), ()), [])


def test_a_wish_that_changes_nothing_where_there_is_no_leader_prevents_no_failover(cluster):
    crash(cluster, 3)
    create(cluster, {0: [3]})
    crash(cluster, 1)
    wish = ReassignPartitionsZNode.encode({tp(): (3,)})
    cluster.zookeeper.ensure(ReassignPartitionsZNode.PATH, wish)
    cluster.settle()
    cluster.start(1)
    assert cluster.controller.is_active
    assert not cluster.exists(ReassignPartitionsZNode.PATH)


def test_a_deletion_waits_for_every_partition_that_is_moved(cluster):
    create(cluster, {0: [2], 1: [2]})
    both = events.ApiPartitionReassignment({tp(): (3,), tp(partition=1): (3,)})
    outcome(cluster, cluster.controller.submit(both))
    cluster.delete_topic("t")
    cluster.settle()
    alter_partition(cluster, [2, 3])
    assert list(running(cluster)) == [tp(partition=1)]
    assert cluster.brokers[2].hosted.keys() == {tp(partition=1)}, "nothing is deleted under the move that goes on"
    cancel = events.ApiPartitionReassignment({tp(partition=1): None})
    assert type(outcome(cluster, cluster.controller.submit(cancel))[tp(partition=1)]).code == 3
    alter_partition(cluster, [2, 3], index=1)
    assert not cluster.exists("/brokers/topics/t")
    assert all(not broker.hosted for broker in cluster.brokers.values())


def test_a_move_is_not_given_up_where_only_its_new_replicas_are_in_sync(cluster):
    create(cluster, {0: [2]})
    crash(cluster, 1)
    cluster.start(1)
    start_move(cluster, (3, 1))
    alter_partition(cluster, [2, 3])
    crash(cluster, 2)
    before = cluster.state("t")
    assert (before.leader, before.isr) == (3, (3,))
    for target in (None, (1, 2)):
        assert start_move(cluster, target)[tp()].code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert (cluster.state("t"), cluster.brokers[3].hosted[tp()][0]) == (before, 3)

    cluster.start(2)
    alter_partition(cluster, [3, 2], leader=3)
    assert start_move(cluster, None) == {tp(): None}
    assert (cluster.state("t").leader, cluster.state("t").isr, assigned(cluster)) == (2, (2,), ((2,), (), ()))


def test_a_leader_that_a_new_target_leaves_out_hands_over_first(cluster):
    create(cluster, {0: [2]})
    start_move(cluster, (3, 1))
    alter_partition(cluster, [2, 3])
    crash(cluster, 2)
    cluster.start(2)
    alter_partition(cluster, [3, 2], leader=3)
    assert start_move(cluster, (1, 2)) == {tp(): None}
    state = cluster.state("t")
    assert (state.leader, state.isr, assigned(cluster)) == (2, (2,), ((1, 2), (1,), ()))
    assert tp() not in cluster.brokers[3].hosted
    assert cluster.brokers[2].hosted[tp()] == (2, state.leader_epoch)


def test_a_replica_in_sync_is_new_to_nobody(cluster):
    """It may be in a directory that failed: made anew in another one, empty, it would lead."""
    create(cluster, {0: [2]})
    start_move(cluster, (3, 1))
    alter_partition(cluster, [2, 3])
    crash(cluster, 2)
    crash(cluster, 3)
    mark = len(cluster.sent)
    cluster.start(3)
    told = [
        (to, state.is_new)
        for to, request in requests_since(cluster, mark, LeaderAndIsrRequest)
        for state in partition_states(request)
    ]
    assert (3, False) in told and (1, True) in told
    assert (3, True) not in told


def test_a_move_that_leaves_a_batch_half_done_makes_the_controller_resign(cluster, monkeypatch):
    create(cluster, {0: [2]})
    epoch = cluster.controller.controller_epoch

    def fails_once(_):
        monkeypatch.undo()
        raise ValueError("a bug")

    monkeypatch.setattr(RequestBatch, "requests", fails_once)
    pending = cluster.controller.submit(events.ApiPartitionReassignment({tp(): (3,)}))
    cluster.settle()
    assert isinstance(pending.error, BatchAbandoned)
    assert cluster.controller.controller_epoch == epoch + 1
    assert cluster.brokers[3].hosted[tp()][0] == 2, "the next controller told the brokers"


def test_what_a_move_added_goes_though_the_controller_that_gave_it_up_died(cluster, monkeypatch):
    create(cluster, {0: [2]})
    start_move(cluster, (3, 1))
    alter_partition(cluster, [2, 3])
    crash(cluster, 2)
    cluster.start(2)
    alter_partition(cluster, [3, 2], leader=3)
    write = reassignment._write

    def dies_after_it(*arguments):
        write(*arguments)
        monkeypatch.undo()
        raise gevent.GreenletExit

    monkeypatch.setattr(reassignment, "_write", dies_after_it)
    cluster.controller.submit(events.ApiPartitionReassignment({tp(): None}))
    cluster.settle()
    crash(cluster, 1)
    assert assigned(cluster) == ((2,), (), ())
    state = cluster.state("t")
    assert (state.leader, state.isr) == (2, (2,))
    assert tp() not in cluster.brokers[3].hosted


def test_what_a_move_added_stays_where_it_alone_is_in_sync(cluster, monkeypatch):
    create(cluster, {0: [2]})
    start_move(cluster, (3, 1))
    alter_partition(cluster, [2, 3])
    crash(cluster, 2)
    before = cluster.state("t")
    assert before.isr == (3,)
    # Somebody wrote so, by whatever tool.
    znode = cluster.zookeeper.nodes[TopicZNode.path("t")]
    znode.data = TopicZNode.encode(TopicAssignment({0: PartitionReplicas((2,))}, TOPIC_ID))
    crash(cluster, 1)
    cluster.start(1)
    assert cluster.state("t").isr == (3,)
    assert tp() in cluster.brokers[3].hosted


def test_a_replica_whose_directory_has_failed_joins_no_isr(cluster):
    create(cluster, {0: [2]})
    start_move(cluster, (3,))
    cluster.brokers[3].failed_dirs.add(tp())
    for number in range(2):
        path = f"{LogDirEventNotificationZNode.PATH}/log_dir_event_{number:010}"
        cluster.zookeeper.ensure(path, LogDirEventNotificationZNode.encode(3))
        cluster.settle()
    answer = alter_partition(cluster, [2, 3])
    assert answer.topics[0].partitions[0].error_code == ErrorCode.INELIGIBLE_REPLICA
    assert tp() in cluster.brokers[2].hosted
