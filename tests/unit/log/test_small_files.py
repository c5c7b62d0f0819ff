from __future__ import annotations

import os
from pathlib import Path
from uuid import UUID

import pytest

from kafka_zk.log.files import clean_shutdown, meta_properties, partition_metadata, producer_snapshot
from kafka_zk.log.files.checkpoint import MalformedCheckpoint, decode_lines, encode_offsets, read_offsets
from kafka_zk.log.files.disk import DISK, Disk
from kafka_zk.log.files.leader_epoch_file import EpochEntry, read_epochs, write_epochs
from kafka_zk.log.files.meta_properties import MalformedMetaProperties, MetaProperties
from kafka_zk.log.files.partition_metadata import MalformedPartitionMetadata
from kafka_zk.log.files.producer_snapshot import CorruptSnapshot, SnapshotEntry
from kafka_zk.protocol.types import TopicPartition

PATH = Path("some-checkpoint")
ENTRY = SnapshotEntry(7, 1, 41, 99, 4, 1_700_000_000_000, 3, 95)


def test_a_checkpoint_is_read_as_it_was_written(tmp_path: Path) -> None:
    offsets = {TopicPartition("a", 0): 5, TopicPartition("b-c", 12): 1 << 40}
    (tmp_path / "c").write_bytes(encode_offsets(offsets))
    assert (tmp_path / "c").read_text() == "0\n2\na 0 5\nb-c 12 1099511627776\n"
    assert read_offsets(tmp_path / "c") == offsets


def test_a_missing_or_empty_checkpoint_holds_nothing(tmp_path: Path) -> None:
    assert read_offsets(tmp_path / "c") == {}
    (tmp_path / "c").write_bytes(b"")
    assert read_offsets(tmp_path / "c") == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1\n0\n", "Unrecognized version of the checkpoint file at (some-checkpoint): 1"),
        (b"x\n0\n", "Malformed line in checkpoint file (some-checkpoint): x"),
        (b"0\nmany\n", "Malformed line in checkpoint file (some-checkpoint): many"),
        (b"0\n2\na 0 5\n", "Expected 2 entries in checkpoint file (some-checkpoint), but found only 1"),
        (b"\xff\xfe", "Malformed line in checkpoint file (some-checkpoint): not UTF-8"),
    ],
)
def test_a_checkpoint_with_wrong_lines_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(MalformedCheckpoint) as caught:
        decode_lines(content, PATH)
    assert str(caught.value) == message


@pytest.mark.parametrize("head", [b"", b"0\n1\nt 0 5\n", b"0\n" + b"9" * 70_000, b"# a comment\nversion=0\n"])
def test_a_file_of_a_terabyte_is_refused_unread(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "c"
    path.write_bytes(head)
    os.truncate(path, 1 << 40)
    for read in (read_offsets, read_epochs):
        with pytest.raises(MalformedCheckpoint):
            read(path)
    # Of this one the first 64 KiB are looked at.
    assert meta_properties.read(path) == MetaProperties(None, None)


@pytest.mark.parametrize("number", ["9" * 5000, "\N{SUPERSCRIPT TWO}", "--5", "1_0", "-"])
def test_what_java_takes_for_no_number_is_none(tmp_path: Path, number: str) -> None:
    for text in (f"0\n{number}\n", f"0\n1\nt {number} 5\n", f"0\n1\nt 0 {number}\n"):
        (tmp_path / "c").write_text(text)
        with pytest.raises(MalformedCheckpoint):
            read_offsets(tmp_path / "c")
    with pytest.raises(MalformedMetaProperties):
        meta_properties.decode(f"version=0\nbroker.id={number}\n".encode(), PATH)


@pytest.mark.parametrize("entry", ["t 0 9223372036854775808", "t 0 -9223372036854775809", "t 2147483648 5"])
def test_numbers_that_do_not_fit_javas_are_none(tmp_path: Path, entry: str) -> None:
    """An offset beyond 64 bits would be believed, and no answer could carry it."""
    (tmp_path / "c").write_text(f"0\n1\n{entry}\n")
    with pytest.raises(MalformedCheckpoint):
        read_offsets(tmp_path / "c")


@pytest.mark.parametrize("entry", ["0 9223372036854775808", "2147483648 5", "1_0 5", "0", "0 1 2", "0 x"])
def test_a_leader_epoch_that_is_none_is_refused(tmp_path: Path, entry: str) -> None:
    (tmp_path / "e").write_text(f"0\n1\n{entry}\n")
    with pytest.raises(MalformedCheckpoint):
        read_epochs(tmp_path / "e")


@pytest.mark.parametrize("line", ["a 0", "a 0 5 6", "a x 5", "a 0 y"])
def test_a_checkpoint_with_a_wrong_entry_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "c").write_text(f"0\n1\n{line}\n")
    with pytest.raises(MalformedCheckpoint, match="Malformed line"):
        read_offsets(tmp_path / "c")


