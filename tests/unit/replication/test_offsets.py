"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords over real logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafka_zk.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafka_zk.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

from .broker import Broker, fetch_request, records

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
DEBUGGING, READ_COMMITTED = -2, 1


def list_offsets(
    broker: Broker,
    timestamp: int,
    *,
    version: int = 9,
    epoch: int = -1,
    replica: int = -1,
    limit: int = 10,
    isolation: int = 0,
) -> Any:
    asked = ListOffsetsPartition(
        partition_index=0, timestamp=timestamp, current_leader_epoch=epoch, max_num_offsets=limit
    )
    topics = [ListOffsetsTopic(name="t", partitions=[asked])]
    request = ListOffsetsRequest(replica_id=replica, isolation_level=isolation, topics=topics)
    return broker.call(request, version).topics[0].partitions[0]


def found(answer: Any) -> tuple[int, int, int, int]:
    return answer.error_code, answer.timestamp, answer.offset, answer.leader_epoch


@pytest.fixture
def led(broker: Broker) -> Broker:
    """Leader epoch 4; three batches of two records, at the times 1000 and 1001, 5000 and 5001, 2000 and 2001."""
    broker.lead(epoch=4)
    for timestamp in (1_000, 5_000, 2_000):
        broker.produce(2, timestamp=timestamp)
    return broker


def test_rule_85_latest_and_earliest_carry_the_leader_epoch(led: Broker) -> None:
    assert found(list_offsets(led, LATEST)) == (0, -1, 6, 4)
    assert found(list_offsets(led, EARLIEST)) == (0, -1, 0, 4)
    assert found(list_offsets(led, EARLIEST_LOCAL)) == (0, -1, 0, 4)


def test_rule_77_the_first_record_at_or_after_a_time_is_found_inside_its_batch(led: Broker) -> None:
    assert found(list_offsets(led, 0)) == (0, 1_000, 0, 4)
    assert found(list_offsets(led, 1_001)) == (0, 1_001, 1, 4)
    assert found(list_offsets(led, 1_002)) == (0, 5_000, 2, 4)
    assert found(list_offsets(led, 5_002)) == (0, -1, -1, -1)


def test_rule_48_the_newest_record_is_found_wherever_it_lies(led: Broker) -> None:
    assert found(list_offsets(led, MAX_TIMESTAMP)) == (0, 5_001, 3, 4)


def test_without_tiers_the_latest_tiered_offset_is_minus_one(led: Broker) -> None:
    assert found(list_offsets(led, LATEST_TIERED)) == (0, -1, -1, -1)


def test_special_times_need_their_versions(led: Broker) -> None:
    for timestamp, version in ((MAX_TIMESTAMP, 6), (EARLIEST_LOCAL, 7), (LATEST_TIERED, 8), (-6, 9)):
        assert list_offsets(led, timestamp, version=version).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_what_is_not_committed_is_not_found(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    broker.produce(2, timestamp=1_000)
    assert found(list_offsets(broker, LATEST)) == (0, -1, 0, 0)
    assert found(list_offsets(broker, 1_000)) == (0, -1, -1, -1)
    assert found(list_offsets(broker, LATEST, replica=2)) == (0, -1, 2, 0)


def test_a_new_leader_that_does_not_know_what_is_committed_says_so(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    broker.produce(2)
    broker.order(replicas=(1, 2), epoch=1, partition_epoch=1)
    assert list_offsets(broker, LATEST).error_code == ErrorCode.OFFSET_NOT_AVAILABLE
    assert list_offsets(broker, LATEST, version=4).error_code == ErrorCode.LEADER_NOT_AVAILABLE
    for _ in range(2):
        broker.call(fetch_request(2, replica=2, by_id=True), 17)
    assert found(list_offsets(broker, LATEST)) == (0, -1, 2, 1)


@pytest.mark.parametrize("replica", [2, DEBUGGING])
def test_replicas_are_told_where_a_new_leaders_log_ends(broker: Broker, replica: int) -> None:
    broker.lead(replicas=(1, 2))
    broker.produce(2, timestamp=1_000)
    broker.order(replicas=(1, 2), epoch=1, partition_epoch=1)
    assert list_offsets(broker, LATEST).error_code == ErrorCode.OFFSET_NOT_AVAILABLE
    assert list_offsets(broker, 9_000).error_code == ErrorCode.OFFSET_NOT_AVAILABLE
    assert found(list_offsets(broker, LATEST, replica=replica)) == (0, -1, 2, 1)
    assert found(list_offsets(broker, 9_000, replica=replica)) == (0, -1, -1, -1)


def test_a_transaction_that_is_open_since_an_earlier_epoch_does_not_hide_what_is_committed(broker: Broker) -> None:
    broker.lead()
    broker.produce(2, timestamp=1_000)
    begun = records(1, producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    broker.partition().append_as_leader(bytearray(begun), 1)
    broker.order(epoch=1, partition_epoch=1)
    assert found(list_offsets(broker, LATEST)) == (0, -1, 3, 1)
    assert found(list_offsets(broker, LATEST, isolation=READ_COMMITTED)) == (0, -1, 2, 1)
    assert found(list_offsets(broker, 9_000, isolation=READ_COMMITTED)) == (0, -1, -1, -1)


def test_epochs_and_unknown_partitions_are_refused(led: Broker) -> None:
    assert list_offsets(led, LATEST, epoch=3).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert list_offsets(led, LATEST, epoch=5).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    asked = ListOffsetsPartition(partition_index=7, timestamp=LATEST)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[asked])])
    assert led.call(request, 9).topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_partition_asked_for_twice_is_42(led: Broker) -> None:
    asked = [ListOffsetsPartition(partition_index=0, timestamp=LATEST) for _ in range(2)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=asked)])
    codes = [answer.error_code for answer in led.call(request, 9).topics[0].partitions]
    assert codes == [ErrorCode.INVALID_REQUEST] * 2


