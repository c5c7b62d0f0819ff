"""What Apache Kafka 3.9.1 wrote into __transaction_state: read, written again to the same bytes, and understood."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.coordinator.transaction.decisions.records import (
    LogReplay,
    read_transaction,
    transaction_key,
    transaction_value,
)
from kafka_zk.coordinator.transaction.decisions.states import TransactionState
from kafka_zk.coordinator.transaction.decisions.transaction import Change, Transaction
from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.messages.records import TRANSACTION_LOG_VALUE, TransactionLogValue
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.protocol.versioned import encode_versioned
from kafka_zk.record import Record, batches, build_batch, decode_records
from kafka_zk.record.batch import Batch

GOLDEN = Path(__file__).parents[3] / "golden" / "17-transaction-state"
PARTITIONS = range(2)


def golden_batches(partition: int) -> Iterator[Batch]:
    return batches((GOLDEN / f"__transaction_state-{partition}" / f"{0:020}.log").read_bytes())


def as_change(transaction: Transaction) -> Change:
    return Change(
        transaction.state,
        transaction.producer_id,
        transaction.last_producer_id,
        transaction.producer_epoch,
        transaction.last_producer_epoch,
        transaction.timeout_ms,
        transaction.partitions,
        transaction.started_ms,
        transaction.updated_ms,
    )


@pytest.mark.parametrize("partition", PARTITIONS)
def test_every_record_is_written_again_to_the_same_bytes(partition: int) -> None:
    count = 0
    for batch in golden_batches(partition):
        for record in decode_records(batch):
            assert record.key is not None and record.value is not None
            name = record.key[4:].decode()
            assert transaction_key(name) == record.key
            written = transaction_value(as_change(read_transaction(name, record.value)))
            # Partitions of a topic come in no certain order: ours are sorted.
            assert sorted(written) == sorted(record.value)
            assert len({*read_transaction(name, written).partitions}) == len(read_transaction(name, written).partitions)
            count += 1
    assert count > 10


def replayed(*all_batches: Batch) -> tuple[dict[str, Transaction], int]:
    replay = LogReplay()
    for batch in all_batches:
        replay.apply(batch)
    found = list(replay.transactions())
    unknown = replay.unknown_count
    return {each.transactional_id: each for each in found}, unknown


def test_the_last_record_of_an_id_counts() -> None:
    found, unknown = replayed(*golden_batches(0))
    assert not unknown
    opened, ended = found["golden-tx-open"], found["golden-tx-b"]
    assert (opened.state, opened.partitions) == (TransactionState.ONGOING, {TopicPartition("golden-tx-open", 0)})
    assert (ended.state, ended.producer_epoch, ended.partitions) == (TransactionState.COMPLETE_COMMIT, 1, frozenset())


def batch_of(*records: tuple[bytes | None, bytes | None]) -> Batch:
    built = build_batch([Record(offset, 0, key, value) for offset, (key, value) in enumerate(records)])
    return next(iter(batches(built)))


def test_a_tombstone_removes_an_id() -> None:
    found, _ = replayed(*golden_batches(0), batch_of((transaction_key("golden-tx-b"), None)))
    assert found.keys() == {"golden-tx-open"}


def test_keys_of_versions_to_come_are_counted_and_passed_over() -> None:
    found, unknown = replayed(batch_of((b"\x00\x01new", b"?"), (None, b"?")), *golden_batches(1))
    assert (found.keys(), unknown) == ({"golden-tx-a"}, 1)


def value(**fields: object) -> bytes:
    stored = {
        "producer_id": 7,
        "producer_epoch": 3,
        "transaction_timeout_ms": 60_000,
        "transaction_status": 0,
        "transaction_partitions": None,
        "transaction_last_update_timestamp_ms": 5,
        "transaction_start_timestamp_ms": -1,
        **fields,
    }
    return encode_versioned(TRANSACTION_LOG_VALUE, TransactionLogValue(**stored), 1)


def test_the_flexible_version_of_a_cluster_that_was_upgraded_is_read() -> None:
    found = read_transaction("t", value())
    assert (found.producer_id, found.producer_epoch, found.state) == (7, 3, TransactionState.EMPTY)


@pytest.mark.parametrize("status", [6, 7, 8, -1])
def test_a_state_that_is_never_stored_is_refused(status: int) -> None:
    with pytest.raises(DecodeError):
        read_transaction("t", value(transaction_status=status))
