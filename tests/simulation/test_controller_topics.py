"""Topics and partitions made, deleted and made again, over a model ZooKeeper."""

import uuid

from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_zk.protocol.messages.stop_replica import StopReplicaRequest
from kafka_zk.zk.operations import Delete, SetData
from kafka_zk.zk.znodes import TopicZNode
from tests.simulation.scenes import TOPIC_ID, partition_states, requests_since, tp


def test_a_new_topic_gets_leaders_states_and_new_replicas(cluster):
    mark = len(cluster.sent)
    cluster.create_topic("t", {0: [1, 2], 1: [3, 1]}, TOPIC_ID)
    cluster.settle()
    assert (cluster.state("t", 0).leader, cluster.state("t", 0).isr) == (1, (1, 2))
    assert (cluster.state("t", 1).leader, cluster.state("t", 1).isr) == (3, (3, 1))
    sent = requests_since(cluster, mark, LeaderAndIsrRequest)
    assert sorted(broker for broker, _ in sent) == [1, 2, 3]
    assert all(state.is_new for _, request in sent for state in partition_states(request))
    assert all(request.topic_states[0].topic_id == TOPIC_ID for _, request in sent)
    assert all(broker.metadata == {tp(): (1, 0), tp("t", 1): (3, 0)} for broker in cluster.brokers.values())


def test_partitions_may_be_added(cluster):
    cluster.create_topic("t", {0: [1, 2]}, TOPIC_ID)
    cluster.settle()
    data = b'{"partitions":{"0":[1,2],"1":[2,3]},"topic_id":"AAAAAAAAAAAAAAAAAAAATQ","version":3}'
    cluster.zookeeper.client().set(TopicZNode.path("t"), data)
    cluster.settle()
    assert cluster.state("t", 1).leader == 2
    assert cluster.brokers[3].hosted == {tp("t", 1): (2, 0)}


def test_a_topic_of_an_older_protocol_gets_an_id_and_keeps_its_replicas(cluster):
    cluster.create_topic("t", {0: [1, 2]}, topic_id=None)
    cluster.settle()
    node = cluster.zookeeper.nodes[TopicZNode.path("t")]
    assignment = TopicZNode.decode(node.data)
    assert assignment.topic_id is not None
    assert assignment.partitions[0].replicas == (1, 2)


def test_a_topic_whose_replicas_are_all_dead_waits_for_one_of_them(cluster):
    cluster.crash(3)
    cluster.settle()
    cluster.create_topic("t", {0: [3]})
    cluster.settle()
    assert not cluster.exists("/brokers/topics/t/partitions/0/state")
    cluster.start(3)
    cluster.settle()
    assert cluster.state("t").leader == 3
    assert cluster.brokers[3].hosted == {tp(): (3, 0)}


def test_a_deleted_topic_leaves_no_znode_no_replica_and_no_metadata(cluster):
    cluster.create_topic("t", {0: [1, 2], 1: [2, 3]})
    cluster.settle()
    mark = len(cluster.sent)
    cluster.delete_topic("t")
    cluster.settle()
    for path in ("/brokers/topics/t", "/config/topics/t", "/admin/delete_topics/t"):
        assert not cluster.exists(path)
    assert all(not broker.hosted and not broker.metadata for broker in cluster.brokers.values())
    stops = [s for _, r in requests_since(cluster, mark, StopReplicaRequest) for s in partition_states(r)]
    assert {state.leader_epoch for state in stops} == {-2}
    assert not requests_since(cluster, mark, LeaderAndIsrRequest)


def test_a_topic_may_be_made_again_after_its_deletion(cluster):
    cluster.create_topic("t", {0: [1, 2]}, TOPIC_ID)
    cluster.settle()
    cluster.delete_topic("t")
    cluster.settle()
    cluster.create_topic("t", {0: [2, 3]}, uuid.UUID(int=78))
    cluster.settle()
    assert cluster.state("t").leader == 2
    assert cluster.controller.active_controller.context.topic_id("t") == uuid.UUID(int=78)


