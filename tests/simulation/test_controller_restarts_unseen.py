"""A broker restarts while no controller looks: the next one takes it out of the ISRs before anybody relies on it."""

import uuid
from dataclasses import replace

import pytest

from kafka_zk.controller import events
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.znodes import TopicPartitionStateZNode, TopicZNode
from tests.simulation.scenes import TOPIC_ID, alter_partition, outcome, start_move, tp

UNCLEAN = b'{"version":1,"config":{"unclean.leader.election.enable":"true"}}'


def create(cluster, topic, assignment):
    cluster.create_topic(topic, assignment, TOPIC_ID if topic == "t" else None)
    cluster.settle()


def restart_unseen(cluster, broker_id, elected=2):
    """The controller, broker 1, hangs and then dies; meanwhile another broker restarts, and `elected` comes next."""
    hang(cluster, 1)
    cluster.crash(broker_id)
    cluster.start(broker_id)
    hang(cluster, 5 - elected)
    cluster.crash(1)
    cluster.settle()
    assert cluster.controller is cluster.members[elected].controller


def hang(cluster, broker_id):
    cluster.members[broker_id].controller._greenlet.kill()


def write_isr(cluster, isr):
    """The last controller wrote it, and did nothing more about it."""
    path = TopicPartitionStateZNode.path(tp())
    state = replace(cluster.state("t"), isr=isr)
    cluster.zookeeper.client().set(path, TopicPartitionStateZNode.encode(state))


def running(cluster):
    return list(outcome(cluster, cluster.controller.submit(events.ListPartitionReassignments(None))))


@pytest.mark.parametrize("elected", [2, 3], ids=["another broker is elected", "it is elected itself"])
def test_a_member_that_restarted_unseen_leaves_the_isr_and_follows(cluster, elected):
    create(cluster, "t", {0: [3, 2]})
    restart_unseen(cluster, 3, elected)
    state = cluster.state("t")
    assert (state.leader, state.isr) == (2, (2,))
    assert cluster.brokers[3].hosted[tp()] == cluster.brokers[3].metadata[tp()] == (2, state.leader_epoch)
    assert cluster.brokers[2].live_brokers == cluster.brokers[3].live_brokers == [2, 3]
    alter_partition(cluster, [2, 3])
    assert cluster.state("t").isr == (2, 3)


def test_who_restarted_unseen_leads_again_what_only_it_has(cluster):
    create(cluster, "t", {0: [3, 2]})
    create(cluster, "u", {0: [3]})
    restart_unseen(cluster, 3)
    assert (cluster.state("u").leader, cluster.state("u").isr) == (3, (3,))
    assert cluster.brokers[3].hosted[TopicPartition("u", 0)][0] == 3


def test_who_restarted_unseen_leads_what_only_it_has_before_an_unclean_election(cluster):
    """Those whose members are all dead have theirs all the same."""
    create(cluster, "t", {0: [3, 2]})
    topic_ids = {"only-3": uuid.UUID(int=78), "only-1": uuid.UUID(int=79)}
    for (topic, topic_id), replicas in zip(topic_ids.items(), ([3, 2], [1, 2]), strict=True):
        cluster.create_topic(topic, {0: replicas}, topic_id)
        cluster.zookeeper.client().set(f"/config/topics/{topic}", UNCLEAN)
        cluster.settle()
        alter_partition(cluster, replicas[:1], leader=replicas[0], topic=topic, topic_id=topic_id)
    restart_unseen(cluster, 3)
    assert {topic: (cluster.state(topic).leader, cluster.state(topic).isr) for topic in topic_ids} == {
        "only-3": (3, (3,)),
        "only-1": (2, (2,)),
    }


def test_a_move_does_not_end_with_a_new_replica_that_restarted_unseen(cluster):
    """It was in sync when the last controller wrote so; what it had not on its disk it may have lost since."""
    create(cluster, "t", {0: [2]})
    start_move(cluster, (3,))
    hang(cluster, 1)
    write_isr(cluster, (2, 3))
    restart_unseen(cluster, 3)
    assert (cluster.state("t").leader, cluster.state("t").isr) == (2, (2,))
    assert running(cluster) == [tp()]
    alter_partition(cluster, [2, 3])
    assert (cluster.state("t").leader, cluster.state("t").isr, running(cluster)) == (3, (3,), [])
    found = TopicZNode.decode(cluster.zookeeper.nodes[TopicZNode.path("t")].data).partitions[0]
    assert (found.replicas, found.adding, found.removing) == ((3,), (), ())
    assert tp() not in cluster.brokers[2].hosted


def test_a_topic_whose_deletion_meets_a_restart_unseen_is_deleted(cluster):
    create(cluster, "t", {0: [3, 2]})
    hang(cluster, 1)
    cluster.delete_topic("t")
    restart_unseen(cluster, 3)
    assert not cluster.exists("/brokers/topics/t")
    assert all(not broker.hosted for broker in cluster.brokers.values())
