"""WriteTxnMarkers, from the handler to the log: what ends, who is told, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ClusterAuthorizationFailed, ErrorCode
from kafka_zk.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kafka_zk.record import batches
from kafka_zk.record.control import marker_of
from kafka_zk.replication.partition import Partition

from .broker import Broker, answered, fetch_request, offsets_in, records

PRODUCER = 5
COMMITTED = 1
"""The isolation level of readers of committed data."""


class Groups:
    """What the group coordinator is told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, Mapping[int, int], bool]] = []

    def handle_txn_completion(self, producer_id: int, markers: Mapping[int, int], *, is_commit: bool) -> None:
        self.told.append((producer_id, markers, is_commit))


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path)
    broker.services.group_coordinator = Groups()  # type: ignore[assignment]
    yield broker
    broker.close()


def write_in_transaction(
    broker: Broker, count: int = 1, *, topic: str = "t", producer_id: int = PRODUCER, epoch: int = 0, sequence: int = 0
) -> ErrorCode:
    """Records of an open transaction; the code of the append."""
    batch = records(
        count,
        timestamp=broker.clock.wall_ms(),
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=True,
    )
    results = broker.manager.append_records(
        [(topic, 0, batch)], required_acks=1, timeout_ms=1_000, internal_topics_allowed=True
    )
    assert isinstance(results, list)
    error = getattr(results[0], "error", None)
    return ErrorCode.NONE if error is None else error.code


def marker(
    *partitions: tuple[str, int],
    producer_id: int = PRODUCER,
    epoch: int = 0,
    is_commit: bool = True,
    coordinator_epoch: int = 0,
) -> WritableTxnMarker:
    topics = [WritableTxnMarkerTopic(name=topic, partition_indexes=[index]) for topic, index in partitions]
    return WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=is_commit,
        topics=topics,
        coordinator_epoch=coordinator_epoch,
    )


def end(broker: Broker, *markers: WritableTxnMarker) -> dict[int, dict[tuple[str, int], ErrorCode]]:
    """The codes of a request that is answered at once."""
    return codes(broker.call(WriteTxnMarkersRequest(markers=list(markers)), 1))


def codes(answer: Pending[Any]) -> dict[int, dict[tuple[str, int], ErrorCode]]:
    response = answer.result(10_000)
    return {
        each.producer_id: {
            (topic.name, line.partition_index): ErrorCode(line.error_code)
            for topic in each.topics
            for line in topic.partitions
        }
        for each in response.markers
    }


def code_of(broker: Broker, sent: WritableTxnMarker) -> ErrorCode:
    return end(broker, sent)[sent.producer_id]["t", 0]


def committed(broker: Broker) -> Any:
    return answered(broker.fetch(0, isolation=COMMITTED))


def written_markers(partition: Partition) -> list[bool]:
    """Whether they commit, of all markers in a log."""
    log = partition.leader_log()
    found = log.read(0, max_bytes=1 << 20, up_to=log.log_end_offset, min_one=True)
    data = b"".join(piece.read() for piece in found.slices)
    for piece in found.slices:
        piece.release()
    return [marker.is_commit for batch in batches(data) if batch.header.is_control and (marker := marker_of(batch))]


# --- what a marker does ----------------------------------------------------------------------------------------------


def test_a_commit_makes_the_records_of_the_transaction_readable(broker: Broker) -> None:
    partition = broker.lead()
    write_in_transaction(broker, 3)
    assert offsets_in(committed(broker)) == []
    assert code_of(broker, marker(("t", 0))) is ErrorCode.NONE
    assert offsets_in(answer := committed(broker)) == [0, 1, 2, 3]
    assert answer.aborted_transactions == []
    assert partition.leader_log().last_stable_offset == 4


def test_an_abort_is_in_the_index_that_readers_get(broker: Broker) -> None:
    broker.lead()
    broker.produce(2, timestamp=broker.clock.wall_ms())
    write_in_transaction(broker, 3)
    assert code_of(broker, marker(("t", 0), is_commit=False)) is ErrorCode.NONE
    answer = committed(broker)
    aborted = [(each.producer_id, each.first_offset) for each in answer.aborted_transactions]
    assert (offsets_in(answer), aborted) == ([0, 1, 2, 3, 4, 5], [(PRODUCER, 2)])


def test_a_marker_is_a_control_batch_with_the_time_of_the_broker_and_no_sequence(broker: Broker) -> None:
    partition = broker.lead()
    write_in_transaction(broker)
    end(broker, marker(("t", 0), coordinator_epoch=7))
    log = partition.leader_log()
    found = log.read(1, max_bytes=1 << 20, up_to=log.log_end_offset, min_one=True)
    (batch,) = batches(found.slices[0].read())
    found.slices[0].release()
    header = batch.header
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (PRODUCER, 0, -1)
    assert header.is_control and header.is_transactional and not header.is_compressed
    assert header.max_timestamp == broker.clock.wall_ms()
    written = marker_of(batch)
    assert written is not None and (written.is_commit, written.coordinator_epoch) == (True, 7)


