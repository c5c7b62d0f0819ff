"""kafka-transactions.sh: which transactions hang, in which order they are shown, and the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from kafka_zk.client.admin.transaction_results import ProducerState, TransactionDescription, TransactionState
from kafka_zk.protocol.messages import (
    describe_producers,
    describe_transactions,
    find_coordinator,
    list_transactions,
    metadata,
    write_txn_markers,
)
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.transactions import hanging
from kafka_zk.tools.transactions.__main__ import main
from kafka_zk.tools.transactions.hanging import OpenTransaction, hanging_of
from kafka_zk.tools.transactions.output import or_none, table
from tests.interop.tools.runs import run_once
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, ScriptedBroker

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
MINUTE_MS = 60_000


def opened(partition: TopicPartition, producer_id: int = 7, last_timestamp_ms: int = 0) -> OpenTransaction:
    return OpenTransaction(partition, ProducerState(producer_id, 0, 0, last_timestamp_ms, None, 5))


def waiting_for(*partitions: TopicPartition) -> TransactionDescription:
    return TransactionDescription(1, TransactionState.ONGOING, 7, 0, 60_000, 1, partitions)


@pytest.mark.parametrize(
    ("ids", "descriptions", "rule"),
    [
        ({}, {}, "no coordinator knows the producer"),
        ({7: "a"}, {}, "the id has gone since it was listed"),
        ({7: "a"}, {"a": waiting_for()}, "its transaction has ended"),
        ({7: "a"}, {"a": waiting_for(T1)}, "its transaction is elsewhere"),
        ({8: "a"}, {"a": waiting_for(T0)}, "the transaction is another producer's"),
    ],
)
def test_an_open_transaction_hangs_if_no_coordinator_will_end_it(
    ids: Mapping[int, str], descriptions: Mapping[str, TransactionDescription], rule: str
) -> None:
    assert hanging_of([opened(T0)], ids, descriptions) == [opened(T0)], rule


def test_a_transaction_that_waits_for_its_marker_in_that_partition_does_not_hang() -> None:
    assert hanging_of([opened(T0), opened(T1)], {7: "a"}, {"a": waiting_for(T0)}) == [opened(T1)]


def test_hanging_transactions_come_in_the_order_of_javas_map_of_producers() -> None:
    # 0 and 9000000003 share a bucket, in which the later one is the first.
    given = [opened(T0, 9_000_000_002), opened(T1, 0), opened(T0, 9_000_000_003), opened(T0, 0)]
    shown = [(each.producer.producer_id, each.partition) for each in hanging_of(given, {}, {})]
    assert shown == [(9_000_000_003, T0), (0, T1), (0, T0), (9_000_000_002, T0)]


@pytest.mark.parametrize(
    ("age_ms", "minutes"),
    [(0, 0), (MINUTE_MS - 1, 0), (MINUTE_MS, 1), (90 * MINUTE_MS, 90), (1 - MINUTE_MS, 0), (-MINUTE_MS, -1)],
)
def test_durations_are_whole_minutes_cut_towards_zero(age_ms: int, minutes: int) -> None:
    now_ms = 1_700_000_000_000
    assert hanging._row(opened(T0, last_timestamp_ms=now_ms - age_ms), now_ms)[-1] == minutes


def test_each_cell_is_as_wide_as_its_column_and_ends_with_a_tab() -> None:
    assert table(("A", "Wide"), [("long one", 1), ("x", or_none(None))]) == (
        "A       \tWide\t\nlong one\t1   \t\nx       \tNone\t\n"
    )


def test_a_table_without_rows_has_its_heading() -> None:
    assert table(("A", "Bc"), []) == "A\tBc\t\n"


# --- whole runs ------------------------------------------------------------------------------------------------------

METADATA, FIND_COORDINATOR, WRITE_TXN_MARKERS = 3, 10, 27
DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS = 61, 65, 66
VERSIONS = {
    API_VERSIONS_KEY: (0, 4),
    METADATA: (0, 12),
    FIND_COORDINATOR: (0, 6),
    WRITE_TXN_MARKERS: (0, 1),
    DESCRIBE_PRODUCERS: (0, 0),
    DESCRIBE_TRANSACTIONS: (0, 0),
    LIST_TRANSACTIONS: (0, 1),
}
SHOWN_MS = 1_700_000_000_000
"""In milliseconds since 1970; long ago."""


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    """It leads t-0 and t-1. In t-0 producer 7 has a transaction open since offset 5 and producer 8 has none."""
    with ScriptedBroker({}, versions=dict(VERSIONS)) as scripted:
        node = metadata.MetadataResponseBroker(node_id=1, host=scripted.host, port=scripted.port)
        partitions = [
            metadata.MetadataResponsePartition(partition_index=index, leader_id=1, replica_nodes=[1])
            for index in (0, 1)
        ]
        topics = [metadata.MetadataResponseTopic(name="t", partitions=partitions)]
        coordinator = {"node_id": 1, "host": scripted.host, "port": scripted.port}
        scripted.handlers.update(
            {
                METADATA: lambda *_: metadata.MetadataResponse(brokers=[node], topics=topics),
                FIND_COORDINATOR: lambda request, _: find_coordinator.FindCoordinatorResponse(
                    coordinators=[
                        find_coordinator.Coordinator(key=key, **coordinator) for key in request.coordinator_keys
                    ]
                ),
                DESCRIBE_PRODUCERS: _producers,
                LIST_TRANSACTIONS: lambda *_: listed(),
            }
        )
        yield scripted


def _producers(request: describe_producers.DescribeProducersRequest, _: int) -> Any:
    found = [
        describe_producers.ProducerState(
            producer_id=7,
            producer_epoch=3,
            last_sequence=9,
            last_timestamp=SHOWN_MS,
            coordinator_epoch=-1,
            current_txn_start_offset=5,
        ),
        describe_producers.ProducerState(
            producer_id=8, producer_epoch=0, last_sequence=0, last_timestamp=SHOWN_MS, coordinator_epoch=4
        ),
    ]
    (topic,) = request.topics
    partitions = [
        describe_producers.PartitionResponse(partition_index=index, active_producers=[] if index else found)
        for index in topic.partition_indexes
    ]
    return describe_producers.DescribeProducersResponse(
        topics=[describe_producers.TopicResponse(name=topic.name, partitions=partitions)]
    )


def listed(*states: list_transactions.TransactionState) -> list_transactions.ListTransactionsResponse:
    return list_transactions.ListTransactionsResponse(transaction_states=list(states))


def run(broker: ScriptedBroker, line: str) -> tuple[int, list[list[str]], str]:
    """Exit code, the cells of the table and stderr."""
    done = run_once(main, ["--bootstrap-server", broker.bootstrap, *line.split()])
    return (
        done.exit_code,
        [[cell.strip() for cell in row.split("\t")[:-1]] for row in done.stdout.splitlines()],
        done.stderr,
    )


def test_the_producers_of_a_partition_are_shown(broker: ScriptedBroker) -> None:
    code, (heading, *rows), _ = run(broker, "describe-producers --topic t --partition 0")
    assert (code, len(heading)) == (0, 6)
    assert rows == [["7", "3", "-1", "9", str(SHOWN_MS), "5"], ["8", "0", "4", "0", str(SHOWN_MS), "None"]]


@pytest.mark.parametrize("where", ["--topic t", "--topic t --partition 0", "--broker-id 1"])
def test_what_hangs_is_found_wherever_it_is_looked_for(broker: ScriptedBroker, where: str) -> None:
    code, (_, *rows), _ = run(broker, f"find-hanging {where}")
    assert (code, [row[:-1] for row in rows]) == (0, [["t", "0", "7", "3", "-1", "5", str(SHOWN_MS)]])


@pytest.mark.parametrize(
    "where", ["--topic t --partition 1", "--broker-id 2", "--topic t --max-transaction-timeout 999999999"]
)
def test_what_is_elsewhere_or_young_is_not_found(broker: ScriptedBroker, where: str) -> None:
    code, (_, *rows), _ = run(broker, f"find-hanging {where}")
    assert (code, rows) == (0, [])


@pytest.mark.parametrize(("waiting", "count"), [([0], 0), ([1], 1), ([], 1)])
def test_what_its_coordinator_will_end_is_not_found(broker: ScriptedBroker, waiting: list[int], count: int) -> None:
    broker.handlers[LIST_TRANSACTIONS] = lambda *_: listed(
        list_transactions.TransactionState(transactional_id="a", producer_id=7, transaction_state="Ongoing")
    )
    state = describe_transactions.TransactionState(
        transactional_id="a",
        producer_id=7,
        transaction_state="Ongoing",
        topics=[describe_transactions.TopicData(topic="t", partitions=waiting)],
    )
    broker.handlers[DESCRIBE_TRANSACTIONS] = lambda *_: describe_transactions.DescribeTransactionsResponse(
        transaction_states=[state]
    )
    _, (_, *rows), _ = run(broker, "find-hanging --topic t")
    assert len(rows) == count


@pytest.mark.parametrize(
    ("named", "sent"),
    [
        ("--start-offset 5", (7, 3, 0)),
        ("--producer-id 7 --producer-epoch 3 --coordinator-epoch -1", (7, 3, 0)),
        ("--producer-id 9 --producer-epoch 2 --coordinator-epoch 6", (9, 2, 6)),
    ],
)
def test_an_abort_names_the_producer_and_an_epoch_that_no_coordinator_is_below(
    broker: ScriptedBroker, named: str, sent: tuple[int, int, int]
) -> None:
    seen = []

    def mark(request: write_txn_markers.WriteTxnMarkersRequest, _: int) -> write_txn_markers.WriteTxnMarkersResponse:
        (marker,) = request.markers
        seen.append((marker.producer_id, marker.producer_epoch, marker.coordinator_epoch))
        line = write_txn_markers.WritableTxnMarkerPartitionResult(partition_index=0)
        topic = write_txn_markers.WritableTxnMarkerTopicResult(name="t", partitions=[line])
        result = write_txn_markers.WritableTxnMarkerResult(producer_id=marker.producer_id, topics=[topic])
        return write_txn_markers.WriteTxnMarkersResponse(markers=[result])

    broker.handlers[WRITE_TXN_MARKERS] = mark
    assert run(broker, f"abort --topic t --partition 0 {named}") == (0, [], "")
    assert seen == [sent]


def test_an_abort_of_what_is_not_open_there_sends_nothing(broker: ScriptedBroker) -> None:
    assert run(broker, "abort --topic t --partition 0 --start-offset 6") == (
        1,
        [],
        "Could not find any open transactions starting at offset 6 on partition t-0\n",
    )
