from __future__ import annotations

from uuid import UUID

import pytest

from kafka_zk.log.files.names import (
    DELETED,
    LOG,
    PRODUCER_SNAPSHOT,
    DirKind,
    OffsetFile,
    PartitionDir,
    marked_dir_name,
    offset_file_name,
    parse_offset_file,
    parse_partition_dir,
)
from kafka_zk.protocol.types import TopicPartition

ID = UUID("6c3e0a51-0f3b-4d6e-9a51-0f3b4d6e9a51")


def test_files_are_named_by_offsets_in_twenty_digits() -> None:
    assert offset_file_name(123, LOG) == "00000000000000000123.log"
    assert parse_offset_file("00000000000000000123.snapshot.deleted") == OffsetFile(123, PRODUCER_SNAPSHOT, DELETED)


@pytest.mark.parametrize("name", ["partition.metadata", "leader-epoch-checkpoint", "x.log", "1.log.tmp", ".log"])
def test_other_files_have_no_offset(name: str) -> None:
    assert parse_offset_file(name) is None


@pytest.mark.parametrize("kind", [DirKind.FUTURE, DirKind.DELETED, DirKind.STRAY])
def test_a_marked_directory_is_read_back(kind: DirKind) -> None:
    partition = TopicPartition("a.b-c", 12)
    assert parse_partition_dir(marked_dir_name(partition, kind, ID)) == PartitionDir(partition, kind)


def test_the_topic_is_the_part_before_the_last_dash() -> None:
    assert parse_partition_dir("a-b-3") == PartitionDir(TopicPartition("a-b", 3), DirKind.LIVE)


@pytest.mark.parametrize("name", ["kafka", "t-x", "-1", "t-0-delete", "lost+found"])
def test_other_directories_are_no_partitions(name: str) -> None:
    assert parse_partition_dir(name) is None


def test_a_deleted_directory_never_has_more_than_255_characters() -> None:
    partition = TopicPartition("t" * 249, 12345)
    assert len(marked_dir_name(partition, DirKind.DELETED, ID)) == 255
    assert len(marked_dir_name(partition, DirKind.FUTURE, ID)) > 255