def test_rule_72_a_marker_keeps_its_producer_known(broker: Broker) -> None:
    partition = broker.lead()
    write_in_transaction(broker)
    broker.clock.advance(10_000)
    end(broker, marker(("t", 0)))
    expires_ms = broker.clock.wall_ms() + broker.config.producer_id_expiration_ms
    partition.leader_log().remove_expired_producers(expires_ms - 1)
    assert [each.producer_id for each in partition.leader_log().active_producers()] == [PRODUCER]


def test_a_marker_that_is_sent_twice_is_written_twice_and_ends_the_transaction_once(broker: Broker) -> None:
    partition = broker.lead()
    write_in_transaction(broker)
    for _ in range(2):
        assert code_of(broker, marker(("t", 0), is_commit=False)) is ErrorCode.NONE
    assert written_markers(partition) == [False, False]
    answer = committed(broker)
    assert len(answer.aborted_transactions) == 1
    offsets_in(answer)


def test_a_marker_ends_only_the_transaction_of_its_producer(broker: Broker) -> None:
    partition = broker.lead()
    write_in_transaction(broker, 2)
    write_in_transaction(broker, 2, producer_id=6)
    end(broker, marker(("t", 0)))
    assert partition.leader_log().last_stable_offset == 2
    end(broker, marker(("t", 0), producer_id=6))
    assert partition.leader_log().last_stable_offset == 6


# --- epochs ----------------------------------------------------------------------------------------------------------


