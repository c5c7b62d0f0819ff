"""The controller's orders: who leads, who follows, who stops; fencing; ISR changes through the controller."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from uuid import UUID

import gevent
import pytest

from kafka_zk.log.files.disk import DISK
from kafka_zk.log.local.local_log import POOLED_BYTES
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode, InvalidConfig, StaleBrokerEpoch, StaleControllerEpoch
from kafka_zk.protocol.messages.alter_partition import (
    AlterPartitionResponse,
    ResponsePartitionData,
    ResponseTopicData,
)
from kafka_zk.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_zk.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import build_batch
from kafka_zk.record.types import Record
from kafka_zk.replication.control_requests import PARTITIONS_PER_TURN
from kafka_zk.replication.leading.isr_proposals import REFUSED_MS

from .broker import Broker, answered, fetch_request, produce_request, records, topic_id

LAG_MS = 30_000


def stop(broker: Broker, *, epoch: int, delete: bool, index: int = 0, controller_epoch: int = 1) -> int:
    state = StopReplicaPartitionState(partition_index=index, leader_epoch=epoch, delete_partition=delete)
    request = StopReplicaRequest(
        controller_id=1,
        controller_epoch=controller_epoch,
        broker_epoch=77,
        topic_states=[StopReplicaTopicState(topic_name="t", partition_states=[state])],
    )
    code: int = broker.call(request, 4).partition_errors[0].error_code
    return code


def follower_fetches(broker: Broker, offset: int, *, replica: int = 2) -> None:
    broker.call(fetch_request(offset, replica=replica, by_id=True), 17)


def controller_answers(
    broker: Broker, isr: list[int], *, partition_epoch: int, leader_epoch: int = 0, error: int = 0
) -> None:
    """Answer the oldest question that is still open."""
    pending = next(pending for _, pending in broker.controller.asked if not pending.is_done)
    data = ResponsePartitionData(
        partition_index=0,
        error_code=error,
        leader_id=1,
        leader_epoch=leader_epoch,
        isr=isr,
        partition_epoch=partition_epoch,
    )
    pending.complete(AlterPartitionResponse(topics=[ResponseTopicData(topic_id=topic_id("t"), partitions=[data])]))


def test_an_order_for_many_partitions_lets_others_be_served_and_is_answered_when_its_epochs_are_synced(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first epoch of a new partition needs none: see tests/crash/test_new_partitions.py."""
    count, synced, turns = 64, [], 0

    def noted_fsync(descriptor: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        os.fsync(descriptor)

    def others() -> None:
        nonlocal turns
        while True:
            gevent.sleep(0)
            turns += 1

    monkeypatch.setattr(DISK, "fsync", noted_fsync, raising=False)

    def order(epoch: int) -> LeaderAndIsrRequest:
        states = [
            LeaderAndIsrPartitionState(
                partition_index=index,
                controller_epoch=1,
                leader=1,
                leader_epoch=epoch,
                isr=[1],
                partition_epoch=epoch,
                replicas=[1],
                is_new=True,
            )
            for index in range(count)
        ]
        topic = LeaderAndIsrTopicState(topic_name="t", topic_id=topic_id("t"), partition_states=states)
        return LeaderAndIsrRequest(controller_id=1, controller_epoch=1, broker_epoch=77, topic_states=[topic])

    for epoch, needed in ((3, "partition.metadata.tmp"), (4, "leader-epoch-checkpoint")):
        synced.clear()
        turns, other = 0, gevent.spawn(others)
        answer = broker.call(order(epoch), 7)
        other.kill()
        assert [each.error_code for each in answer.topics[0].partition_errors] == [0] * count
        assert synced.count(needed) == count
        assert turns >= count / PARTITIONS_PER_TURN
    assert all(broker.partition(index=index).is_leader for index in range(count))


# --- fencing ---------------------------------------------------------------------------------------------------------


def test_rule_4_orders_for_an_earlier_life_of_the_broker_are_77(broker: Broker) -> None:
    for request, version in (
        (LeaderAndIsrRequest(controller_epoch=1, broker_epoch=76), 7),
        (UpdateMetadataRequest(controller_epoch=1, broker_epoch=76), 8),
    ):
        with pytest.raises(StaleBrokerEpoch):
            broker.call(request, version)
    refusal = broker.call(StopReplicaRequest(controller_epoch=1, broker_epoch=76), 4)
    assert (refusal.error_code, refusal.partition_errors) == (ErrorCode.STALE_BROKER_EPOCH, [])
    assert broker.call(UpdateMetadataRequest(controller_epoch=1, broker_epoch=78), 8).error_code == 0


def test_orders_of_a_controller_that_was_replaced_are_11(broker: Broker) -> None:
    broker.call(UpdateMetadataRequest(controller_epoch=5, broker_epoch=77), 8)
    with pytest.raises(StaleControllerEpoch):
        broker.call(LeaderAndIsrRequest(controller_epoch=4, broker_epoch=77), 7)
    with pytest.raises(StaleControllerEpoch):
        broker.call(UpdateMetadataRequest(controller_epoch=4, broker_epoch=77), 8)
    refusal = broker.call(StopReplicaRequest(controller_epoch=4, broker_epoch=77), 4)
    assert (refusal.error_code, refusal.partition_errors) == (ErrorCode.STALE_CONTROLLER_EPOCH, [])


def test_only_a_larger_leader_epoch_acts(broker: Broker) -> None:
    partition = broker.lead(epoch=3)
    assert broker.order(epoch=3, partition_epoch=9) == ErrorCode.STALE_CONTROLLER_EPOCH
    assert broker.order(epoch=2, partition_epoch=9) == ErrorCode.STALE_CONTROLLER_EPOCH
    assert (partition.leader_epoch, partition.partition_epoch) == (3, 0)
    assert broker.order(epoch=4, partition_epoch=1) == ErrorCode.NONE
    assert partition.leader_epoch == 4


def test_rule_19_another_topic_id_is_103_for_that_partition(broker: Broker) -> None:
    broker.lead()
    assert broker.order(epoch=1, id_of_topic=UUID(int=99)) == ErrorCode.INCONSISTENT_TOPIC_ID


def test_a_partition_that_is_not_assigned_here_is_3(broker: Broker) -> None:
    assert broker.order(replicas=(2, 3), leader=2) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert TopicPartition("t", 0) not in [partition.topic_partition for partition in broker.manager.hosted]


def test_an_older_partition_epoch_is_passed_over_in_silence(broker: Broker) -> None:
    partition = broker.lead(epoch=1, partition_epoch=5)
    assert broker.order(epoch=2, partition_epoch=4) == ErrorCode.NONE
    assert (partition.leader_epoch, partition.partition_epoch, partition.is_leader) == (1, 5, True)


# --- leading and following -------------------------------------------------------------------------------------------


def test_rule_34_a_leader_notes_where_its_epoch_begins_even_without_records(broker: Broker) -> None:
    partition = broker.lead(epoch=0)
    assert partition.leader_log().end_offset_for(0) == (0, 0)
    broker.produce(2)
    broker.order(epoch=4, partition_epoch=1)
    assert partition.epoch_start_offset == 2
    assert partition.leader_log().latest_epoch == 4


def test_a_leader_that_becomes_the_only_member_commits_everything(broker: Broker) -> None:
    partition = broker.lead(replicas=(1, 2))
    broker.produce(3)
    assert partition.high_watermark == 0
    broker.clock.advance(LAG_MS + 1)
    broker.order(replicas=(1, 2), isr=(1,), epoch=1, partition_epoch=1)
    assert partition.high_watermark == 3


def test_listeners_hear_of_new_leaders_and_followers_once(broker: Broker) -> None:
    heard: list[tuple[list[str], list[str]]] = []
    broker.manager.on_leadership_change(
        lambda led, followed: heard.append(
            (
                [str(p.topic_partition) for p in led],
                [str(p.topic_partition) for p in followed],
            )
        )
    )
    broker.lead(replicas=(1, 2))
    broker.order(replicas=(1, 2), epoch=1, partition_epoch=1)
    broker.order(replicas=(1, 2), leader=2, epoch=2, partition_epoch=2)
    assert heard == [(["t-0"], []), ([], []), ([], ["t-0"])]


def test_a_follower_of_a_dead_leader_has_its_log_and_waits(broker: Broker) -> None:
    broker.update_metadata({"t": {0: 2}}, alive=(1,))
    assert broker.order(replicas=(1, 2), leader=2) == ErrorCode.NONE
    partition = broker.partition()
    assert partition.log is not None
    assert partition.leader_epoch == -1


def test_an_append_under_way_ends_before_the_next_epoch_begins(broker: Broker) -> None:
    """Written after the new epoch began, the old epoch's batch would wipe the new one from the epoch file."""
    partition = broker.lead(epoch=1)
    large = memoryview(build_batch([Record(0, 1, b"k", b"v" * POOLED_BYTES)]))
    append = gevent.spawn(partition.append_as_leader, large, 1)
    gevent.sleep(0)
    assert not append.ready()
    order = gevent.spawn(broker.order, epoch=2, partition_epoch=1)
    gevent.joinall([append, order], raise_error=True)
    assert partition.epoch_start_offset == 1
    log = partition.leader_log()
    assert (log.end_offset_for(1), log.end_offset_for(2)) == ((1, 1), (2, 1))


# --- stopping --------------------------------------------------------------------------------------------------------


def test_rule_18_a_late_stop_is_fenced_and_the_sentinel_is_not(broker: Broker) -> None:
    broker.lead(epoch=5)
    assert stop(broker, epoch=4, delete=True) == ErrorCode.FENCED_LEADER_EPOCH
    assert stop(broker, epoch=5, delete=False) == ErrorCode.NONE
    assert stop(broker, epoch=-2, delete=True) == ErrorCode.NONE
    assert broker.log_manager.get_log(TopicPartition("t", 0)) is None


def test_stopping_without_deleting_keeps_the_log(broker: Broker) -> None:
    partition = broker.lead()
    assert stop(broker, epoch=0, delete=False) == ErrorCode.NONE
    assert broker.partition() is partition
    assert partition.log is not None


def test_a_deleted_partition_ends_who_waits_on_it(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    produce = broker.produce(1, acks=-1)
    fetch = broker.fetch(0, max_wait_ms=500)
    stop(broker, epoch=-2, delete=True)
    assert answered(produce).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert answered(fetch).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_what_is_left_of_a_topic_that_is_not_hosted_is_deleted(tmp_path: Path) -> None:
    first = Broker(tmp_path)
    first.lead()
    first.produce(1)
    first.close()
    second = Broker(tmp_path)
    assert second.log_manager.get_log(TopicPartition("t", 0)) is not None
    assert stop(second, epoch=-2, delete=True) == ErrorCode.NONE
    assert second.log_manager.get_log(TopicPartition("t", 0)) is None
    second.close()


def test_the_high_watermark_survives_a_restart(tmp_path: Path) -> None:
    first = Broker(tmp_path)
    first.lead(replicas=(1, 2))
    first.produce(5)
    follower_fetches(first, 0)
    follower_fetches(first, 3)
    assert first.partition().high_watermark == 3
    first.close()
    second = Broker(tmp_path)
    second.lead(replicas=(1, 2), epoch=1)
    assert second.partition().high_watermark == 3
    second.close()


def test_high_watermarks_are_written_down_every_few_seconds_after_the_first_order(
    broker: Broker, tmp_path: Path
) -> None:
    broker.lead()
    broker.produce(5)
    broker.clock.advance(5_000)
    assert "t 0 5" in (tmp_path / "replication-offset-checkpoint").read_text()


# --- ISR changes -----------------------------------------------------------------------------------------------------


def test_a_follower_that_caught_up_is_proposed_and_joins_when_the_controller_agrees(broker: Broker) -> None:
    partition = broker.lead(replicas=(1, 2), isr=(1,))
    broker.produce(3)
    follower_fetches(broker, 0)
    assert broker.controller.proposed == []
    follower_fetches(broker, 3)
    assert broker.controller.proposed == [[1, 2]]
    assert partition.isr.committed == (1,)
    controller_answers(broker, [1, 2], partition_epoch=1)
    assert (partition.isr.committed, partition.partition_epoch) == ((1, 2), 1)


def test_a_laggard_is_proposed_to_leave_and_what_waited_for_it_is_committed_then(broker: Broker) -> None:
    partition = broker.lead(replicas=(1, 2))
    pending = broker.produce(3, acks=-1)
    broker.clock.advance(LAG_MS + LAG_MS // 2)
    assert broker.controller.proposed == [[1]]
    assert partition.high_watermark == 0
    controller_answers(broker, [1], partition_epoch=1)
    assert partition.high_watermark == 3
    assert isinstance(pending, Pending)


def test_committed_records_under_min_insync_replicas_are_acknowledged_with_20(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"min.insync.replicas": "2"})
    partition = broker.lead(replicas=(1, 2))
    broker.produce()
    follower_fetches(broker, 1)
    assert partition.acknowledgement(1) == ErrorCode.NONE
    broker.order(replicas=(1, 2), isr=(1,), epoch=1, partition_epoch=1)
    assert partition.acknowledgement(1) == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert partition.acknowledgement(2) is None
    broker.close()


def test_rule_25_after_a_shrink_below_min_insync_replicas_nothing_more_is_committed(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"min.insync.replicas": "2"})
    partition = broker.lead(replicas=(1, 2, 3))
    pending = broker.call(produce_request(records(), acks=-1, timeout_ms=10_000_000), 9)
    for replica in (2, 3):
        follower_fetches(broker, 0, replica=replica)
    broker.clock.advance(LAG_MS * 2)
    assert broker.controller.proposed == [[1]]
    controller_answers(broker, [1], partition_epoch=1)
    assert not pending.is_done
    assert partition.high_watermark == 0
    broker.close()


def test_rule_23_a_new_leader_epoch_cancels_what_is_in_flight(broker: Broker) -> None:
    partition = broker.lead(replicas=(1, 2), isr=(1,))
    follower_fetches(broker, 0)
    assert broker.controller.proposed == [[1, 2]]
    broker.order(replicas=(1, 2), isr=(1,), epoch=1, partition_epoch=4)
    controller_answers(broker, [1, 2], partition_epoch=1, leader_epoch=0)
    assert (partition.isr.committed, partition.partition_epoch) == ((1,), 4)


def test_a_refused_member_is_dropped_from_the_proposal_and_may_try_again(broker: Broker) -> None:
    partition = broker.lead(replicas=(1, 2), isr=(1,))
    follower_fetches(broker, 0)
    controller_answers(broker, [], partition_epoch=0, error=ErrorCode.INELIGIBLE_REPLICA)
    assert partition.isr.is_settled
    follower_fetches(broker, 0)
    assert broker.controller.proposed == [[1, 2]], "the controller would refuse it each time"
    broker.clock.advance(REFUSED_MS)
    follower_fetches(broker, 0)
    assert broker.controller.proposed == [[1, 2], [1, 2]]


def test_an_outdated_proposal_stays_in_force_until_the_next_order(broker: Broker) -> None:
    partition = broker.lead(replicas=(1, 2), isr=(1,))
    follower_fetches(broker, 0)
    controller_answers(broker, [], partition_epoch=0, error=ErrorCode.INVALID_UPDATE_VERSION)
    assert partition.isr.maximal == (1, 2)
    assert len(broker.controller.asked) == 1


def test_other_errors_of_the_controller_are_tried_again(broker: Broker) -> None:
    broker.lead(replicas=(1, 2), isr=(1,))
    follower_fetches(broker, 0)
    controller_answers(broker, [], partition_epoch=0, error=ErrorCode.UNKNOWN_SERVER_ERROR)
    assert broker.controller.proposed == [[1, 2], [1, 2]]


def test_one_request_is_in_flight_and_the_others_gather(broker: Broker) -> None:
    broker.update_metadata({"t": {0: 1, 1: 1, 2: 1}})
    for index in range(3):
        broker.lead(index=index, replicas=(1, 2), isr=(1,))
        broker.call(fetch_request(0, index=index, replica=2, by_id=True), 17)
    assert len(broker.controller.asked) == 1
    controller_answers(broker, [1, 2], partition_epoch=1)
    assert len(broker.controller.asked) == 2
    assert len(broker.controller.asked[1][0].topics[0].partitions) == 2


def test_a_top_level_error_is_tried_again_after_a_while(broker: Broker) -> None:
    broker.lead(replicas=(1, 2), isr=(1,))
    follower_fetches(broker, 0)
    broker.controller.asked[0][1].complete(AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
    assert len(broker.controller.asked) == 1
    broker.clock.advance(50)
    assert len(broker.controller.asked) == 2


def test_rule_28_a_caught_up_follower_on_a_dead_broker_is_not_proposed(broker: Broker) -> None:
    broker.update_metadata({"t": {0: 1}}, alive=(1, 3))
    broker.lead(replicas=(1, 2), isr=(1,))
    follower_fetches(broker, 0)
    assert broker.controller.proposed == []


def test_rule_29_a_member_that_is_no_replica_any_more_does_no_harm(broker: Broker) -> None:
    partition = broker.lead(replicas=(1, 2), isr=(1, 2, 3))
    broker.produce(2)
    follower_fetches(broker, 2)
    assert broker.controller.proposed == [], "broker 3 still belongs to what is committed"
    broker.clock.advance(LAG_MS * 2)
    assert broker.controller.proposed == [[1, 2]]
    controller_answers(broker, [1, 2], partition_epoch=1)
    assert (partition.isr.committed, partition.high_watermark) == ((1, 2), 2)
    follower_fetches(broker, 2, replica=3)
    assert broker.controller.proposed == [[1, 2]]


def test_rule_40_an_order_that_could_not_be_carried_out_can_be_given_again(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.update_metadata({"t": {0: 1, 1: 1}})
    with monkeypatch.context() as broken:

        def refuse(*_: object, **__: object) -> None:
            raise InvalidConfig

        broken.setattr(broker.log_manager, "get_or_create_log", refuse)
        assert broker.order(epoch=5) == ErrorCode.INVALID_CONFIG
    assert broker.order(epoch=5) == ErrorCode.NONE, "epoch 5 does not count as old"
    assert broker.partition().leader_epoch == 5


# --- disks -----------------------------------------------------------------------------------------------------------


def test_partitions_of_a_failed_directory_are_56_until_the_next_start(broker: Broker) -> None:
    partition = broker.lead()
    log = partition.leader_log()
    broker.manager.handle_log_dir_failure(str(log.log_dir.path))
    assert answered(broker.produce()).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.order(epoch=9, partition_epoch=9) == ErrorCode.KAFKA_STORAGE_ERROR
    assert stop(broker, epoch=-2, delete=True) == ErrorCode.KAFKA_STORAGE_ERROR


def test_gauges_count_what_monitoring_asks_for(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"min.insync.replicas": "2"})
    broker.update_metadata({"t": {0: 1, 1: 1, 2: 2}})
    broker.lead(index=0, replicas=(1, 2), isr=(1,))
    broker.lead(index=1, replicas=(1, 2), isr=(1, 2))
    broker.order(index=2, replicas=(1, 2), leader=2)

    def value(name: str) -> Any:
        metric = broker.metrics.find(f"kafka.server:type=ReplicaManager,name={name}")
        assert metric is not None
        return metric.attributes()["Value"]

    assert (value("PartitionCount"), value("LeaderCount")) == (3, 2)
    assert value("UnderReplicatedPartitions") == 1
    assert (value("UnderMinIsrPartitionCount"), value("AtMinIsrPartitionCount")) == (1, 1)
    broker.close()


def test_a_high_watermark_checkpoint_without_an_interval_is_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Kafka; not without a pause."""
    broker = Broker(tmp_path, {"replica.high.watermark.checkpoint.interval.ms": "0"})
    written: list[int] = []

    def write() -> None:
        if len(written) > 8:
            pytest.fail("without a pause")
        written.append(broker.clock.monotonic_ms())

    monkeypatch.setattr(broker.log_manager, "write_high_watermarks", write)
    broker.lead()
    broker.clock.advance(1000)
    assert len(written) == 1
    broker.close()
