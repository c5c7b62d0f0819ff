"""Directories that Apache Kafka 3.9.1 wrote are sound, and the doctor says so; damaged ones are told truly."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafka_zk.log.doctor.checkup import check_up
from kafka_zk.log.doctor.log_dir import look_at
from kafka_zk.log.files import names
from kafka_zk.log.files.checkpoint import encode_offsets
from kafka_zk.protocol.types import TopicPartition
from tests.unit.log.doctor.given import printed, tree
from tests.unit.log.given import GOLDEN, manager_on, topic_config, unpack

CASES = {
    "12-compacted/log-dirs.tar.gz": ["before", "after1", "after2", "after3"],
    "15-follower-epochs/data.tar.gz": [
        "broker-1",
        "broker-2",
        "broker-3",
        "divergence/old-leader-before",
        "divergence/old-leader-after",
        "divergence/new-leader-after",
    ],
    "18-whole-log-dir/data.tar.gz": ["data"],
    "19-jbod-and-deletion/moving.tar.gz": ["dir1", "dir2"],
    "19-jbod-and-deletion/moved.tar.gz": ["dir1", "dir2"],
    "13-unclean-shutdown/torn.tar.gz": ["recovered"],
    "13-unclean-shutdown/crc.tar.gz": ["recovered"],
    "13-unclean-shutdown/noindex.tar.gz": ["recovered"],
}
FOLDERS = [
    "01-plain",
    "02-gzip",
    "03-snappy",
    "04-lz4",
    "05-zstd",
    "06-broker-recompress-zstd",
    "07-broker-uncompressed",
    "08-logappendtime",
    "09-transactions",
    "10-idempotent",
    "14-legacy-formats/written",
    "14-legacy-formats/upgraded",
    "16-consumer-offsets",
]
DAMAGED = {
    "torn": {"committed-missing", "torn-tail"},
    "crc": {"committed-missing", "bad-crc"},
    "noindex": {"torn-tail", "index-missing"},
}
CLEANED_ENDS = {"golden-compact": 610, "golden-compact-tx": 210, "golden-compact-delete": 125}
# Where directories of some partitions were left out of the golden data, and where only the logs were kept.
LEFT_OUT = {"checkpoint-names-nobody"}
ONLY_LOGS = {"index-missing", "epoch-mismatch", "aborted-unlisted"}


def concerns(*directories: Path) -> set[str]:
    result = check_up([look_at(path) for path in directories], deep=True, processes=1)
    assert result.reports
    return {each.kind.name for each in result.findings() if each.kind.severity.value != "info"} - LEFT_OUT


@pytest.mark.parametrize("archive", CASES)
def test_a_directory_that_apache_wrote_gets_no_wrong_finding(archive: str, tmp_path: Path) -> None:
    place = unpack(archive, tmp_path)
    if archive.startswith("18"):
        # It is kept with its own case.
        log = "golden-logappendtime-0/00000000000000000000.log"
        shutil.copy(GOLDEN / "08-logappendtime" / log, place / "data" / log)
    for name in CASES[archive]:
        assert concerns(place / name) == set(), name


def test_directories_of_one_broker_are_seen_together(tmp_path: Path) -> None:
    place = unpack("19-jbod-and-deletion/moving.tar.gz", tmp_path)
    assert concerns(place / "dir1", place / "dir2") == set()


@pytest.mark.parametrize("folder", FOLDERS)
def test_logs_of_every_kind_of_batch_are_sound_to_the_last_record(folder: str, tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / folder, tmp_path / "data")
    for extra in [*(tmp_path / "data").glob("*.json"), *(tmp_path / "data").glob("*.txt")]:
        extra.unlink()
    assert concerns(tmp_path / "data") <= ONLY_LOGS


@pytest.mark.parametrize("damage", DAMAGED)
def test_what_a_crash_did_is_told(damage: str, tmp_path: Path) -> None:
    unpack(f"13-unclean-shutdown/{damage}.tar.gz", tmp_path)
    assert concerns(tmp_path / "damaged") == DAMAGED[damage]


@pytest.mark.parametrize("archive", ["13-unclean-shutdown/crc.tar.gz", "18-whole-log-dir/data.tar.gz"])
def test_looking_changes_nothing(archive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = unpack(archive, tmp_path) / ("data" if archive.startswith("18") else "damaged")
    before = tree(directory)
    for options in (["--deep"], ["--json"], ["--znodes"], ["--processes", "2"]):
        printed(capsys, *options, directory)
    assert tree(directory) == before


@pytest.mark.parametrize("is_checkpointed", [True, False], ids=["with its checkpoint", "killed before its checkpoint"])
def test_what_a_start_makes_of_segments_that_apache_emptied_is_told(tmp_path: Path, is_checkpointed: bool) -> None:
    """As a kill leaves the directory before the recovery points are written that follow a cleaning."""
    data = unpack("12-compacted/log-dirs.tar.gz", tmp_path) / "after3"
    (data / names.CLEAN_SHUTDOWN).unlink(missing_ok=True)
    ends = {TopicPartition(topic, 0): end for topic, end in CLEANED_ENDS.items()}
    (data / names.RECOVERY_POINTS).write_bytes(encode_offsets(dict.fromkeys(ends, 0)))
    if not is_checkpointed:
        (data / names.CLEANER_OFFSETS).write_bytes(b"")
    told = {each.task.topic_partition: each.end_after_start for each in check_up([look_at(data)], processes=1).reports}
    compacted = topic_config(cleanup_policy="compact")
    manager = manager_on(
        data, configs=dict.fromkeys(CLEANED_ENDS, compacted), properties={"log.cleaner.enable": "false"}
    )
    manager.startup()
    assert told == {each.topic_partition: each.log_end_offset for each in manager.all_logs()} == ends
    manager.shutdown()
