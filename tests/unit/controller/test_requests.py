"""Request batches: who gets what, in which order, in which version."""

import pytest

from kafka_zk.config.metadata_version import MetadataVersion
from kafka_zk.controller.decisions.requests import RequestBatch
from kafka_zk.controller.decisions.versions import RequestVersions
from kafka_zk.protocol.messages.leader_and_isr import LEADER_AND_ISR_REQUEST, LeaderAndIsrRequest
from kafka_zk.protocol.messages.stop_replica import STOP_REPLICA_REQUEST, StopReplicaRequest
from kafka_zk.protocol.messages.update_metadata import UPDATE_METADATA_REQUEST, UpdateMetadataRequest
from tests.unit.controller.given import cluster, state, tp

MESSAGES = {
    LeaderAndIsrRequest: LEADER_AND_ISR_REQUEST,
    UpdateMetadataRequest: UPDATE_METADATA_REQUEST,
    StopReplicaRequest: STOP_REPLICA_REQUEST,
}


def given(live=(1, 2), protocol="3.9-IV0"):
    context = cluster({tp(): (1, 2), tp("u"): (2, 1)}, live=live, leadership={tp(): state(1, (1, 2))})
    return context, RequestBatch(1, context, RequestVersions.of(MetadataVersion(protocol)), "PLAINTEXT")


def kinds(batch):
    return [(request.broker_id, type(request.request)) for request in batch.requests()]


def test_leader_and_isr_leaves_before_update_metadata_and_that_before_stop_replica():
    context, batch = given()
    batch.add_stop_replica([2], tp(), delete=False)
    batch.add_leader_and_isr([1], tp(), context.leadership[tp()], is_new=False)
    assert kinds(batch) == [
        (1, LeaderAndIsrRequest),
        (1, UpdateMetadataRequest),
        (2, UpdateMetadataRequest),
        (2, StopReplicaRequest),
    ]


def test_brokers_that_are_gone_get_nothing_and_those_shutting_down_do():
    context, batch = given(live=(1,))
    context.shutting_down.add(1)
    batch.add_leader_and_isr([1, 2, -1], tp(), context.leadership[tp()], is_new=False)
    batch.add_stop_replica([2], tp(), delete=True)
    assert kinds(batch) == [(1, LeaderAndIsrRequest), (1, UpdateMetadataRequest)]


def test_each_request_carries_the_epoch_of_its_broker():
    _, batch = given()
    batch.add_update_metadata([1, 2], [])
    assert [request.request.broker_epoch for request in batch.requests()] == [101, 102]


def test_what_was_new_stays_new_when_it_is_added_again():
    context, batch = given()
    batch.add_leader_and_isr([1], tp(), context.leadership[tp()], is_new=True)
    batch.add_leader_and_isr([1], tp(), context.leadership[tp()], is_new=False)
    (topic,) = batch.requests()[0].request.topic_states
    assert [partition.is_new for partition in topic.partition_states] == [True]


def test_what_was_to_be_deleted_stays_so_when_it_is_stopped_again():
    _, batch = given()
    batch.add_stop_replica([1], tp(), delete=True)
    batch.add_stop_replica([1], tp(), delete=False)
    (topic,) = batch.requests()[0].request.topic_states
    assert [partition.delete_partition for partition in topic.partition_states] == [True]


def test_a_partition_without_leadership_is_left_out_of_metadata_and_stopped_with_no_epoch():
    _, batch = given()
    batch.add_update_metadata([1], [tp("u")])
    batch.add_stop_replica([1], tp("u"), delete=False)
    metadata, stop = (request.request for request in batch.requests())
    assert metadata.topic_states == []
    assert stop.topic_states[0].partition_states[0].leader_epoch == -1


def test_partitions_of_topics_to_delete_are_announced_with_leader_minus_two():
    context, batch = given()
    context.topics_to_delete.add("t")
    batch.add_update_metadata([1], [tp()])
    batch.add_stop_replica([1], tp(), delete=True)
    metadata, stop = (request.request for request in batch.requests())
    (shown,) = metadata.topic_states[0].partition_states
    assert (shown.leader, shown.leader_epoch, shown.zk_version, shown.isr) == (-2, 0, 0, [1, 2])
    assert stop.topic_states[0].partition_states[0].leader_epoch == -2


def test_only_deletions_of_topics_whose_deletion_has_started_wait_for_the_answer():
    context, batch = given()
    context.topics_with_deletion_started.add("t")
    batch.add_stop_replica([1], tp(), delete=True)
    batch.add_stop_replica([1], tp("u"), delete=True)
    assert batch.requests()[0].deleted == {tp()}


