"""Brokers that die, come back, bounce and lose a directory, over a model ZooKeeper."""

from kafka_zk.config.endpoints import EndPoint
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_zk.zk.registration import update_registration
from kafka_zk.zk.znodes import BrokerRegistration, LogDirEventNotificationZNode
from tests.simulation.scenes import requests_since, tp


def test_a_dead_leader_is_replaced_and_leaves_the_isr(cluster):
    cluster.create_topic("t", {0: [2, 3]})
    cluster.settle()
    cluster.crash(2)
    cluster.settle()
    assert (cluster.state("t").leader, cluster.state("t").isr) == (3, (3,))
    assert cluster.brokers[3].hosted[tp()][0] == 3


def test_the_last_replica_stays_in_the_isr_of_a_partition_without_leader(cluster):
    cluster.create_topic("t", {0: [3]})
    cluster.settle()
    cluster.crash(3)
    cluster.settle()
    assert (cluster.state("t").leader, cluster.state("t").isr, cluster.state("t").leader_epoch) == (-1, (3,), 1)
    cluster.start(3)
    cluster.settle()
    assert (cluster.state("t").leader, cluster.state("t").isr) == (3, (3,))


def test_a_broker_that_comes_back_learns_everything_it_hosts(cluster):
    cluster.create_topic("t", {0: [2, 3]})
    cluster.settle()
    cluster.crash(3)
    cluster.settle()
    cluster.start(3)
    cluster.settle()
    assert cluster.brokers[3].hosted[tp()][0] == 2
    assert cluster.brokers[3].metadata[tp()][0] == 2


def test_a_broker_that_bounced_unseen_is_treated_as_dead_and_new(cluster):
    cluster.create_topic("t", {0: [2, 3]})
    cluster.settle()
    cluster.members[2].zk.expire()
    cluster.settle()
    assert cluster.state("t").leader == 3
    assert cluster.brokers[2].hosted[tp()] == (3, cluster.state("t").leader_epoch)


def test_a_changed_listener_is_told_to_everybody(cluster):
    mark = len(cluster.sent)
    registration = BrokerRegistration(3, (EndPoint("PLAINTEXT", "PLAINTEXT", "elsewhere", 1),))
    update_registration(cluster.members[3].zk, registration)
    cluster.settle()
    updates = requests_since(cluster, mark, UpdateMetadataRequest)
    assert sorted(broker for broker, _ in updates) == [1, 2, 3]
    assert updates[0][1].live_brokers[2].endpoints[0].host == "elsewhere"


def test_the_controller_itself_goes_to_the_changed_listener(cluster):
    channels = cluster.controller.active_controller.channels
    connect, asked = channels._connect, []

    def noted(endpoint, broker_id):
        asked.append((broker_id, endpoint.host))
        return connect(endpoint, broker_id)

    channels._connect = noted
    registration = BrokerRegistration(3, (EndPoint("PLAINTEXT", "PLAINTEXT", "elsewhere", 1),))
    update_registration(cluster.members[3].zk, registration)
    cluster.settle()
    assert asked == [(3, "elsewhere")]
    assert cluster.brokers[3].requests[-1].live_brokers[2].endpoints[0].host == "elsewhere"


def test_a_failed_log_directory_moves_the_leadership(cluster):
    cluster.create_topic("t", {0: [2, 3]})
    cluster.settle()
    cluster.brokers[2].failed_dirs = {tp()}
    cluster.zookeeper.client().create(
        LogDirEventNotificationZNode.PREFIX, LogDirEventNotificationZNode.encode(2), sequential=True
    )
    cluster.settle()
    assert (cluster.state("t").leader, cluster.state("t").isr) == (3, (3,))
    assert cluster.zookeeper.nodes["/log_dir_event_notification"].children == set()
