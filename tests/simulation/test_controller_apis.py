"""The handlers whose answers come out of the controller, over the model cluster."""

import types
import uuid

import pytest

from kafka_zk.admin.metadata_wait import MetadataWait
from kafka_zk.api.admin.alter_partition_reassignments import alter_partition_reassignments
from kafka_zk.api.admin.elect_leaders import elect_leaders
from kafka_zk.api.admin.list_partition_reassignments import list_partition_reassignments
from kafka_zk.api.cluster.allocate_producer_ids import allocate_producer_ids
from kafka_zk.api.cluster.controlled_shutdown import controlled_shutdown
from kafka_zk.controller import events
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.protocol.errors import ClusterAuthorizationFailed, NotController, StaleControllerEpoch, UnknownServerError
from kafka_zk.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from kafka_zk.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from kafka_zk.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafka_zk.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kafka_zk.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafka_zk.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataRequest
from tests.simulation.fake_cluster import FakeCluster


@pytest.fixture
def cluster():
    made = FakeCluster([1, 2], auto_leader_rebalance_enable=False)
    made.start()
    made.create_topic("wire-b", {0: [1, 2], 1: [2, 1]}, uuid.UUID(int=5))
    made.settle()
    yield made
    made.stop()


def context(cluster, *, broker_id=1, allowed=True, cache=None):
    services = types.SimpleNamespace(
        controller=cluster.members[broker_id].controller, metadata_cache=cache or MetadataCache()
    )
    return types.SimpleNamespace(services=services, may=lambda *_: allowed, api_version=2)


def asked(cluster, handler, request, **options):
    answer = handler(request, context(cluster, **options))
    cluster.settle()
    return answer.value if hasattr(answer, "value") else answer


def moves(*wanted):
    return AlterPartitionReassignmentsRequest(
        topics=[
            ReassignableTopic(name=topic, partitions=[ReassignablePartition(partition_index=index, replicas=replicas)])
            for topic, index, replicas in wanted
        ]
    )


def test_reassignments_are_answered_per_partition_in_apaches_words(cluster):
    response = asked(cluster, alter_partition_reassignments, moves(("nope", 0, None), ("wire-b", 1, [1])))
    assert (response.error_code, response.error_message) == (0, "")
    found = {t.name: [(p.error_code, p.error_message) for p in t.partitions] for t in response.responses}
    assert found == {"nope": [(85, "No partition reassignment is in progress.")], "wire-b": [(0, None)]}


def test_a_listing_without_reassignments_is_empty(cluster):
    wanted = [ListPartitionReassignmentsTopics(name="wire-b", partition_indexes=[0])]
    for topics in (None, wanted):
        response = asked(cluster, list_partition_reassignments, ListPartitionReassignmentsRequest(topics=topics))
        assert (response.error_code, response.error_message, response.topics) == (0, "", [])


def test_a_running_reassignment_is_listed_with_what_comes_and_goes():
    cluster = FakeCluster([1, 2, 3], auto_leader_rebalance_enable=False)
    cluster.start()
    cluster.create_topic("t", {0: [1, 2]}, uuid.UUID(int=5))
    cluster.settle()
    asked(cluster, alter_partition_reassignments, moves(("t", 0, [3, 2])))
    (topic,) = asked(cluster, list_partition_reassignments, ListPartitionReassignmentsRequest(topics=None)).topics
    (partition,) = topic.partitions
    assert (partition.replicas, partition.adding_replicas, partition.removing_replicas) == ([3, 2, 1], [3], [1])
    cluster.stop()


def election(*partitions, kind=0):
    wanted = [TopicPartitions(topic="wire-b", partitions=list(partitions))] if partitions else None
    return ElectLeadersRequest(election_type=kind, topic_partitions=wanted, timeout_ms=1_000)


def codes(response):
    return {
        (t.topic, p.partition_id): (p.error_code, p.error_message)
        for t in response.replica_election_results
        for p in t.partition_result
    }


def test_an_election_that_is_not_needed_is_said_where_the_partition_was_named(cluster):
    message = "Leader election not needed for topic partition."
    assert codes(asked(cluster, elect_leaders, election(0, 1))) == {("wire-b", n): (84, message) for n in (0, 1)}
    assert codes(asked(cluster, elect_leaders, election())) == {}


def test_an_election_waits_until_the_metadata_cache_shows_the_leader(cluster):
    cluster.crash(2)
    cluster.settle()
    cluster.start(2)
    cluster.settle()
    assert cluster.state("wire-b", 1).leader == 1
    cache = MetadataCache()
    controller = cluster.members[1].controller
    controller.leader_waits = MetadataWait("ElectLeader", cache, cluster.clock)
    rejoin(cluster)
    answer = elect_leaders(election(1), context(cluster, cache=cache))
    cluster.settle()
    assert not answer.is_done
    for _, request in cluster.sent:
        if isinstance(request, UpdateMetadataRequest):
            cache.update(request)
    assert codes(answer.result(1_000)) == {("wire-b", 1): (0, None)}


