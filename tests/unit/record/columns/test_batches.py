"""Batches of any magic and codec as columns: what Apache's consumer read from the golden logs."""

from __future__ import annotations

import pytest

from kafka_zk.protocol.errors import InvalidRecord
from kafka_zk.record import Codec, Record, batches, build_batch
from kafka_zk.record.columns.batches import append_batch
from kafka_zk.record.columns.building import ColumnBuilder
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.legacy import build_message_set
from tests.unit.record.columns.reading import rows
from tests.unit.record.golden_logs import CASES, Golden

ALL = {"first_offset": 0, "end_offset": 2**63 - 1}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_columns_hold_what_apache_s_consumer_read(case: Golden) -> None:
    columns = ColumnBuilder(with_headers=True)
    for batch in case.batches():
        append_batch(columns, batch, **ALL)
    assert [record for record, _ in rows(columns.take())] == case.expected


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
def test_of_legacy_messages_those_of_the_range_are_taken(magic: int, codec: Codec) -> None:
    records = [Record(offset, 100 + offset if magic else -1, None, b"v") for offset in range(5, 12)]
    columns = ColumnBuilder(with_headers=False)
    for batch in batches(build_message_set(records, magic=magic, codec=codec)):
        append_batch(columns, batch, first_offset=6, end_offset=9)
    assert rows(columns.take()) == [(record, 0 if magic else -1) for record in records[1:4]]


def test_legacy_messages_stamped_by_the_log_say_so() -> None:
    data = build_message_set([Record(0, 1, None, b"v")], magic=1, codec=Codec.GZIP, log_append_time_ms=50)
    columns = ColumnBuilder(with_headers=False)
    append_batch(columns, next(batches(data)), **ALL)
    assert rows(columns.take()) == [(Record(0, 50, None, b"v"), 1)]


def test_control_batches_have_no_rows() -> None:
    marker = build_marker(EndTransactionMarker(ControlType.COMMIT, 1), producer_id=1, producer_epoch=0, timestamp_ms=1)
    columns = ColumnBuilder(with_headers=True)
    append_batch(columns, next(batches(marker)), **ALL)
    assert columns.row_count == 0


def test_a_batch_emptied_by_the_cleaner_has_no_rows() -> None:
    columns = ColumnBuilder(with_headers=True)
    append_batch(columns, next(batches(build_batch([], codec=Codec.GZIP, last_offset=3))), **ALL)
    assert columns.row_count == 0


def test_what_decompresses_to_more_than_the_limit_is_refused() -> None:
    batch = next(batches(build_batch([Record(0, 1, None, bytes(1000))], codec=Codec.GZIP)))
    with pytest.raises(InvalidRecord):
        append_batch(ColumnBuilder(with_headers=False), batch, **ALL, limit_bytes=100)
