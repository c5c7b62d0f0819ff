"""What brokers ask of the controller: isr changes, producer ids, leave to stop; over a model ZooKeeper."""

import uuid

import gevent

from kafka_zk.controller import events
from kafka_zk.protocol.errors import BrokerNotAvailable, NotController, StaleBrokerEpoch, StaleControllerEpoch
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_zk.protocol.messages.stop_replica import StopReplicaRequest
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataRequest
from tests.simulation.fake_cluster import FakeLink
from tests.simulation.scenes import TOPIC_ID, alter_partition, outcome, partition_states, requests_since, tp


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


class _Deletions(type):
    def __instancecheck__(cls, request):
        return isinstance(request, StopReplicaRequest) and any(s.delete_partition for s in partition_states(request))


class Deletion(metaclass=_Deletions):
    """A StopReplica that deletes."""


def broken_for(cluster, broker_id, kind, monkeypatch):
    """The next request of this kind to this broker meets a bug of ours; the list of those it met."""
    met = []
    send = FakeLink.send

    def sending(link, request, api_version, **more):
        if link._broker_id == broker_id and isinstance(request, kind) and not met:
            met.append(request)
            raise ValueError("a bug")
        return send(link, request, api_version, **more)

    monkeypatch.setattr(FakeLink, "send", sending)
    rest = gevent.sleep
    monkeypatch.setattr(gevent, "sleep", lambda seconds=0: rest(0))
    return met


def until(cluster, is_so):
    """Other greenlets run until it is so."""
    with gevent.Timeout(60):
        while not is_so():
            gevent.sleep(0)
    cluster.settle()


def test_a_request_that_meets_a_bug_costs_neither_the_channel_nor_those_behind_it(cluster, monkeypatch):
    met = broken_for(cluster, 2, LeaderAndIsrRequest, monkeypatch)
    cluster.create_topic("t", {0: [2, 3]}, TOPIC_ID)
    until(cluster, lambda: met and cluster.brokers[2].metadata.get(tp()))
    cluster.create_topic("u", {0: [2, 3]}, uuid.UUID(int=6))
    until(cluster, lambda: tp("u") in cluster.brokers[2].hosted)


def test_a_deletion_that_meets_a_bug_is_told_and_taken_up_again(cluster, monkeypatch):
    cluster.create_topic("t", {0: [2, 3]}, TOPIC_ID)
    cluster.settle()
    met = broken_for(cluster, 2, Deletion, monkeypatch)
    cluster.delete_topic("t")
    until(cluster, lambda: met and "t" in cluster.controller.active_controller.context.topics_ineligible_for_deletion)
    assert cluster.exists("/brokers/topics/t")
    cluster.crash(2)
    cluster.settle()
    cluster.start(2)
    until(cluster, lambda: not cluster.exists("/brokers/topics/t"))