def test_live_leaders_are_the_live_brokers_that_lead_a_listed_partition():
    context, batch = given(live=(2,))
    context.leadership[tp("u")] = state(2, (2,))
    for partition in (tp(), tp("u")):
        batch.add_leader_and_isr([2], partition, context.leadership[partition], is_new=False)
    leaders = batch.requests()[0].request.live_leaders
    assert [(leader.broker_id, leader.host_name, leader.port) for leader in leaders] == [(2, "host2", 9002)]


def test_replicas_on_dead_brokers_or_failed_directories_are_shown_as_offline():
    context, batch = given(live=(1,))
    context.offline_dir_replicas[1] = {tp()}
    batch.add_update_metadata([1], [tp()])
    (topic,) = batch.requests()[0].request.topic_states
    assert topic.partition_states[0].offline_replicas == [1, 2]


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        ("3.9-IV0", (7, 8, 4, 3)),
        ("3.4-IV0", (7, 8, 4, 3)),
        ("3.3-IV3", (6, 7, 3, 3)),
        ("3.1-IV0", (5, 7, 3, 3)),
        ("2.8-IV1", (5, 7, 3, 3)),
        ("2.8-IV0", (4, 6, 3, 3)),
        ("2.6-IV0", (4, 6, 3, 3)),
        ("2.4-IV1", (4, 6, 2, 3)),
        ("2.4-IV0", (3, 5, 1, 2)),
        ("2.2-IV0", (2, 5, 1, 2)),
        ("1.0-IV0", (1, 4, 0, 1)),
        ("0.10.2-IV0", (0, 3, 0, 1)),
    ],
)
def test_the_protocol_version_fixes_the_version_of_every_request(protocol, expected):
    versions = RequestVersions.of(MetadataVersion(protocol))
    found = (versions.leader_and_isr, versions.update_metadata, versions.stop_replica, versions.controlled_shutdown)
    assert found == expected


@pytest.mark.parametrize("protocol", ["3.9-IV0", "3.2-IV0", "2.8-IV1", "2.4-IV1", "2.4-IV0", "2.2-IV0", "1.0-IV0"])
def test_every_version_can_be_sent_and_says_the_same(protocol):
    context, batch = given(protocol=protocol)
    batch.add_leader_and_isr([1], tp(), context.leadership[tp()], is_new=True)
    batch.add_stop_replica([1], tp("u"), delete=True)
    for sent in batch.requests():
        message = MESSAGES[type(sent.request)]
        read = message.decode(message.encode(sent.request, sent.api_version), sent.api_version)
        if isinstance(read, StopReplicaRequest):
            assert read.topic_states or (read.delete_partitions and (read.topics or read.ungrouped_partitions))
        else:
            states = [s for topic in read.topic_states for s in topic.partition_states]
            (told,) = states or read.ungrouped_partition_states
            assert (told.leader, told.leader_epoch, told.isr) == (1, 5, [1, 2])


def test_before_version_three_stops_and_deletions_are_separate_requests():
    _, batch = given(protocol="2.4-IV1")
    batch.add_stop_replica([1], tp(), delete=False)
    batch.add_stop_replica([1], tp("u"), delete=True)
    stop, delete = (request.request for request in batch.requests())
    assert (stop.delete_partitions, [t.name for t in stop.topics]) == (False, ["t"])
    assert (delete.delete_partitions, [t.name for t in delete.topics]) == (True, ["u"])


@pytest.mark.parametrize("protocol", ["3.9-IV0", "3.2-IV0", "2.8-IV1", "2.4-IV0", "2.2-IV0", "1.0-IV0"])
def test_what_several_brokers_are_told_is_encoded_once_and_has_the_epoch_of_each(protocol):
    context, batch = given(live=(1, 2, 3), protocol=protocol)
    batch.add_leader_and_isr([1, 2], tp(), context.leadership[tp()], is_new=True)
    sent = batch.requests()
    assert [request.broker_id for request in sent] == [1, 2, 1, 2, 3]
    for request in sent:
        assert request.request.broker_epoch == context.brokers[request.broker_id].epoch
        for _ in range(2):
            assert request.body() == MESSAGES[type(request.request)].encode(request.request, request.api_version)
    assert [request.shared.encoded_count for request in sent] == [1] * 5
    assert len({id(request.shared) for request in sent}) == 2


def test_brokers_that_are_told_something_else_share_no_body():
    context, batch = given()
    leadership = context.leadership[tp()]
    batch.add_leader_and_isr([1], tp(), leadership, is_new=True)
    batch.add_leader_and_isr([1, 2], tp(), leadership, is_new=False)
    first, second, *_ = batch.requests()
    assert first.shared is not second.shared
    told = [request.request.topic_states[0].partition_states[0].is_new for request in (first, second)]
    assert told == [True, False]


def test_a_body_that_nobody_sends_is_not_encoded():
    _, batch = given()
    batch.add_update_metadata([1, 2], [])
    assert [request.shared.encoded_count for request in batch.requests()] == [0, 0]