def test_a_replaced_file_is_complete_or_the_old_one(tmp_path: Path) -> None:
    class FullDisk(Disk):
        def write_whole(self, descriptor: int, data: object, position: int) -> None:
            raise OSError(28, "No space left on device")

    path = tmp_path / "c"
    DISK.replace_file(path, b"old")
    with pytest.raises(OSError, match="No space left"):
        FullDisk().replace_file(path, b"new")
    assert path.read_bytes() == b"old"


def test_leader_epochs_are_read_as_they_were_written(tmp_path: Path) -> None:
    entries = [EpochEntry(0, 0), EpochEntry(4, 17)]
    write_epochs(tmp_path / "e", entries)
    assert (tmp_path / "e").read_text() == "0\n2\n0 0\n4 17\n"
    assert read_epochs(tmp_path / "e") == entries
    assert read_epochs(tmp_path / "none") == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"version: 0",
        b"version: -1\ntopic_id: wWJS0hslRBuKZ1ed1HHfRA",
        b"version: 0\ntopic_id: short",
        b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
        b"version: 0\nwhat: ever",
    ],
)
def test_partition_metadata_without_a_topic_id_is_refused(content: bytes) -> None:
    with pytest.raises(MalformedPartitionMetadata):
        partition_metadata.decode(content, PATH)


def test_partition_metadata_is_43_bytes_without_a_line_end(tmp_path: Path) -> None:
    topic_id = UUID("c16252d2-1b25-441b-8a67-579dd471df44")
    partition_metadata.write(tmp_path / "p", topic_id)
    assert (tmp_path / "p").read_bytes() == b"version: 0\ntopic_id: wWJS0hslRBuKZ1ed1HHfRA"
    assert partition_metadata.read(tmp_path / "p") == topic_id


def test_meta_properties_are_read_as_they_were_written(tmp_path: Path) -> None:
    meta = MetaProperties(3, "1eQ2ZjQIQfiwVojgCAGIug")
    meta_properties.write(tmp_path / "m", meta, 1_700_000_000_000)
    assert (tmp_path / "m").read_text() == (
        "#\n#Tue Nov 14 22:13:20 UTC 2023\nbroker.id=3\nversion=0\ncluster.id=1eQ2ZjQIQfiwVojgCAGIug\n"
    )
    assert meta_properties.read(tmp_path / "m") == meta
    assert meta_properties.read(tmp_path / "none") is None


def test_meta_properties_of_kraft_name_the_broker_node_id() -> None:
    assert meta_properties.decode(b"version=1\nnode.id=4\ncluster.id=c\n", PATH) == MetaProperties(4, "c", version=1)


def test_meta_properties_that_name_no_version_are_of_version_0() -> None:
    assert meta_properties.decode(b"", PATH) == MetaProperties(None, None)
    assert meta_properties.decode(b"broker.id=1\n", PATH) == MetaProperties(1, None)


KRAFT = (b"version=1\nbroker.id=1\ncluster.id=c\n", b"version=1\nnode.id=1\n")
"""Not complete."""


@pytest.mark.parametrize("content", [b"version=2\n", b"version=x\n", b"version=0\nbroker.id=one\n", *KRAFT])
def test_meta_properties_of_an_unknown_version_are_refused(content: bytes) -> None:
    with pytest.raises(MalformedMetaProperties):
        meta_properties.decode(content, PATH)


def test_the_clean_shutdown_marker_is_gone_once_it_was_taken(tmp_path: Path) -> None:
    clean_shutdown.write(tmp_path)
    assert clean_shutdown.exists(tmp_path)
    assert clean_shutdown.delete(tmp_path)
    assert not clean_shutdown.delete(tmp_path)


def test_a_snapshot_is_read_as_it_was_written() -> None:
    entries = [ENTRY, ENTRY._replace(producer_id=8)]
    content = producer_snapshot.encode(entries)
    assert len(content) == 10 + 2 * 46
    assert producer_snapshot.decode(content) == entries


def test_a_snapshot_with_any_flipped_bit_is_refused() -> None:
    content = producer_snapshot.encode([ENTRY])
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 0x10
        with pytest.raises(CorruptSnapshot):
            producer_snapshot.decode(bytes(damaged))


def test_a_snapshot_that_was_cut_is_refused() -> None:
    content = producer_snapshot.encode([ENTRY])
    for size in range(len(content)):
        with pytest.raises(CorruptSnapshot):
            producer_snapshot.decode(content[:size])
