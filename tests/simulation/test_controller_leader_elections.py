"""Leader elections that are asked for, allowed, or due by the clock, over a model ZooKeeper."""

from kafka_zk.controller import events
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_zk.zk.znodes import IsrChangeNotificationZNode, PreferredReplicaElectionZNode
from tests.simulation.fake_cluster import FakeCluster
from tests.simulation.scenes import TOPIC_ID, alter_partition, outcome, requests_since, tp


def led_by_another(cluster):
    cluster.create_topic("t", {0: [2, 3]}, TOPIC_ID)
    cluster.settle()
    cluster.crash(2)
    cluster.settle()
    cluster.start(2)
    cluster.settle()
    alter_partition(cluster, [3, 2], leader=3)
    assert cluster.state("t").leader == 3


def test_a_preferred_election_brings_the_leadership_back(cluster):
    led_by_another(cluster)
    event = events.ReplicaLeaderElection((tp(),), events.ElectionType.PREFERRED)
    assert outcome(cluster, cluster.controller.submit(event)) == {tp(): 2}
    again = outcome(cluster, cluster.controller.submit(event))
    assert again[tp()].code == 84
    assert cluster.brokers[3].hosted[tp()][0] == 2


def test_the_old_tools_znode_starts_a_preferred_election_and_vanishes(cluster):
    led_by_another(cluster)
    for _ in range(2):
        cluster.zookeeper.ensure(PreferredReplicaElectionZNode.PATH, PreferredReplicaElectionZNode.encode([tp()]))
        cluster.settle()
        assert not cluster.exists(PreferredReplicaElectionZNode.PATH)
    assert cluster.state("t").leader == 2


def test_an_unclean_election_takes_whoever_is_alive_and_says_recovering(cluster):
    cluster.create_topic("t", {0: [2, 3]}, TOPIC_ID)
    cluster.settle()
    alter_partition(cluster, [2])
    cluster.crash(2)
    cluster.settle()
    assert cluster.state("t").leader == -1
    event = events.ReplicaLeaderElection((tp(), tp("nope")), events.ElectionType.UNCLEAN)
    results = outcome(cluster, cluster.controller.submit(event))
    assert results[tp()] == 3
    assert results[tp("nope")].code == 3
    assert (cluster.state("t").isr, cluster.state("t").recovery_state) == ((3,), 1)


def test_allowing_unclean_elections_on_a_topic_elects_at_once(cluster):
    cluster.create_topic("t", {0: [2, 3]}, TOPIC_ID)
    cluster.settle()
    alter_partition(cluster, [2])
    cluster.crash(2)
    cluster.settle()
    config = b'{"version":1,"config":{"unclean.leader.election.enable":"true"}}'
    cluster.zookeeper.client().set("/config/topics/t", config)
    cluster.controller.enable_topic_unclean_election("t")
    cluster.settle()
    assert cluster.state("t").leader == 3


def test_the_brokers_default_of_unclean_elections_counts_from_when_it_changes(cluster):
    cluster.create_topic("t", {0: [2, 3]}, TOPIC_ID)
    cluster.settle()
    alter_partition(cluster, [2])
    cluster.controller.use_default_unclean_election(True)
    cluster.controller.use_default_unclean_election(False)
    cluster.crash(2)
    cluster.settle()
    assert cluster.state("t").leader == -1
    cluster.controller.use_default_unclean_election(True)
    cluster.settle()
    assert cluster.state("t").leader == 3


def test_leaderships_are_rebalanced_five_seconds_after_the_election_and_then_regularly():
    cluster = FakeCluster([1, 2, 3])
    cluster.start()
    led_by_another(cluster)
    cluster.clock.advance(4_000)
    cluster.settle()
    assert cluster.state("t").leader == 3
    cluster.clock.advance(1_000)
    cluster.settle()
    assert cluster.state("t").leader == 2
    cluster.crash(2)
    cluster.settle()
    cluster.start(2)
    cluster.settle()
    alter_partition(cluster, [3, 2], leader=3)
    cluster.clock.advance(299_000)
    cluster.settle()
    assert cluster.state("t").leader == 3
    cluster.clock.advance(1_000)
    cluster.settle()
    assert cluster.state("t").leader == 2
    cluster.stop()


def test_an_isr_change_notification_of_an_older_leader_is_told_and_removed(cluster):
    cluster.create_topic("t", {0: [2, 3]}, TOPIC_ID)
    cluster.settle()
    mark = len(cluster.sent)
    cluster.zookeeper.client().create(
        IsrChangeNotificationZNode.PREFIX, IsrChangeNotificationZNode.encode([tp()]), sequential=True
    )
    cluster.settle()
    assert len(requests_since(cluster, mark, UpdateMetadataRequest)) == 3
    assert cluster.zookeeper.nodes[IsrChangeNotificationZNode.PATH].children == set()
