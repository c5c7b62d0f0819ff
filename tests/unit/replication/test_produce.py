"""Produce, from the handler to the log: order of checks, acknowledgements, error codes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.network.errors import CloseConnection
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_zk.record import Codec

from .broker import Broker, answered, fetch_request, offsets_in, produce_request, records


def code_of(response: Any) -> ErrorCode:
    return ErrorCode(answered(response).error_code)


def test_acks_1_answers_with_the_offset_of_the_first_record(broker: Broker) -> None:
    broker.lead()
    assert answered(broker.produce(3)).base_offset == 0
    answer = answered(broker.produce(2))
    assert (answer.error_code, answer.base_offset, answer.log_append_time_ms, answer.log_start_offset) == (0, 3, -1, 0)


def test_acks_all_answers_at_once_where_the_leader_is_the_only_replica(broker: Broker) -> None:
    partition = broker.lead()
    answer = answered(broker.produce(3, acks=-1))
    assert (answer.error_code, answer.base_offset) == (0, 0)
    assert partition.high_watermark == 3


def test_acks_0_has_no_answer_and_an_error_closes_the_connection(broker: Broker) -> None:
    broker.lead()
    assert broker.produce(1, acks=0) is None
    with pytest.raises(CloseConnection, match="UNKNOWN_TOPIC_OR_PARTITION"):
        broker.produce(1, index=9, acks=0)


def test_an_unknown_topic_or_partition_is_3(broker: Broker) -> None:
    broker.lead()
    assert code_of(broker.produce(topic="nowhere")) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert code_of(broker.produce(index=5)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_partition_led_elsewhere_is_6_and_names_its_leader_from_version_10(broker: Broker) -> None:
    broker.update_metadata({"t": {0: 2}})
    response = broker.produce(version=10)
    answer = answered(response)
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (2, 0)
    assert [(node.node_id, node.host, node.port) for node in response.node_endpoints] == [(2, "h", 9002)]
    assert broker.produce(version=9).node_endpoints == []


def test_acks_other_than_minus_one_zero_and_one_are_21(broker: Broker) -> None:
    broker.lead()
    assert code_of(broker.produce(acks=2)) is ErrorCode.INVALID_REQUIRED_ACKS


def test_internal_topics_are_for_the_admin_client_only(broker: Broker) -> None:
    broker.lead("__consumer_offsets")
    request = produce_request(records(), topic="__consumer_offsets")
    assert code_of(broker.call(request, 9)) is ErrorCode.INVALID_TOPIC_EXCEPTION
    request = produce_request(records(), topic="__consumer_offsets")
    assert code_of(broker.call(request, 9, client_id="__admin_client")) is ErrorCode.NONE


def test_no_batch_or_two_batches_or_an_old_magic_are_87(broker: Broker) -> None:
    broker.lead()
    two = memoryview(bytearray(bytes(records()) * 2))
    old = bytearray(records())
    old[16] = 1
    for batch in (None, memoryview(b""), two, memoryview(old)):
        answer = answered(broker.call(produce_request(batch), 9))
        assert answer.error_code == ErrorCode.INVALID_RECORD
        assert answer.base_offset == answer.log_start_offset == -1


def test_a_batch_cut_short_behind_the_first_is_dropped(broker: Broker) -> None:
    partition = broker.lead()
    batch = bytes(records(2))
    assert code_of(broker.call(produce_request(memoryview(bytearray(batch + batch[:30]))), 9)) is ErrorCode.NONE
    assert partition.leader_log().log_end_offset == 2


def test_zstd_before_version_7_is_76(broker: Broker) -> None:
    broker.lead()
    assert code_of(broker.produce(codec=Codec.ZSTD, version=6)) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert code_of(broker.produce(codec=Codec.ZSTD, version=7)) is ErrorCode.NONE


def test_a_damaged_batch_is_2(broker: Broker) -> None:
    broker.lead()
    damaged = bytearray(records())
    damaged[-1] ^= 1
    answer = answered(broker.call(produce_request(memoryview(damaged)), 9))
    assert answer.error_code == ErrorCode.CORRUPT_MESSAGE
    assert answer.log_start_offset == -1


def test_rule_82_a_batch_over_max_message_bytes_is_10(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"max.message.bytes": "200"})
    broker.lead()
    answer = answered(broker.produce(1, size_bytes=500))
    assert (answer.error_code, answer.log_start_offset) == (ErrorCode.MESSAGE_TOO_LARGE, -1)
    broker.close()


def test_rule_76_a_record_without_key_on_a_compacted_topic_names_the_record(tmp_path: Path) -> None:
    from kafka_zk.record import Record, build_batch

    broker = Broker(tmp_path, overrides={"cleanup.policy": "compact"})
    broker.lead()
    batch = memoryview(build_batch([Record(0, 1, b"k", b"v"), Record(1, 1, None, b"v")]))
    answer = answered(broker.call(produce_request(batch), 9))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [1]
    assert "key" in answer.record_errors[0].batch_index_error_message
    assert answer.error_message
    assert answer.log_start_offset == 0
    broker.close()


def test_a_repeated_batch_of_an_idempotent_producer_gets_the_old_offset(broker: Broker) -> None:
    partition = broker.lead()
    for _ in range(2):
        answer = answered(broker.produce(3, producer_id=5, producer_epoch=0, base_sequence=0))
        assert (answer.error_code, answer.base_offset) == (0, 0)
    assert partition.leader_log().log_end_offset == 3


def test_a_gap_in_the_sequence_is_45_and_tells_the_log_start(broker: Broker) -> None:
    broker.lead()
    broker.produce(1, producer_id=5, producer_epoch=0, base_sequence=0)
    answer = answered(broker.produce(1, producer_id=5, producer_epoch=0, base_sequence=7))
    assert (answer.error_code, answer.base_offset, answer.log_start_offset) == (
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        -1,
        0,
    )


def test_one_partitions_failure_does_not_touch_the_others_and_order_is_kept(broker: Broker) -> None:
    broker.update_metadata({"t": {0: 1, 1: 2, 2: 1}, "u": {0: 1}})
    for topic, index in (("t", 0), ("t", 2), ("u", 0)):
        broker.lead(topic, index)

    def part(index: int) -> PartitionProduceData:
        return PartitionProduceData(index=index, records=records())

    request = ProduceRequest(
        acks=1,
        timeout_ms=1_000,
        topic_data=[
            TopicProduceData(name="t", partition_data=[part(7), part(0), part(1), part(2)]),
            TopicProduceData(name="u", partition_data=[part(0)]),
        ],
    )
    response = broker.call(request, 9)
    codes = [(t.name, p.index, p.error_code) for t in response.responses for p in t.partition_responses]
    assert codes == [("t", 7, 3), ("t", 0, 0), ("t", 1, 6), ("t", 2, 0), ("u", 0, 0)]


def test_log_append_time_is_answered_where_the_topic_uses_it(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"message.timestamp.type": "LogAppendTime"})
    broker.lead()
    assert answered(broker.produce()).log_append_time_ms == broker.clock.wall_ms()
    broker.close()


def test_message_sets_of_old_producers_are_taken(broker: Broker) -> None:
    from kafka_zk.record import Record
    from kafka_zk.record.legacy import build_message_set

    partition = broker.lead()
    old = build_message_set([Record(0, 5, b"a", b"1"), Record(1, 6, b"b", b"2")], magic=1)
    assert code_of(broker.call(produce_request(memoryview(old)), 2)) is ErrorCode.NONE
    assert partition.leader_log().log_end_offset == 2


# --- acks=all with followers -----------------------------------------------------------------------------------------


def follower_fetches(broker: Broker, offset: int, replica: int = 2) -> None:
    broker.call(fetch_request(offset, replica=replica, by_id=True), 17)


def test_acks_all_waits_for_the_followers_in_the_isr(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    pending = broker.produce(3, acks=-1)
    assert isinstance(pending, Pending) and not pending.is_done
    follower_fetches(broker, 0)
    assert not pending.is_done
    follower_fetches(broker, 3)
    assert (answered(pending).error_code, answered(pending).base_offset) == (0, 0)


def test_acks_all_that_is_not_committed_in_time_is_7_and_keeps_its_offset(broker: Broker) -> None:
    partition = broker.lead(replicas=(1, 2))
    pending = broker.produce(3, acks=-1)
    broker.clock.advance(1_000)
    answer = answered(pending)
    assert (answer.error_code, answer.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    assert partition.leader_log().log_end_offset == 3


def test_acks_all_fails_with_6_when_leadership_moves(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    pending = broker.produce(3, acks=-1)
    broker.order(replicas=(1, 2), leader=2, epoch=1, partition_epoch=1)
    assert code_of(pending) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_under_min_insync_replicas_acks_all_is_19_and_nothing_is_appended(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"min.insync.replicas": "2"})
    partition = broker.lead(replicas=(1, 2), isr=(1,))
    answer = answered(broker.produce(acks=-1))
    assert (answer.error_code, answer.base_offset, answer.error_message) == (ErrorCode.NOT_ENOUGH_REPLICAS, -1, None)
    assert partition.leader_log().log_end_offset == 0
    broker.close()


def test_under_min_insync_replicas_acks_1_appends_but_nothing_is_committed(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"min.insync.replicas": "2"})
    partition = broker.lead(replicas=(1, 2), isr=(1,))
    assert code_of(broker.produce()) is ErrorCode.NONE
    assert (partition.leader_log().log_end_offset, partition.high_watermark) == (1, 0)
    assert offsets_in(answered(broker.fetch(0))) == []
    broker.close()


def test_one_replica_is_enough_where_the_topic_has_one(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"min.insync.replicas": "2"})
    broker.lead()
    assert code_of(broker.produce(acks=-1)) is ErrorCode.NONE
    broker.close()


def test_several_produces_wait_and_are_answered_by_one_fetch(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    waiting = [broker.produce(2, acks=-1) for _ in range(3)]
    follower_fetches(broker, 4)
    assert [pending.is_done for pending in waiting] == [True, True, False]
    follower_fetches(broker, 6)
    assert [answered(pending).base_offset for pending in waiting] == [0, 2, 4]


def test_rule_64_only_what_was_appended_is_counted(broker: Broker) -> None:
    broker.lead()
    damaged = records(3)
    damaged[-1] ^= 1
    assert code_of(broker.call(produce_request(damaged), 9)) is ErrorCode.CORRUPT_MESSAGE
    counts = dict.fromkeys(("MessagesInPerSec", "BytesInPerSec", "FailedProduceRequestsPerSec"), 0)
    assert counted(broker, counts) == {"MessagesInPerSec": 0, "BytesInPerSec": 0, "FailedProduceRequestsPerSec": 1}
    good = records(3)
    assert code_of(broker.call(produce_request(good), 9)) is ErrorCode.NONE
    assert counted(broker, counts) == {
        "MessagesInPerSec": 3,
        "BytesInPerSec": len(good),
        "FailedProduceRequestsPerSec": 1,
    }


def counted(broker: Broker, names: Iterable[str]) -> dict[str, int]:
    """What the broker has counted so far, by Kafka's names."""
    broker.metrics.fold()
    return {name: broker.metrics.meter(f"kafka.server:type=BrokerTopicMetrics,name={name}").count for name in names}


def test_recompressed_records_are_counted_as_converted_for_their_topic_and_the_broker(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"compression.type": "gzip"})
    broker.lead()
    broker.produce(3)
    broker.produce(4, codec=Codec.GZIP)
    broker.metrics.fold()
    name = "kafka.server:type=BrokerTopicMetrics,name=ProduceMessageConversionsPerSec"
    meters: list[Any] = [broker.metrics.find(name), broker.metrics.find(name, topic="t")]
    assert [meter.count for meter in meters] == [3, 3]
    memory: Any = broker.metrics.find("kafka.network:type=RequestMetrics,name=TemporaryMemoryBytes", request="Produce")
    assert memory.count == 2
    broker.close()
