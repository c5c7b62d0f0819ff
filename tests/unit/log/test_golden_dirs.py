"""Directories that Apache Kafka 3.9.1 wrote: read, recovered and written again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafka_zk.clock import SystemClock
from kafka_zk.config.topic import LogConfig
from kafka_zk.log.files import leader_epoch_file, meta_properties, names, partition_metadata, producer_snapshot
from kafka_zk.log.files.checkpoint import encode_lines, read_offsets
from kafka_zk.log.files.transaction_index import AbortedTransaction
from kafka_zk.log.manager import LogManager
from kafka_zk.record.batch import batches
from tests.unit.log.given import (
    GOLDEN,
    Place,
    all_records,
    expected_records,
    manager_on,
    read_slices,
    topic_config,
    unpack,
)

UNCLEAN_CONFIGS = {
    "golden-unclean": topic_config(segment_bytes=4096, index_interval_bytes=512, segment_index_bytes=2050),
    "golden-unclean-tx": topic_config(segment_index_bytes=2050),
}


@pytest.fixture(scope="module")
def whole_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = unpack("18-whole-log-dir/data.tar.gz", tmp_path_factory.mktemp("whole")) / "data"
    log = "golden-logappendtime-0/00000000000000000000.log"
    shutil.copy(GOLDEN / "08-logappendtime" / log, data / log)
    return data


@pytest.fixture
def started(whole_dir: Path, tmp_path: Path) -> LogManager:
    shutil.copytree(whole_dir, tmp_path / "data")
    manager = manager_on(tmp_path / "data")
    manager.startup()
    return manager


@pytest.mark.parametrize(
    "expected",
    [
        "01-plain/expected.json",
        "08-logappendtime/expected.json",
        "09-transactions/expected.json",
        "10-idempotent/expected.json",
        "11-multi-segment/expected.json.gz",
    ],
)
@pytest.mark.parametrize("max_bytes", [1, 300, 1 << 20])
def test_every_record_of_a_directory_apache_wrote_is_read_as_its_consumer_reads_it(
    started: LogManager, expected: str, max_bytes: int
) -> None:
    logs = {str(log.topic_partition): log for log in started.all_logs()}
    for name, records in expected_records(expected).items():
        assert all_records(logs[name], max_bytes=max_bytes) == records
    started.shutdown()


def test_after_a_clean_stop_nothing_is_opened_and_nothing_changes(whole_dir: Path, tmp_path: Path) -> None:
    copy = tmp_path / "data"
    shutil.copytree(whole_dir, copy)
    manager = manager_on(copy)
    manager.startup()
    assert not any(segment.is_open for log in manager.all_logs() for segment in log.segments)
    assert not (copy / names.CLEAN_SHUTDOWN).exists()
    manager.shutdown()
    for path in sorted(whole_dir.rglob("*")):
        if path.is_file() and path.parent != whole_dir:
            assert (copy / path.relative_to(whole_dir)).read_bytes() == path.read_bytes(), path
    for name in (names.RECOVERY_POINTS, names.HIGH_WATERMARKS, names.LOG_START_OFFSETS):
        assert read_offsets(copy / name).items() <= read_offsets(whole_dir / name).items()
    assert (copy / names.CLEAN_SHUTDOWN).read_bytes() == (whole_dir / names.CLEAN_SHUTDOWN).read_bytes()


def test_a_topic_id_and_an_identity_are_read_from_their_files(started: LogManager) -> None:
    plain = next(log for log in started.all_logs() if log.topic_partition.topic == "golden-plain")
    assert str(plain.topic_id) == "c16252d2-1b25-441b-8a67-579dd471df44"
    (found,) = started.lock_and_read_identities().values()
    assert found == meta_properties.MetaProperties(0, "1eQ2ZjQIQfiwVojgCAGIug")
    started.shutdown()


def test_an_open_transaction_holds_the_last_stable_offset(started: LogManager) -> None:
    log = next(log for log in started.all_logs() if log.topic_partition.topic == "golden-tx-open")
    assert (log.last_stable_offset, log.high_watermark) == (1, 6)
    started.shutdown()


def test_aborted_transactions_are_told_with_a_read(started: LogManager) -> None:
    log = next(log for log in started.all_logs() if str(log.topic_partition) == "golden-tx-0")
    result = log.read(4, max_bytes=1 << 20, up_to=log.last_stable_offset, min_one=True)
    assert result.aborted_transactions() == [
        AbortedTransaction(0, 5, 8, 9),
        AbortedTransaction(0, 9, 19, 20),
        AbortedTransaction(0, 21, 22, 20),
        AbortedTransaction(1, 20, 23, 24),
    ]
    for piece in result.slices:
        piece.release()
    started.shutdown()


def test_every_small_file_is_written_again_to_the_same_bytes(whole_dir: Path) -> None:
    seen = set()
    for path in sorted(whole_dir.rglob("*")):
        if not path.is_file():
            continue
        content = path.read_bytes()
        if path.suffix == names.PRODUCER_SNAPSHOT:
            assert producer_snapshot.encode(producer_snapshot.decode(content)) == content
        elif path.name == names.LEADER_EPOCHS:
            assert leader_epoch_file.encode_epochs(leader_epoch_file.decode_epochs(content, path)) == content
        elif path.name == names.PARTITION_METADATA:
            assert partition_metadata.encode(partition_metadata.decode(content, path)) == content
        elif path.name.endswith("offset-checkpoint") and content:
            lines = [f"{each.topic} {each.partition} {offset}" for each, offset in read_offsets(path).items()]
            assert encode_lines(lines) == content
        else:
            continue
        seen.add(path.suffix or path.name)
    assert seen >= {names.PRODUCER_SNAPSHOT, names.LEADER_EPOCHS, names.RECOVERY_POINTS, ".metadata"}


def test_appending_the_same_batches_gives_the_same_segments_and_index_entries(whole_dir: Path, place: Place) -> None:
    original = whole_dir / "golden-multi-0"
    log = place.open(topic_config(segment_bytes=8192, index_interval_bytes=256, segment_index_bytes=10_485_760))
    for path in sorted(original.glob("*.log")):
        for batch in batches(path.read_bytes()):
            log.append_as_follower(bytes(batch.data))
    log.close()
    for path in sorted(original.iterdir()):
        if path.name != names.PARTITION_METADATA:
            assert (place.partition / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.parametrize("damage", ["torn", "crc", "noindex"])
def test_recovery_after_a_crash_leaves_the_bytes_that_apache_left(damage: str, tmp_path: Path) -> None:
    unpack(f"13-unclean-shutdown/{damage}.tar.gz", tmp_path)
    # Producers expire by wall time on load, as they did when the data was made.
    manager = manager_at_wall_time(tmp_path / "damaged", UNCLEAN_CONFIGS)
    manager.startup()
    logs = {str(log.topic_partition): log for log in manager.all_logs()}
    expected = expected_records(f"13-unclean-shutdown/{damage}-expected.json.gz")
    for name, log in logs.items():
        assert all_records(log) == expected[name]
    manager.shutdown()
    recovered = tmp_path / "recovered"
    for path in sorted(recovered.rglob("*")):
        if path.is_file() and path.parent != recovered:
            assert (tmp_path / "damaged" / path.relative_to(recovered)).read_bytes() == path.read_bytes(), path
    names_of = {path.relative_to(tmp_path / "damaged") for path in (tmp_path / "damaged").rglob("*")}
    assert names_of - {Path(names.LOCK)} == {path.relative_to(recovered) for path in recovered.rglob("*")}


def test_a_diverging_follower_cuts_its_log_where_apache_cut_it(tmp_path: Path) -> None:
    unpack("15-follower-epochs/data.tar.gz", tmp_path)
    divergence = tmp_path / "divergence"
    manager = manager_at_wall_time(divergence / "old-leader-before", {})
    manager.startup()
    (log,) = manager.all_logs()
    assert log.end_offset_for(4) == (4, 10)
    assert log.truncate_to(10)
    new = (divergence / "new-leader-after" / "golden-divergent-0" / "00000000000000000000.log").read_bytes()
    tail = [batch for batch in batches(new) if batch.header.base_offset >= 10]
    for batch in tail:
        log.append_as_follower(bytes(batch.data))
    assert read_slices(log, 0) == new
    manager.shutdown()
    after = divergence / "old-leader-after" / "golden-divergent-0"
    for name in ("00000000000000000000.log", "00000000000000000000.index", names.LEADER_EPOCHS):
        assert (log.directory / name).read_bytes() == (after / name).read_bytes(), name


def test_replicas_that_apache_kept_in_step_are_equal_here(tmp_path: Path) -> None:
    unpack("15-follower-epochs/data.tar.gz", tmp_path)
    expected = expected_records("15-follower-epochs/expected.json.gz")["golden-epochs-0"]
    for broker in (1, 2, 3):
        manager = manager_at_wall_time(tmp_path / f"broker-{broker}", {})
        manager.startup()
        (log,) = manager.all_logs()
        assert all_records(log) == expected
        manager.shutdown()


def manager_at_wall_time(path: Path, configs: dict[str, LogConfig]) -> LogManager:
    return manager_on(path, configs=configs, clock=SystemClock())
