"""The whole controller over a model ZooKeeper: scenes, and Apache's own requests for the same scenes."""

import json
import uuid
from pathlib import Path

import gevent
import gevent.event
import pytest

from kafka_zk.config.endpoints import EndPoint
from kafka_zk.controller import events, loop
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.errors import BrokerNotAvailable, NotController, StaleBrokerEpoch, StaleControllerEpoch
from kafka_zk.protocol.header import decode_request_header
from kafka_zk.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_zk.protocol.messages.stop_replica import StopReplicaRequest
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_zk.protocol.types import TopicPartition, uuid_from_base64
from kafka_zk.zk.registration import update_registration
from kafka_zk.zk.znodes import (
    BrokerRegistration,
    IsrChangeNotificationZNode,
    LogDirEventNotificationZNode,
    PreferredReplicaElectionZNode,
    ReassignPartitionsZNode,
    TopicZNode,
)
from tests.simulation.fake_cluster import FakeCluster

TOPIC_ID = uuid.UUID(int=77)


@pytest.fixture
def cluster(request):
    made = FakeCluster([1, 2, 3], auto_leader_rebalance_enable=False)
    made.start()
    yield made
    made.stop()


def tp(topic="t", partition=0):
    return TopicPartition(topic, partition)


def requests_since(cluster, mark, kind=object):
    return [(broker, request) for broker, request in cluster.sent[mark:] if isinstance(request, kind)]


def partition_states(request):
    return [state for topic in request.topic_states for state in topic.partition_states]


def outcome(cluster, pending):
    cluster.settle()
    assert pending.is_done
    return pending.value


# What monitoring sees


def shown(metrics, name, **tags):
    """The attributes of one of the channels' metrics, None where there is no such metric."""
    metric = metrics.find(f"kafka.controller:type=ControllerChannelManager,name={name}", **tags)
    return None if metric is None else metric.attributes()


def test_the_queue_of_each_broker_is_shown_while_it_lives_and_only_on_the_controller(cluster):
    metrics = cluster.members[1].metrics
    assert [shown(metrics, "QueueSize", **{"broker-id": each}) for each in (1, 2, 3)] == [{"Value": 0}] * 3
    cluster.brokers[3].is_up = False
    for topic in ("t", "u", "v"):
        cluster.create_topic(topic, {0: [1]})
        cluster.settle()
    # The first request to 3 is tried again and again; those behind it wait.
    waiting = shown(metrics, "QueueSize", **{"broker-id": 3})["Value"]
    assert waiting >= 2
    assert shown(metrics, "TotalQueueSize")["Value"] == waiting
    metrics.fold()
    taken = shown(metrics, "RequestRateAndQueueTimeMs", **{"broker-id": 3})["Count"]
    cluster.clock.advance(60)
    cluster.brokers[3].is_up = True
    cluster.clock.advance(60)
    cluster.settle()
    assert shown(metrics, "TotalQueueSize") == {"Value": 0}
    metrics.fold()
    times = shown(metrics, "RequestRateAndQueueTimeMs", **{"broker-id": 3})
    assert times["Count"] == taken + waiting
    assert times["Max"] == 120
    assert times["LatencyUnit"] == "MILLISECONDS"

    cluster.crash(3)
    cluster.settle()
    assert shown(metrics, "QueueSize", **{"broker-id": 3}) is None
    assert shown(metrics, "RequestRateAndQueueTimeMs", **{"broker-id": 3}) is None
    assert shown(metrics, "QueueSize", **{"broker-id": 2}) is not None
    assert shown(cluster.members[2].metrics, "QueueSize", **{"broker-id": 2}) is None
    assert shown(cluster.members[2].metrics, "TotalQueueSize") == {"Value": 0}


# Election


def test_the_first_broker_becomes_controller_and_tells_everybody_of_each_newcomer(cluster):
    assert cluster.controller.settings.broker_id == 1
    assert cluster.controller.controller_epoch == 1
    assert all(broker.live_brokers == [1, 2, 3] for broker in cluster.brokers.values())
    assert {member.controller.active_controller_id for member in cluster.members.values()} == {1}


