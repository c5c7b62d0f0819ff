"""Segment files as tasks: what is pruned, what is refused, what a torn tail may hide."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict

from kafka_zk.log.files import names, time_index
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import Record, build_batch
from kafka_zk.spark.sources.errors import DataLossError, SourceError
from kafka_zk.spark.sources.log.reader import LogReader, SegmentInputPartition
from kafka_zk.spark.sources.log.settings import log_settings
from tests.unit.client.range_reading.given import T0, data, marker
from tests.unit.spark.sources.log_folder import put_checkpoint, put_segment, stop_cleanly

T_0 = TopicPartition("t", 0)


def reader(folder: Path, **options: str) -> LogReader:
    dotted = {name.replace("__", "."): value for name, value in options.items()}
    return LogReader(log_settings(CaseInsensitiveDict({"path": str(folder), **dotted})))


def tasks(folder: Path, **options: str) -> list[tuple[int, int]]:
    """The offsets of each task."""
    return [(piece.start_offset, piece.end_offset) for piece in reader(folder, **options).partitions()]


def offsets(folder: Path, **options: str) -> list[int]:
    """The offsets of all rows."""
    made = reader(folder, **options)
    return [
        offset
        for piece in made.partitions()
        for batch in made.read(piece)
        for offset in batch.column("offset").to_pylist()
    ]


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """A log directory that was left cleanly, with t-0 in three segments: 0 to 9, 10 to 19, 20 to 29."""
    for base in (0, 10, 20):
        put_segment(tmp_path / "t-0", data(base, 5) + data(base + 5, 5))
    stop_cleanly(tmp_path)
    return tmp_path


def test_every_segment_is_a_task(log_dir: Path) -> None:
    assert tasks(log_dir) == [(0, 10), (10, 20), (20, 30)]
    assert offsets(log_dir) == list(range(30))


def test_segments_outside_of_the_offsets_are_left_out(log_dir: Path) -> None:
    wanted = {"startingOffsets": '{"t":{"0":12}}', "endingOffsets": '{"t":{"0":22}}'}
    assert tasks(log_dir, **wanted) == [(12, 20), (20, 22)]
    assert offsets(log_dir, **wanted) == list(range(12, 22))


@pytest.mark.parametrize("indexed", [True, False])
def test_times_become_offsets_with_and_without_indexes(tmp_path: Path, indexed: bool) -> None:
    for base in (0, 10):
        put_segment(tmp_path / "t-0", data(base, 5) + data(base + 5, 5), indexed=indexed)
    assert offsets(tmp_path, startingTimestamp=str(T0 + 7), endingTimestamp=str(T0 + 12)) == [7, 8, 9, 10, 11]


def test_an_index_that_lies_costs_time_but_no_records(log_dir: Path) -> None:
    for path in (log_dir / "t-0").glob("*.index"):
        path.write_bytes(bytes.fromhex("0000000100000007"))
    assert offsets(log_dir, startingOffsets='{"t":{"0":3}}') == list(range(3, 30))


def rows_from(folder: Path, since: int) -> list[int]:
    return offsets(folder, startingTimestamp=str(T0 + since), startingOffsetsByTimestampStrategy="latest")


@pytest.mark.parametrize("kept", range(3))
def test_a_time_index_that_lacks_its_last_entries_hides_no_records(log_dir: Path, kept: int) -> None:
    for path in (log_dir / "t-0").glob("*.timeindex"):
        path.write_bytes(path.read_bytes()[: kept * time_index.ENTRY.size])
    for since in range(31):
        assert rows_from(log_dir, since) == list(range(since, 30)), since


@pytest.mark.parametrize("entries", [[(-5, 9)], [(0, 9)], [(3, 1), (4, 9)], [(40, 0)]])
def test_a_time_index_that_lies_hides_no_records(log_dir: Path, entries: list[tuple[int, int]]) -> None:
    for path in (log_dir / "t-0").glob("*.timeindex"):
        path.write_bytes(b"".join(time_index.ENTRY.pack(T0 + time, offset) for time, offset in entries))
    for since in range(31):
        assert rows_from(log_dir, since) == list(range(since, 30)), since


def test_records_out_of_the_order_of_time_are_found(tmp_path: Path) -> None:
    early, late = T0 + 1, T0 + 50
    for base, timestamps in ((0, (late, early)), (2, (early, early)), (4, (early, late))):
        records = [Record(base + index, timestamp, None, b"v") for index, timestamp in enumerate(timestamps)]
        put_segment(tmp_path / "t-0", bytes(build_batch(records, base_offset=base)))
    assert offsets(tmp_path, startingTimestamp=str(late)) == list(range(6))
    put_checkpoint(tmp_path, names.LOG_START_OFFSETS, T_0, 1)
    assert offsets(tmp_path, startingTimestamp=str(late)) == [5]


def test_a_partition_s_own_directory_may_be_named(log_dir: Path) -> None:
    assert offsets(log_dir / "t-0") == list(range(30))


def test_topics_are_chosen_like_a_cluster_s(log_dir: Path) -> None:
    put_segment(log_dir / "u-0", data(0))
    put_segment(log_dir / "u-1", data(0))
    put_segment(log_dir / f"u-2.{'0' * 32}-delete", data(0))
    assert len(tasks(log_dir)) == 5
    assert len(tasks(log_dir, subscribe="u")) == 2
    assert len(tasks(log_dir, subscribePattern="t|v")) == 3
    assert len(tasks(log_dir, assign='{"u":[1]}')) == 1


def test_what_is_not_there_is_named(log_dir: Path) -> None:
    with pytest.raises(SourceError, match=f"There is no nope in {log_dir}"):
        tasks(log_dir, subscribe="t,nope")
    with pytest.raises(SourceError, match="There is no t-3 in"):
        tasks(log_dir, assign='{"t":[3]}')
    with pytest.raises(SourceError, match=r"Cannot read .*: No such file"):
        tasks(log_dir / "none")


def test_two_copies_of_a_partition_are_not_read_as_one(log_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    put_segment(other / "t-0", data(0))
    with pytest.raises(SourceError, match=r"Partition t-0 is in both .* and"):
        LogReader(log_settings(CaseInsensitiveDict({"path": f"{log_dir},{other}"}))).partitions()


def test_offsets_below_the_log_start_are_lost(log_dir: Path) -> None:
    put_checkpoint(log_dir, names.LOG_START_OFFSETS, T_0, 4)
    assert offsets(log_dir) == list(range(4, 30))
    with pytest.raises(DataLossError, match=r"Offsets 1 to 3 of partition t-0 are not in .* starts at offset 4"):
        tasks(log_dir, startingOffsets='{"t":{"0":1}}')
    assert tasks(log_dir, startingOffsets='{"t":{"0":1}}', failOnDataLoss="false")[0] == (4, 10)


def test_offsets_behind_the_end_are_an_error(log_dir: Path) -> None:
    with pytest.raises(DataLossError, match=r"partition t-0 lies beyond the end of the log in .* offset 30"):
        tasks(log_dir, endingOffsets='{"t":{"0":31}}')


@pytest.mark.parametrize("tail", [data(10, 5)[:-1], data(10, 5)[:9], b"\xff" * 40, bytes(100)])
def test_a_torn_tail_is_not_read(tmp_path: Path, tail: bytes) -> None:
    path = put_segment(tmp_path / "t-0", data(0, 5) + data(5, 5), indexed=False)
    path.write_bytes(path.read_bytes() + tail)
    assert offsets(tmp_path) == list(range(10))


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def test_damage_with_batches_behind_it_is_no_torn_tail(tmp_path: Path) -> None:
    path = put_segment(tmp_path / "t-0", data(0, 5) + data(5, 5) + data(10, 5))
    flip(path, len(data(0, 5)) + 80)
    with pytest.raises(DataLossError, match=r"damaged from byte .* after offset 4: a checksum is wrong"):
        tasks(tmp_path)
    assert offsets(tmp_path, failOnDataLoss="false") == list(range(5))


def test_behind_the_recovery_point_a_start_would_cut_it_off(tmp_path: Path) -> None:
    path = put_segment(tmp_path / "t-0", data(0, 5) + data(5, 5) + data(10, 5))
    put_checkpoint(tmp_path, names.RECOVERY_POINTS, T_0, 0)
    flip(path, len(data(0, 5)) + 80)
    assert offsets(tmp_path) == list(range(5))


def test_after_a_clean_stop_nothing_may_be_torn(log_dir: Path) -> None:
    path = log_dir / "t-0" / names.offset_file_name(20, names.LOG)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataLossError, match="after offset 24: the last batch is incomplete"):
        tasks(log_dir)


def test_damage_in_a_closed_segment_fails_its_task(log_dir: Path) -> None:
    flip(log_dir / "t-0" / names.offset_file_name(0, names.LOG), 80)
    with pytest.raises(SourceError, match="damaged at byte 0: the checksum of the batch of offsets 0 to 4 is wrong"):
        offsets(log_dir)


def test_a_compaction_that_did_not_end_is_not_read(log_dir: Path) -> None:
    (log_dir / "t-0" / names.offset_file_name(0, names.LOG, names.SWAP)).write_bytes(b"")
    with pytest.raises(SourceError, match="of an unfinished compaction"):
        tasks(log_dir)


def test_a_reader_of_committed_records_stops_at_an_open_transaction(tmp_path: Path) -> None:
    content = (
        data(0, producer_id=1)
        + data(1, producer_id=2)
        + marker(2, 1, commit=False)
        + marker(3, 2, commit=True)
        + data(4)
        + data(5, producer_id=3)
        + data(6)
    )
    put_segment(tmp_path / "t-0", content)
    assert offsets(tmp_path, kafka__isolation__level="read_committed") == [1, 4]
    assert offsets(tmp_path) == [0, 1, 4, 5, 6]


@pytest.mark.parametrize("index", [None, b"", b"\x01", bytes(34)])
def test_what_is_aborted_is_told_by_the_batches_not_by_an_index(tmp_path: Path, index: bytes | None) -> None:
    """Of a transaction over three segments, its marker in the last, each task hides its part."""
    put_segment(tmp_path / "t-0", data(0, producer_id=1) + data(1) + data(2, producer_id=1))
    put_segment(tmp_path / "t-0", data(3, producer_id=1) + data(4, producer_id=2))
    put_segment(tmp_path / "t-0", marker(5, 2, commit=True) + marker(6, 1, commit=False) + data(7, producer_id=1))
    put_segment(tmp_path / "t-0", marker(8, 1, commit=True) + data(9))
    stop_cleanly(tmp_path)
    if index is not None:
        (tmp_path / "t-0" / names.offset_file_name(5, names.TRANSACTION_INDEX)).write_bytes(index)
    committed = {"kafka__isolation__level": "read_committed"}
    assert offsets(tmp_path, **committed) == [1, 4, 7, 9]
    assert offsets(tmp_path, startingOffsets='{"t":{"0":3}}', **committed) == [4, 7, 9]
    assert offsets(tmp_path, endingOffsets='{"t":{"0":3}}', **committed) == [1]


def test_an_aborted_record_is_not_shown_where_headers_do_not_lead_to_its_marker(tmp_path: Path) -> None:
    put_segment(tmp_path / "t-0", data(0, producer_id=1))
    flipped = put_segment(tmp_path / "t-0", data(1) + data(2) + marker(3, 1, commit=False))
    put_segment(tmp_path / "t-0", data(4))
    stop_cleanly(tmp_path)
    flip(flipped, 8)
    with pytest.raises(SourceError, match="damaged"):
        offsets(tmp_path, endingOffsets='{"t":{"0":1}}', kafka__isolation__level="read_committed")


def test_compacted_segments_have_holes(tmp_path: Path) -> None:
    put_segment(tmp_path / "t-0", data(0, 1, last_offset=4) + data(7))
    put_segment(tmp_path / "t-0", data(12))
    assert offsets(tmp_path) == [0, 7, 12]
    assert offsets(tmp_path, startingOffsets='{"t":{"0":5}}', endingOffsets='{"t":{"0":12}}') == [7]


def test_a_reader_of_nothing_has_no_rows(log_dir: Path) -> None:
    made = reader(log_dir, startingOffsets='{"t":{"0":30}}')
    assert made.partitions() == []
    assert list(made.read(None)) == []


def test_tasks_hold_plain_values_only(log_dir: Path) -> None:
    piece = reader(log_dir).partitions()[0]
    assert isinstance(piece, SegmentInputPartition)
    assert all(isinstance(value, str | int | None | list) for value in vars(piece).values())