def test_a_topic_that_is_made_anew_amid_its_deletion_keeps_its_overrides(cluster):
    zookeeper = cluster.zookeeper
    config, apply = b'{"version":1,"config":{"flush.ms":"1"}}', zookeeper.apply

    def applied(session_id, operations):
        results = apply(session_id, operations)
        if Delete(TopicZNode.path("t"), -1) in operations:
            zookeeper.apply = apply
            zookeeper.ensure("/config/topics/t")
            zookeeper.apply(0, [SetData("/config/topics/t", config)])
            cluster.create_topic("t", {0: [3]}, uuid.UUID(int=78))
        return results

    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    zookeeper.apply = applied
    cluster.delete_topic("t")
    cluster.settle()
    assert cluster.assignment("t") == {0: (3,)}
    assert zookeeper.nodes["/config/topics/t"].data == config


def test_a_topic_that_is_made_anew_is_not_deleted_by_the_next_controller(cluster):
    zookeeper = cluster.zookeeper
    apply = zookeeper.apply

    def applied(session_id, operations):
        results = apply(session_id, operations)
        if Delete(TopicZNode.path("t"), -1) in operations:
            zookeeper.apply = apply
            # By somebody who looked for a wish to delete it before there was one.
            cluster.create_topic("t", {0: [3]}, uuid.UUID(int=78))
            cluster.members[1].zk.lose_session()
        return results

    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    zookeeper.apply = applied
    cluster.delete_topic("t")
    cluster.settle()
    assert cluster.controller.controller_epoch == 2
    assert cluster.assignment("t") == {0: (3,)}
    assert not cluster.exists("/admin/delete_topics/t")


def test_a_deletion_waits_for_the_replica_that_is_down(cluster):
    cluster.create_topic("t", {0: [1, 3]})
    cluster.settle()
    cluster.crash(3)
    cluster.settle()
    cluster.delete_topic("t")
    cluster.settle()
    assert cluster.exists("/brokers/topics/t")
    assert cluster.brokers[1].metadata == {}
    cluster.start(3)
    cluster.settle()
    assert not cluster.exists("/brokers/topics/t")


def test_a_new_controller_finishes_a_deletion(cluster):
    cluster.create_topic("t", {0: [2, 3]})
    cluster.settle()
    cluster.crash(3)
    cluster.settle()
    cluster.delete_topic("t")
    cluster.settle()
    cluster.crash(1)
    cluster.settle()
    cluster.start(3)
    cluster.settle()
    assert not cluster.exists("/brokers/topics/t")


def test_a_wish_to_delete_an_unknown_topic_is_removed(cluster):
    cluster.delete_topic("nope")
    cluster.settle()
    assert not cluster.exists("/admin/delete_topics/nope")


def test_partitions_added_during_a_deletion_are_taken_out_again(cluster):
    cluster.create_topic("t", {0: [1, 3]}, TOPIC_ID)
    cluster.settle()
    cluster.crash(3)
    cluster.settle()
    cluster.delete_topic("t")
    cluster.settle()
    data = b'{"partitions":{"0":[1,3],"1":[1]},"topic_id":"AAAAAAAAAAAAAAAAAAAATQ","version":3}'
    cluster.zookeeper.client().set(TopicZNode.path("t"), data)
    cluster.settle()
    assignment = TopicZNode.decode(cluster.zookeeper.nodes[TopicZNode.path("t")].data)
    assert (sorted(assignment.partitions), assignment.topic_id) == ([0], TOPIC_ID)


def test_a_large_topic_is_deleted_many_znodes_at_a_time(cluster):
    cluster.create_topic("t", {index: [1 + index % 3] for index in range(300)}, TOPIC_ID)
    cluster.settle()
    rounds = []
    zk = cluster.members[1].zk
    multi_many = zk.multi_many

    def counted(batches, **options):
        batches = list(batches)
        rounds.append(len(batches))
        return multi_many(batches, **options)

    zk.multi_many = counted
    cluster.delete_topic("t")
    cluster.settle()
    assert not cluster.exists("/brokers/topics/t") and not cluster.exists("/admin/delete_topics/t")
    assert sum(rounds) >= 603
    assert len(rounds) <= 10
