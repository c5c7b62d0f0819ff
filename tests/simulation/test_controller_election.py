"""Which broker is the controller, how it is elected and resigns, and what it may do then, over a model ZooKeeper."""

from types import SimpleNamespace

import gevent
import gevent.event
import pytest

from kafka_zk.controller import events, loop
from kafka_zk.controller.decisions.requests import RequestBatch
from kafka_zk.controller.store import FencedStore
from kafka_zk.protocol.errors import NotController
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.errors import NoAuth
from tests.simulation.fake_cluster import FakeCluster


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

    def fail(controller):
        attempts.append(controller.context.epoch)
        raise RuntimeError("a fault of ours")

    with monkeypatch.context() as broken:
        broken.setattr(loop, "fail_over", fail)
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


@pytest.fixture
def resigning(monkeypatch):
    """A bug ends the next batch, and with it the term; `resigning.error` then refuses the deletion of /controller."""
    requests, resign = RequestBatch.requests, FencedStore.resign
    refused = SimpleNamespace(error=MemoryError())

    def fail_once(_):
        monkeypatch.setattr(RequestBatch, "requests", requests)
        raise ValueError("a bug")

    def fail(store):
        if refused.error is not None:
            raise refused.error
        resign(store)

    monkeypatch.setattr(RequestBatch, "requests", fail_once)
    monkeypatch.setattr(FencedStore, "resign", fail)
    return refused


@pytest.mark.parametrize("error", [MemoryError(), NoAuth("/controller")], ids=["no memory", "no permission"])
def test_a_controller_that_gave_up_and_could_not_delete_its_znode_does_so_later(cluster, resigning, error):
    """While it is there, nobody is elected."""
    resigning.error = error
    cluster.create_topic("t", {0: [2, 3]})
    cluster.settle()
    for _ in range(3):
        assert not any(member.controller.is_active for member in cluster.members.values())
        cluster.clock.advance(loop.FAILED_FAILOVER_PAUSE_MS)
        cluster.settle()
    resigning.error = None
    for _ in range(3):
        cluster.clock.advance(loop.FAILED_FAILOVER_PAUSE_MS)
        cluster.settle()
        assert cluster.controller.controller_epoch == 2, "what was done is not done again"
    assert cluster.brokers[2].hosted.keys() == {TopicPartition("t", 0)}


def test_who_could_not_delete_its_znode_in_one_session_is_elected_in_the_next(request):
    alone = FakeCluster([1])
    alone.start()
    resigning = request.getfixturevalue("resigning")
    alone.create_topic("t", {0: [1]})
    alone.settle()
    assert not alone.members[1].controller.is_active
    resigning.error = None
    alone.members[1].zk.expire()
    alone.settle()
    assert alone.controller.controller_epoch == 2
    alone.stop()


@pytest.mark.parametrize("epoch", [b"seven", b"2147483647", b"99999999999"])
def test_an_epoch_that_cannot_be_read_is_looked_at_again_until_somebody_has_mended_it(caplog, epoch):
    """Or that has no next one: no request could hold it."""
    alone = FakeCluster([1])
    alone.zookeeper.ensure("/controller_epoch", epoch)
    alone.start()
    for _ in range(3):
        assert not alone.members[1].controller.is_active
        alone.clock.advance(loop.FAILED_FAILOVER_PAUSE_MS)
        alone.settle()
    complaints = [record for record in caplog.records if f"Not a controller epoch: {epoch}" in record.message]
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


def test_deleting_the_controller_znode_starts_a_new_controller_epoch(cluster):
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


def test_a_broker_that_lost_its_session_before_its_controller_started_registers_first(cluster):
    cluster.crash(2)
    cluster.settle()
    cluster._join(2)
    joined = cluster.members[2]
    joined.zk.expire()
    assert not cluster.exists("/brokers/ids/2")
    joined.controller.startup(registered_generation=1)
    cluster.settle()
    assert cluster.exists("/brokers/ids/2")
    assert cluster.brokers[1].live_brokers == [1, 2, 3]
    for broker_id in (1, 3):
        cluster.crash(broker_id)
    cluster.settle()
    assert joined.controller.is_active


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
    with gevent.Timeout(60):
        member.controller.shutdown()
    assert not member.controller.is_active
    assert not pending.is_done or pending.error is not None
    cluster.zookeeper.switch = lambda: None


def test_whoever_waits_for_what_a_stop_interrupts_is_told(cluster, monkeypatch):
    monkeypatch.setattr(loop, "SHUTDOWN_GRACE_S", 0.01)
    cluster.zookeeper.switch = gevent.event.Event().wait
    stopped = cluster.controller
    pending = stopped.submit(events.AllocateProducerIds(1, cluster.brokers[1].epoch))
    while stopped.queue_size:
        gevent.sleep(0)
    with gevent.Timeout(60):
        stopped.shutdown()
    assert isinstance(pending.error, NotController)
    cluster.zookeeper.switch = lambda: None
