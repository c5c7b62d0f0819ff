"""kafka-transactions.sh: which transactions hang, in which order they are shown, and the tables."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafka_zk.client.admin.transaction_results import ProducerState, TransactionDescription, TransactionState
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.transactions import hanging
from kafka_zk.tools.transactions.hanging import OpenTransaction, hanging_of
from kafka_zk.tools.transactions.output import or_none, table

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