def test_a_child_of_brokers_ids_that_is_no_id_is_nobody(cluster):
    cluster.members[3].zk.create("/brokers/ids/abc", b"")
    cluster.crash(1)
    cluster.settle()
    assert cluster.controller.controller_epoch == 2
    assert cluster.brokers[2].live_brokers == [2, 3]


def test_a_failover_that_fails_is_tried_again_after_a_pause_and_not_in_a_storm(monkeypatch):
    alone = FakeCluster([1])
    attempts = []

    def fail(term):
        attempts.append(term.context.epoch)
        raise RuntimeError("a fault of ours")

    with monkeypatch.context() as broken:
        broken.setattr(loop, "take_office", fail)
        alone.start()
        assert attempts == [1]
        alone.clock.advance(loop.FAILED_FAILOVER_PAUSE_MS - 1)
        alone.settle()
        assert attempts == [1]
        alone.clock.advance(1)
        alone.settle()
        assert attempts == [1, 2]
    alone.clock.advance(loop.FAILED_FAILOVER_PAUSE_MS)
    alone.settle()
    assert alone.controller.controller_epoch == 3
    alone.stop()


def test_an_epoch_that_cannot_be_read_is_looked_at_again_until_somebody_has_mended_it(caplog):
    alone = FakeCluster([1])
    alone.zookeeper.ensure("/controller_epoch", b"seven")
    alone.start()
    for _ in range(3):
        assert not alone.members[1].controller.is_active
        alone.clock.advance(loop.FAILED_FAILOVER_PAUSE_MS)
        alone.settle()
    complaints = [record for record in caplog.records if "Not a controller epoch: b'seven'" in record.message]
    assert len(complaints) == 4
    assert not any(record.exc_info for record in complaints)
    alone.members[1].zk.set("/controller_epoch", b"7")
    alone.clock.advance(loop.FAILED_FAILOVER_PAUSE_MS)
    alone.settle()
    assert alone.controller.controller_epoch == 8
    alone.stop()


def test_another_broker_takes_over_with_the_next_epoch_when_the_controller_dies(cluster):
    cluster.crash(1)
    cluster.settle()
    assert cluster.controller.controller_epoch == 2
    assert cluster.brokers[2].live_brokers == [2, 3]


def test_brokers_get_the_broker_list_before_the_first_leadership_of_a_new_controller(cluster):
    cluster.create_topic("t", {0: [2, 3]})
    cluster.settle()
    mark = len(cluster.sent)
    cluster.crash(1)
    cluster.settle()
    for broker_id in (2, 3):
        first = next(request for to, request in cluster.sent[mark:] if to == broker_id)
        assert isinstance(first, UpdateMetadataRequest)
        assert first.topic_states == []


def test_deleting_the_controller_znode_starts_a_new_term(cluster):
    cluster.zookeeper.client().delete("/controller")
    cluster.settle()
    assert cluster.controller.controller_epoch == 2


def test_a_controller_that_lost_its_session_resigns_and_registers_before_it_competes_again(cluster):
    old_epoch = cluster.brokers[1].epoch
    pending = cluster.members[1].controller.submit(events.ListPartitionReassignments(None))
    cluster.members[1].zk.lose_session()
    assert isinstance(pending.error, NotController)
    cluster.settle()
    assert not cluster.members[1].controller.is_active
    assert cluster.controller.controller_epoch == 2
    cluster.members[1].zk.open_next_session()
    cluster.settle()
    assert cluster.brokers[1].epoch > old_epoch
    assert cluster.controller.controller_epoch == 2
    assert cluster.brokers[2].live_brokers == [1, 2, 3]


def test_a_deposed_controller_writes_nothing_more_and_resigns_at_its_next_write(cluster):
    cluster.create_topic("t", {0: [1, 2]})
    cluster.settle()
    # Somebody else raised the epoch without this controller noticing /controller.
    cluster.zookeeper.client().set("/controller_epoch", b"9")
    before = cluster.state("t")
    cluster.create_topic("u", {0: [1, 2]})
    cluster.settle()
    assert cluster.state("t") == before
    assert not cluster.exists("/brokers/topics/u/partitions/0/state")