def test_an_election_that_the_metadata_cache_never_shows_times_out(cluster):
    cluster.crash(2)
    cluster.settle()
    cluster.start(2)
    cluster.settle()
    rejoin(cluster)
    answer = elect_leaders(election(1), context(cluster))
    cluster.settle()
    cluster.clock.advance(1_000)
    assert codes(answer.result(1_000)) == {("wire-b", 1): (7, None)}
    assert cluster.state("wire-b", 1).leader == 2


@pytest.mark.parametrize("leaves_early", [True, False])
def test_an_election_is_waited_for_no_more_once_its_client_has_gone(cluster, leaves_early):
    cluster.crash(2)
    cluster.settle()
    cluster.start(2)
    cluster.settle()
    rejoin(cluster)
    answer = elect_leaders(election(1), context(cluster))
    if leaves_early:
        answer.leave(True)
    cluster.settle()
    assert cluster.state("wire-b", 1).leader == 2
    if not leaves_early:
        answer.leave(True)
    assert cluster.members[1].controller.leader_waits._purgatory.waiting_count == 0
    assert not answer.is_done


def rejoin(cluster):
    """The leader of wire-b-1 takes broker 2 into the ISR again."""
    state = cluster.state("wire-b", 1)
    data = RequestPartitionData(
        partition_index=1,
        leader_epoch=state.leader_epoch,
        new_isr_with_epochs=[BrokerState(broker_id=1), BrokerState(broker_id=2)],
        partition_epoch=state.partition_epoch,
    )
    request = AlterPartitionRequest(
        broker_id=1,
        broker_epoch=cluster.brokers[1].epoch,
        topics=[RequestTopicData(topic_id=uuid.UUID(int=5), partitions=[data])],
    )
    cluster.members[1].controller.submit(events.AlterPartitionReceived(request, 3))
    cluster.settle()
    assert cluster.state("wire-b", 1).isr == (1, 2)


def test_an_unknown_type_of_election_is_an_error_of_its_own(cluster):
    with pytest.raises(UnknownServerError):
        elect_leaders(election(0, kind=7), context(cluster))


def test_who_may_not_alter_the_cluster_is_told_so_for_each_partition(cluster):
    response = elect_leaders(election(0), context(cluster, allowed=False))
    assert (response.error_code, codes(response)) == (31, {("wire-b", 0): (31, None)})
    for handler, request in (
        (alter_partition_reassignments, moves()),
        (list_partition_reassignments, ListPartitionReassignmentsRequest()),
        (controlled_shutdown, ControlledShutdownRequest()),
        (allocate_producer_ids, AllocateProducerIdsRequest()),
    ):
        with pytest.raises(ClusterAuthorizationFailed):
            handler(request, context(cluster, allowed=False))


def test_a_broker_that_is_not_controller_refuses(cluster):
    assert codes(asked(cluster, elect_leaders, election(0), broker_id=2)) == {("wire-b", 0): (41, None)}
    for handler, request, error in (
        (alter_partition_reassignments, moves(), NotController),
        (list_partition_reassignments, ListPartitionReassignmentsRequest(topics=None), NotController),
        (controlled_shutdown, ControlledShutdownRequest(broker_id=1), StaleControllerEpoch),
        (allocate_producer_ids, AllocateProducerIdsRequest(broker_id=1), NotController),
    ):
        answer = handler(request, context(cluster, broker_id=2))
        cluster.settle()
        assert isinstance(answer.error, error)


def test_producer_ids_and_shutdowns_are_answered(cluster):
    block = asked(
        cluster, allocate_producer_ids, AllocateProducerIdsRequest(broker_id=2, broker_epoch=cluster.brokers[2].epoch)
    )
    assert (block.error_code, block.producer_id_start, block.producer_id_len) == (0, 0, 1000)
    done = asked(
        cluster, controlled_shutdown, ControlledShutdownRequest(broker_id=2, broker_epoch=cluster.brokers[2].epoch)
    )
    assert (done.error_code, done.remaining_partitions) == (0, [])


def test_very_many_partitions_that_are_not_there_do_not_reach_the_controller(cluster, monkeypatch):
    controller = cluster.members[1].controller
    reached = []
    submit = controller.submit
    monkeypatch.setattr(controller, "submit", lambda event: reached.append(event) or submit(event))
    wanted = [("wire-b", index, [2, 1]) for index in range(1, 2_000)]
    answered = asked(cluster, alter_partition_reassignments, moves(*wanted)).responses
    (event,) = reached
    assert list(event.targets) == [("wire-b", 1)]
    lines = {line.partition_index: line.error_code for topic in answered for line in topic.partitions}
    assert lines == {1: 0} | dict.fromkeys(range(2, 2_000), 3)
    reached.clear()
    topic = TopicPartitions(topic="wire-b", partitions=list(range(1, 2_000)))
    request = ElectLeadersRequest(election_type=0, topic_partitions=[topic], timeout_ms=0)
    (elected,) = asked(cluster, elect_leaders, request).replica_election_results
    (event,) = reached
    assert event.partitions == (("wire-b", 1),)
    assert {line.partition_id for line in elected.partition_result} == set(range(1, 2_000))