def test_version_0_lists_segment_starts_newest_first(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"segment.bytes": "200"})
    broker.lead()
    for _ in range(3):
        broker.produce(1, size_bytes=80)
    assert list_offsets(broker, LATEST, version=0).old_style_offsets == [3, 2, 1, 0]
    assert list_offsets(broker, LATEST, version=0, limit=2).old_style_offsets == [3, 2]
    assert list_offsets(broker, EARLIEST, version=0).old_style_offsets == [0]
    broker.close()


# --- epochs ----------------------------------------------------------------------------------------------------------


def end_of_epoch(broker: Broker, epoch: int, current: int = -1) -> tuple[int, int, int]:
    asked = OffsetForLeaderPartition(partition=0, leader_epoch=epoch, current_leader_epoch=current)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="t", partitions=[asked])])
    answer = broker.call(request, 4).topics[0].partitions[0]
    return answer.error_code, answer.leader_epoch, answer.end_offset


def test_an_epoch_ends_where_the_next_one_begins(broker: Broker) -> None:
    broker.lead(epoch=2)
    broker.produce(3)
    broker.order(epoch=5, partition_epoch=1)
    broker.produce(4)
    assert end_of_epoch(broker, 2) == (0, 2, 3)
    assert end_of_epoch(broker, 4) == (0, 2, 3)
    assert end_of_epoch(broker, 5) == (0, 5, 7)
    assert end_of_epoch(broker, 6) == (0, -1, -1)
    assert end_of_epoch(broker, 1) == (0, 1, 0)
    assert end_of_epoch(broker, 5, current=4)[0] == ErrorCode.FENCED_LEADER_EPOCH


def test_only_the_leader_answers_for_epochs(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    broker.order(replicas=(1, 2), leader=2, epoch=1, partition_epoch=1)
    assert end_of_epoch(broker, 0)[0] == ErrorCode.NOT_LEADER_OR_FOLLOWER


# --- deleting --------------------------------------------------------------------------------------------------------


def delete_records(broker: Broker, offset: int, *, topic: str = "t") -> Any:
    asked = DeleteRecordsPartition(partition_index=0, offset=offset)
    topics = [DeleteRecordsTopic(name=topic, partitions=[asked])]
    return broker.call(DeleteRecordsRequest(timeout_ms=500, topics=topics), 2)


def low_watermark(pending: Pending[Any]) -> tuple[int, int]:
    answer = pending.value.topics[0].partitions[0]
    return answer.error_code, answer.low_watermark


def test_delete_records_moves_the_log_start(led: Broker) -> None:
    assert low_watermark(delete_records(led, 3)) == (0, 3)
    assert found(list_offsets(led, EARLIEST)) == (0, -1, 3, 4)
    assert low_watermark(delete_records(led, -1)) == (0, 6)
    assert low_watermark(delete_records(led, 2)) == (0, 6)


def test_delete_records_above_the_high_watermark_is_1(led: Broker) -> None:
    assert low_watermark(delete_records(led, 7)) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert low_watermark(delete_records(led, -2)) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


def test_delete_records_on_internal_topics_is_17_and_unknown_ones_3(led: Broker) -> None:
    led.lead("__consumer_offsets")
    assert low_watermark(delete_records(led, 0, topic="__consumer_offsets"))[0] == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert low_watermark(delete_records(led, 0, topic="nowhere"))[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_delete_records_on_a_topic_that_is_only_compacted_is_44(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"cleanup.policy": "compact"})
    broker.lead()
    broker.produce(2)
    assert low_watermark(delete_records(broker, 1)) == (ErrorCode.POLICY_VIOLATION, -1)
    broker.close()


def test_delete_records_waits_for_the_followers(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    broker.produce(4)
    for offset in (0, 4):
        broker.call(fetch_request(offset, replica=2, by_id=True), 17)
    pending = delete_records(broker, 3)
    assert not pending.is_done
    request = fetch_request(4, replica=2, by_id=True)
    request.topics[0].partitions[0].log_start_offset = 3
    broker.call(request, 17)
    assert low_watermark(pending) == (0, 3)


def test_delete_records_gives_up_after_its_timeout(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    broker.produce(4)
    for offset in (0, 4):
        broker.call(fetch_request(offset, replica=2, by_id=True), 17)
    pending = delete_records(broker, 3)
    broker.clock.advance(500)
    assert low_watermark(pending) == (ErrorCode.REQUEST_TIMED_OUT, -1)