def test_a_controller_stops_although_zookeeper_does_not_answer(cluster, monkeypatch):
    monkeypatch.setattr(loop, "SHUTDOWN_GRACE_S", 0.01)
    cluster.zookeeper.switch = gevent.event.Event().wait
    cluster.controller.use_default_unclean_election(True)
    pending = cluster.controller.submit(events.AllocateProducerIds(1, cluster.brokers[1].epoch))
    member = cluster.members[1]
    gevent.sleep(0)
    with gevent.Timeout(5):
        member.controller.shutdown()
    assert not member.controller.is_active
    assert not pending.is_done or pending.error is not None
    cluster.zookeeper.switch = lambda: None


# Topics


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
    assert cluster.controller.term.context.topic_id("t") == uuid.UUID(int=78)


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


# Brokers


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


# Requests


def alter_partition(cluster, isr, *, leader=2, topic_id=TOPIC_ID, **changes):
    state = cluster.state("t")
    data = RequestPartitionData(
        partition_index=0,
        leader_epoch=state.leader_epoch,
        new_isr_with_epochs=[BrokerState(broker_id=member) for member in isr],
        partition_epoch=state.partition_epoch,
    )
    request = AlterPartitionRequest(
        broker_id=leader,
        broker_epoch=changes.get("broker_epoch", cluster.brokers[leader].epoch),
        topics=[RequestTopicData(topic_id=topic_id, partitions=[data])],
    )
    return outcome(cluster, cluster.controller.submit(events.AlterPartitionReceived(request, 3)))


def test_an_isr_change_is_written_answered_and_told_to_everybody(cluster):
    cluster.create_topic("t", {0: [2, 3]}, TOPIC_ID)
    cluster.settle()
    mark = len(cluster.sent)
    (answer,) = alter_partition(cluster, [2]).topics[0].partitions
    assert (answer.error_code, answer.leader_id, answer.isr, answer.partition_epoch) == (0, 2, [2], 1)
    assert cluster.state("t").isr == (2,)
    assert cluster.state("t").leader_epoch == 0
    assert len(requests_since(cluster, mark, UpdateMetadataRequest)) == 3
    assert not requests_since(cluster, mark, LeaderAndIsrRequest)


def test_an_unknown_topic_id_and_a_stale_broker_are_refused(cluster):
    cluster.create_topic("t", {0: [2, 3]}, TOPIC_ID)
    cluster.settle()
    (answer,) = alter_partition(cluster, [2], topic_id=uuid.UUID(int=5)).topics[0].partitions
    assert answer.error_code == 100
    assert alter_partition(cluster, [2], broker_epoch=1).error_code == 77


def test_a_broker_that_is_not_controller_says_so(cluster):
    other = cluster.members[2].controller
    for event, error in (
        (events.AllocateProducerIds(1, 1), NotController),
        (events.ControlledShutdown(1, 1), StaleControllerEpoch),
    ):
        pending = other.submit(event)
        cluster.settle()
        assert isinstance(pending.error, error)


def test_blocks_of_producer_ids_follow_each_other(cluster):
    blocks = [
        outcome(cluster, cluster.controller.submit(events.AllocateProducerIds(id, cluster.brokers[id].epoch)))
        for id in (1, 2, 1)
    ]
    assert blocks == [(0, 1000), (1000, 1000), (2000, 1000)]


def test_producer_ids_go_only_to_the_present_life_of_a_registered_broker(cluster):
    stale = cluster.controller.submit(events.AllocateProducerIds(2, cluster.brokers[2].epoch - 1))
    unknown = cluster.controller.submit(events.AllocateProducerIds(9, 1))
    cluster.settle()
    assert (stale.error.code, unknown.error.code) == (77, 102)