def test_a_marker_of_an_older_epoch_of_its_producer_is_47(broker: Broker) -> None:
    partition = broker.lead()
    write_in_transaction(broker, epoch=3)
    assert code_of(broker, marker(("t", 0), epoch=2)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert written_markers(partition) == []


def test_a_marker_of_an_older_coordinator_is_52(broker: Broker) -> None:
    partition = broker.lead()
    write_in_transaction(broker)
    assert code_of(broker, marker(("t", 0), coordinator_epoch=4)) is ErrorCode.NONE
    refused = code_of(broker, marker(("t", 0), coordinator_epoch=3, is_commit=False))
    assert refused is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert written_markers(partition) == [True]


def test_rule_67_a_marker_with_a_newer_epoch_shuts_out_the_producer_it_ends(broker: Broker) -> None:
    broker.lead()
    write_in_transaction(broker, epoch=0)
    assert code_of(broker, marker(("t", 0), epoch=1, is_commit=False)) is ErrorCode.NONE
    assert write_in_transaction(broker, epoch=0, sequence=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert write_in_transaction(broker, epoch=1, sequence=0) is ErrorCode.NONE


def test_a_marker_shuts_out_also_where_its_producer_has_written_nothing(broker: Broker) -> None:
    broker.lead()
    assert code_of(broker, marker(("t", 0), epoch=2)) is ErrorCode.NONE
    assert write_in_transaction(broker, epoch=1) is ErrorCode.INVALID_PRODUCER_EPOCH


# --- where there is nothing to end -----------------------------------------------------------------------------------


def test_a_partition_without_a_replica_here_is_3_and_the_others_are_ended(broker: Broker) -> None:
    broker.lead()
    write_in_transaction(broker)
    broker.update_metadata({"elsewhere": {0: 2}})
    answers = end(broker, marker(("nowhere", 0), ("t", 0), ("elsewhere", 0)))
    assert answers == {
        PRODUCER: {
            ("nowhere", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ("t", 0): ErrorCode.NONE,
            ("elsewhere", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
    }


def test_a_follower_is_6(broker: Broker) -> None:
    broker.update_metadata({"t": {0: 2}})
    broker.order(leader=2, replicas=(1, 2))
    assert code_of(broker, marker(("t", 0))) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_too_few_replicas_in_sync_are_19(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"min.insync.replicas": "2"})
    broker.lead(replicas=(1, 2), isr=(1,))
    assert code_of(broker, marker(("t", 0))) is ErrorCode.NOT_ENOUGH_REPLICAS
    broker.close()


def test_no_markers_are_answered_at_once(broker: Broker) -> None:
    assert end(broker) == {}


def test_two_markers_of_one_producer_have_one_answer(broker: Broker) -> None:
    broker.lead("t")
    broker.lead("u")
    answers = end(broker, marker(("t", 0)), marker(("u", 0)), marker(("t", 0), producer_id=6))
    assert answers == {
        PRODUCER: {("t", 0): ErrorCode.NONE, ("u", 0): ErrorCode.NONE},
        6: {("t", 0): ErrorCode.NONE},
    }


def test_a_marker_of_no_partitions_has_no_answer(broker: Broker) -> None:
    assert end(broker, marker()) == {}


@pytest.mark.parametrize(("producer_id", "epoch"), [(-1, 0), (PRODUCER, -1)])
def test_a_marker_of_nobody_is_unknown_server_error_for_all_its_partitions(
    broker: Broker, producer_id: int, epoch: int
) -> None:
    partition = broker.lead()
    answers = end(broker, marker(("t", 0), ("nowhere", 0), producer_id=producer_id, epoch=epoch))
    assert set(answers[producer_id].values()) == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert written_markers(partition) == []


# --- when it is answered ---------------------------------------------------------------------------------------------


def replicate(broker: Broker, up_to: int) -> None:
    broker.call(fetch_request(up_to, replica=2), 12)


def test_the_answer_comes_when_the_last_marker_is_replicated(broker: Broker) -> None:
    broker.lead("t", replicas=(1, 2))
    broker.lead("u")
    write_in_transaction(broker, 2)
    write_in_transaction(broker, topic="u")
    answer = broker.call(WriteTxnMarkersRequest(markers=[marker(("u", 0)), marker(("t", 0), ("u", 0))]), 1)
    assert not answer.is_done
    replicate(broker, 2)
    assert not answer.is_done
    replicate(broker, 3)
    assert codes(answer) == {PRODUCER: {("u", 0): ErrorCode.NONE, ("t", 0): ErrorCode.NONE}}


def test_a_reader_of_committed_data_is_woken_by_the_replication_of_the_marker(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    write_in_transaction(broker, 2)
    replicate(broker, 2)
    waiting = broker.fetch(0, isolation=COMMITTED, max_wait_ms=500)
    broker.call(WriteTxnMarkersRequest(markers=[marker(("t", 0))]), 1)
    assert not waiting.is_done
    replicate(broker, 3)
    assert offsets_in(answered(waiting)) == [0, 1, 2]


def test_a_marker_that_is_not_replicated_in_time_is_7(broker: Broker) -> None:
    partition = broker.lead(replicas=(1, 2))
    answer = broker.call(WriteTxnMarkersRequest(markers=[marker(("t", 0))]), 1)
    broker.clock.advance(broker.config.request_timeout_ms)
    assert codes(answer)[PRODUCER]["t", 0] is ErrorCode.REQUEST_TIMED_OUT
    assert written_markers(partition) == [True]


# --- what operators see ----------------------------------------------------------------------------------------------


def test_a_transaction_counts_as_late_five_minutes_after_the_longest_timeout(tmp_path: Path) -> None:
    broker = Broker(tmp_path, {"replica.lag.time.max.ms": "10000000", "transaction.max.timeout.ms": "60000"})
    broker.services.group_coordinator = Groups()  # type: ignore[assignment]
    partition = broker.lead()
    late: Any = broker.metrics.find("kafka.server:type=ReplicaManager,name=PartitionsWithLateTransactionsCount")
    write_in_transaction(broker)
    broker.clock.advance(360_000)
    assert late.attributes()["Value"] == 0
    broker.clock.advance(1)
    assert late.attributes()["Value"] == 1
    end(broker, marker(("t", 0)))
    assert (late.attributes()["Value"], partition.leader_log().oldest_transaction_ms) == (0, -1)
    broker.close()


# --- groups ----------------------------------------------------------------------------------------------------------


def test_groups_learn_of_markers_in_their_partitions_once_they_are_replicated(broker: Broker) -> None:
    broker.lead("__consumer_offsets", replicas=(1, 2))
    broker.lead("t")
    answer = broker.call(
        WriteTxnMarkersRequest(markers=[marker(("t", 0), ("__consumer_offsets", 0), is_commit=False)]), 1
    )
    groups: Any = broker.services.group_coordinator
    assert groups.told == []
    broker.call(fetch_request(1, topic="__consumer_offsets", replica=2), 12)
    assert groups.told == [(PRODUCER, {0: 0}, False)]
    assert codes(answer) == {PRODUCER: {("t", 0): ErrorCode.NONE, ("__consumer_offsets", 0): ErrorCode.NONE}}


def test_groups_learn_nothing_of_markers_that_failed(broker: Broker) -> None:
    broker.lead("__consumer_offsets")
    end(broker, marker(("__consumer_offsets", 0), epoch=3))
    groups: Any = broker.services.group_coordinator
    groups.told.clear()
    end(broker, marker(("__consumer_offsets", 0), epoch=2), marker(("__consumer_offsets", 1)))
    assert groups.told == []


# --- who may ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", [Operation.ALTER, Operation.CLUSTER_ACTION])
def test_who_may_alter_or_run_the_cluster_may_end_transactions(broker: Broker, operation: Operation) -> None:
    def may(_: Any, wanted: int, resource_type: int, *__: Any) -> bool:
        return (wanted, resource_type) == (operation, ResourceType.CLUSTER)

    broker.lead()
    broker.services.authorizer = SimpleNamespace(may=may)  # type: ignore[assignment]
    assert code_of(broker, marker(("t", 0))) is ErrorCode.NONE


def test_nobody_else_may(broker: Broker) -> None:
    partition = broker.lead()
    broker.services.authorizer = SimpleNamespace(may=lambda *_: False)  # type: ignore[assignment]
    with pytest.raises(ClusterAuthorizationFailed):
        end(broker, marker(("t", 0)))
    assert written_markers(partition) == []