def test_a_controlled_shutdown_moves_leaderships_and_stops_the_followers(cluster):
    cluster.create_topic("t", {0: [2, 3], 1: [3, 2], 2: [2]})
    cluster.settle()
    mark = len(cluster.sent)
    remaining = outcome(cluster, cluster.controller.submit(events.ControlledShutdown(2, cluster.brokers[2].epoch)))
    assert remaining == []
    assert [(cluster.state("t", p).leader, cluster.state("t", p).isr) for p in range(3)] == [
        (3, (3,)),
        (3, (3,)),
        (2, (2,)),
    ]
    stopped = [s for to, r in requests_since(cluster, mark, StopReplicaRequest) for s in partition_states(r) if to == 2]
    assert {state.partition_index for state in stopped} == {1}
    assert not any(state.delete_partition for state in stopped)


def test_a_partition_nobody_else_can_lead_remains(cluster):
    cluster.create_topic("t", {0: [2, 3]}, TOPIC_ID)
    cluster.settle()
    alter_partition(cluster, [2])
    remaining = outcome(cluster, cluster.controller.submit(events.ControlledShutdown(2, cluster.brokers[2].epoch)))
    assert remaining == [tp()]


def test_a_shutdown_of_an_earlier_life_or_of_nobody_is_refused(cluster):
    stale = cluster.controller.submit(events.ControlledShutdown(2, cluster.brokers[2].epoch - 1))
    unknown = cluster.controller.submit(events.ControlledShutdown(9, 5))
    absent = cluster.controller.submit(events.ControlledShutdown(9, -1))
    cluster.settle()
    assert isinstance(stale.error, StaleBrokerEpoch)
    assert unknown.error.code == -1
    assert absent.error.code in (-1, BrokerNotAvailable.code)


# Elections that are asked for


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


# Reassignments


def start_move(cluster, target, partition=None):
    event = events.ApiPartitionReassignment({partition or tp(): target})
    return outcome(cluster, cluster.controller.submit(event))


def running(cluster):
    return outcome(cluster, cluster.controller.submit(events.ListPartitionReassignments(None)))


def test_a_move_adds_waits_for_the_isr_and_removes(cluster):
    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    mark = len(cluster.sent)
    assert start_move(cluster, (3,)) == {tp(): None}
    assignment = TopicZNode.decode(cluster.zookeeper.nodes[TopicZNode.path("t")].data)
    moving = assignment.partitions[0]
    assert (moving.replicas, moving.adding, moving.removing) == ((3, 2), (3,), (2,))
    assert assignment.topic_id == TOPIC_ID
    assert list(running(cluster)) == [tp()]
    told = {to: partition_states(r)[0].is_new for to, r in requests_since(cluster, mark, LeaderAndIsrRequest)}
    assert told == {2: False, 3: True}
    assert (cluster.state("t").leader_epoch, cluster.state("t").partition_epoch) == (1, 1)

    alter_partition(cluster, [2, 3])
    state = cluster.state("t")
    assert (state.leader, state.leader_epoch, state.isr, state.partition_epoch) == (3, 3, (3,), 4)
    done = TopicZNode.decode(cluster.zookeeper.nodes[TopicZNode.path("t")].data).partitions[0]
    assert (done.replicas, done.adding, done.removing) == ((3,), (), ())
    assert running(cluster) == {}
    assert (cluster.brokers[2].hosted, cluster.brokers[3].hosted) == ({}, {tp(): (3, 3)})
    stops = [s for to, r in requests_since(cluster, mark, StopReplicaRequest) for s in partition_states(r)]
    assert [(state.leader_epoch, state.delete_partition) for state in stops] == [(2, False), (3, True)]


def test_a_move_can_be_cancelled(cluster):
    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    start_move(cluster, (3,))
    assert start_move(cluster, None) == {tp(): None}
    assert running(cluster) == {}
    assert cluster.brokers[3].hosted == {}
    assert cluster.state("t").isr == (2,)
    assert start_move(cluster, None)[tp()].code == 85


def test_a_new_controller_goes_on_with_a_move(cluster):
    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    start_move(cluster, (3,))
    cluster.crash(1)
    cluster.settle()
    assert list(running(cluster)) == [tp()]
    alter_partition(cluster, [2, 3])
    assert (cluster.state("t").leader, cluster.state("t").isr) == (3, (3,))


def test_the_old_tools_znode_starts_moves_and_vanishes_with_the_last_one(cluster):
    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    wish = ReassignPartitionsZNode.encode({tp(): (3,), tp("nope"): (1,)})
    cluster.zookeeper.ensure(ReassignPartitionsZNode.PATH, wish)
    cluster.settle()
    node = cluster.zookeeper.nodes[ReassignPartitionsZNode.PATH]
    assert ReassignPartitionsZNode.decode(node.data) == {tp(): (3,)}
    alter_partition(cluster, [2, 3])
    assert not cluster.exists(ReassignPartitionsZNode.PATH)


def test_a_topic_is_not_deleted_while_it_is_moved(cluster):
    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    start_move(cluster, (3,))
    cluster.delete_topic("t")
    cluster.settle()
    assert cluster.exists("/brokers/topics/t")


# Apache's requests for the same scenes

CAPTURED = Path(__file__).parents[1] / "golden" / "controller-requests" / "requests.jsonl"


def captured(*numbers):
    """(broker, request) for the captured frames, brokers and leaders in the order of their ids."""
    found = {}
    for line in CAPTURED.read_text().splitlines():
        entry = json.loads(line)
        frame = bytes.fromhex(entry["request_hex"])
        header = decode_request_header(frame)
        request = API_TABLE[header.api_key].request.decode(frame, header.api_version, header.body_position)
        found[entry["seq"]] = (entry["broker"], request)
    return [found[number] for number in numbers]


@pytest.fixture
def captured_cluster():
    made = FakeCluster([1, 2], auto_leader_rebalance_enable=False)
    made.describe = lambda broker_id: BrokerRegistration(
        broker_id,
        (
            EndPoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 19391 + 2 * broker_id),
            EndPoint("SASL_PLAINTEXT", "SASL_PLAINTEXT", "127.0.0.1", 19392 + 2 * broker_id),
        ),
        rack=f"rack-{'ab'[broker_id - 1]}",
    )
    made.zookeeper.zxid = 48
    made.start_together(2, 1)
    yield made
    made.stop()


def as_sent(cluster, mark, kind):
    """What was sent since `mark`, as the bytes of the version that was sent."""
    return sorted(
        ((to, encoded(request)) for to, request in requests_since(cluster, mark, kind)), key=lambda entry: entry
    )


def encoded(request):
    (api,) = [api for api in API_TABLE.values() if f"{api.name}Request" == type(request).__name__]
    return api.request.encode(request, api.request.max_version)


def expected(*numbers):
    return sorted((broker, encoded(request)) for broker, request in captured(*numbers))


def test_topic_creation_sends_the_bytes_that_apache_sends(captured_cluster):
    cluster = captured_cluster
    assert (1, encoded(captured(1)[0][1])) in as_sent(cluster, 0, UpdateMetadataRequest)
    mark = len(cluster.sent)
    cluster.create_topic("wire-del", {0: [2, 1]}, uuid_from_base64("nN6TyRUfRAGESzNq1XMLxg"))
    cluster.settle()
    assert as_sent(cluster, mark, LeaderAndIsrRequest) == expected(6, 7)
    assert as_sent(cluster, mark, UpdateMetadataRequest) == expected(8, 14)


def test_topic_deletion_sends_the_bytes_that_apache_sends(captured_cluster):
    cluster = captured_cluster
    cluster.create_topic("wire-del", {0: [2, 1]}, uuid_from_base64("nN6TyRUfRAGESzNq1XMLxg"))
    cluster.settle()
    mark = len(cluster.sent)
    cluster.delete_topic("wire-del")
    cluster.settle()
    assert as_sent(cluster, mark, StopReplicaRequest) == expected(658, 659, 660, 662)


def test_a_reassignment_stops_the_old_replica_with_the_bytes_that_apache_sends(captured_cluster):
    cluster = captured_cluster
    cluster.create_topic("wire-b", {0: [1, 2], 1: [2, 1]}, uuid_from_base64("7x-xZAOwSHai5mn9JM2tZg"))
    cluster.settle()
    mark = len(cluster.sent)
    start_move(cluster, (1,), tp("wire-b", 1))
    assert as_sent(cluster, mark, StopReplicaRequest) == expected(636, 641)
