"""Every other directory that Apache Kafka 3.9.1 wrote: compacted, moved between disks, of the coordinators.

Read as its consumer read them, and written again from what was read to the same bytes where the format leaves no
choice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.log.files import leader_epoch_file, names, offset_index, partition_metadata, producer_snapshot, time_index
from kafka_zk.log.files.transaction_index import ENTRY, TransactionIndex
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.records import (
    GROUP_METADATA_KEY,
    GROUP_METADATA_VALUE,
    OFFSET_COMMIT_KEY,
    OFFSET_COMMIT_VALUE,
    TRANSACTION_LOG_KEY,
    TRANSACTION_LOG_VALUE,
)
from kafka_zk.protocol.versioned import decode_versioned, encode_versioned, payload_version
from kafka_zk.record.batch import Batch, batches
from kafka_zk.record.builder import build_batch
from kafka_zk.record.record import decode_records
from kafka_zk.record.timestamp_type import TimestampType
from kafka_zk.record.types import Record
from tests.unit.log.given import all_records, expected_records, manager_on, unpack

STAGES = ("before", "after1", "after2", "after3")


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All golden directories that come as archives, each in a folder of its own."""
    place = tmp_path_factory.mktemp("everything")
    for archive in (
        "12-compacted/log-dirs.tar.gz",
        "12-compacted/texts.tar.xz",
        "13-unclean-shutdown/torn.tar.gz",
        "15-follower-epochs/data.tar.gz",
        "18-whole-log-dir/data.tar.gz",
        "19-jbod-and-deletion/moved.tar.gz",
        "21-dump-log-options/cases.tar.xz",
    ):
        unpack(archive, place / archive.partition("/")[0])
    unpack("19-jbod-and-deletion/moving.tar.gz", place / "19-moving")
    return place


@pytest.mark.parametrize("stage", STAGES)
def test_a_compacted_directory_is_read_as_apaches_consumer_reads_it(everything: Path, stage: str) -> None:
    folder = everything / "12-compacted"
    manager = manager_on(folder / stage)
    manager.startup()
    found = {str(log.topic_partition): all_records(log) for log in manager.all_logs()}
    manager.shutdown()
    expected = expected_records(str(folder / f"expected-{stage}.json"))
    assert expected
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("place", ["19-moving", "19-jbod-and-deletion"])
def test_partitions_that_move_between_directories_are_read_where_they_live(everything: Path, place: str) -> None:
    manager = manager_on(everything / place / "dir1", everything / place / "dir2")
    manager.startup()
    found = {str(log.topic_partition): all_records(log) for log in manager.all_logs()}
    manager.shutdown()
    expected = expected_records("19-jbod-and-deletion/expected.json.gz")
    assert {name: found[name] for name in expected} == expected
    assert not any(name.startswith("golden-deleted") for name in found)


# --- written again ---------------------------------------------------------------------------------------------------


def files(place: Path, suffix: str) -> Iterator[Path]:
    return (path for path in sorted(place.rglob(f"*{suffix}")) if path.is_file())


def rebuilt(batch: Batch) -> bytes:
    """The batch made again from its records and what its header says of the producer."""
    header = batch.header
    return bytes(
        build_batch(
            decode_records(batch),
            base_offset=header.base_offset,
            timestamp_type=TimestampType.LOG_APPEND_TIME if header.uses_log_append_time else TimestampType.CREATE_TIME,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            leader_epoch=header.partition_leader_epoch,
            transactional=header.is_transactional,
            control=header.is_control,
        )
    )


def is_fixed(batch: Batch) -> bool:
    """Whether records and header leave no choice of bytes: not compressed, not thinned out by the cleaner.

    With LogAppendTime the deltas of a client's own timestamps stay in the records and cannot be known again.
    """
    header = batch.header
    return (
        header.magic == 2
        and not header.is_compressed
        and not header.uses_log_append_time
        and not header.has_delete_horizon
        and header.record_count == header.last_offset_delta + 1
    )


def test_batches_are_built_again_from_their_records_to_the_same_bytes(everything: Path) -> None:
    seen: Counter[str] = Counter()
    for path in files(everything, names.LOG):
        content = path.read_bytes()
        for batch in batches(content):
            if is_fixed(batch) and batch.is_valid():
                assert rebuilt(batch) == bytes(batch.data), f"{path} at {batch.position}"
                seen[path.relative_to(everything).parts[0]] += 1
    assert len(seen) == 7, seen


def without_room(index: Path, folder: Path, entry_bytes: int) -> Path:
    """A copy that keeps one entry of the zeros behind the last entry: a broker that was killed leaves millions."""
    content = index.read_bytes()
    used = -(-len(content.rstrip(b"\0")) // entry_bytes) * entry_bytes
    copy = folder / index.name
    copy.write_bytes(content[: used + entry_bytes])
    return copy


def test_indexes_are_written_again_to_the_same_bytes(everything: Path, tmp_path: Path) -> None:
    entry_bytes = {
        names.OFFSET_INDEX: offset_index.ENTRY.size,
        names.TIME_INDEX: time_index.ENTRY.size,
        names.TRANSACTION_INDEX: ENTRY.size,
    }
    seen: Counter[str] = Counter()
    for found in files(everything, "index"):
        offset_file = names.parse_offset_file(found.name)
        if offset_file is None or not found.stat().st_size:
            continue
        path = without_room(found, tmp_path, entry_bytes[offset_file.kind])
        base, content = offset_file.offset, path.read_bytes()
        if offset_file.kind == names.OFFSET_INDEX:
            positions = offset_index.OffsetIndex(path, base, 0).entries()
            again = b"".join(offset_index.ENTRY.pack(each.offset - base, each.position) for each in positions)
        elif offset_file.kind == names.TIME_INDEX:
            timestamps = time_index.TimeIndex(path, base, 0).entries()
            again = b"".join(time_index.ENTRY.pack(each.timestamp, each.offset - base) for each in timestamps)
        else:
            again = b"".join(ENTRY.pack(0, *each) for each in TransactionIndex(path, base).entries())
        assert again == content, found
        seen[offset_file.kind] += 1
    assert seen.keys() == set(names.INDEXES)


def test_small_files_are_written_again_to_the_same_bytes(everything: Path) -> None:
    seen: Counter[str] = Counter()
    for path in files(everything, ""):
        content = path.read_bytes()
        if path.suffix == names.PRODUCER_SNAPSHOT:
            again = producer_snapshot.encode(producer_snapshot.decode(content))
        elif path.name == names.LEADER_EPOCHS and content:
            again = leader_epoch_file.encode_epochs(leader_epoch_file.decode_epochs(content, path))
        elif path.name == names.PARTITION_METADATA:
            again = partition_metadata.encode(partition_metadata.decode(content, path))
        else:
            continue
        assert again == content, path
        seen[path.suffix or path.name] += 1
    assert seen.keys() == {names.PRODUCER_SNAPSHOT, names.LEADER_EPOCHS, ".metadata"}


MESSAGES_OF_KEY: dict[tuple[str, int], tuple[Message, Message]] = {
    ("__transaction_state", 0): (TRANSACTION_LOG_KEY, TRANSACTION_LOG_VALUE),
    ("__consumer_offsets", 1): (OFFSET_COMMIT_KEY, OFFSET_COMMIT_VALUE),
    ("__consumer_offsets", 2): (GROUP_METADATA_KEY, GROUP_METADATA_VALUE),
}


def test_coordinators_records_are_written_again_to_the_same_bytes(everything: Path) -> None:
    seen: Counter[str] = Counter()
    for topic in ("__transaction_state", "__consumer_offsets"):
        for path in files(everything, names.LOG):
            if not path.parent.name.startswith(topic):
                continue
            for record in coordinator_records(path):
                assert record.key is not None
                key_message, value_message = MESSAGES_OF_KEY[topic, payload_version(record.key)]
                for message, data in ((key_message, record.key), (value_message, record.value)):
                    if data is not None:
                        again = encode_versioned(message, decode_versioned(message, data), payload_version(data))
                        assert again == data
                        seen[message.name] += 1
    assert len(seen) == 6, seen


def coordinator_records(path: Path) -> Iterator[Record]:
    for batch in batches(path.read_bytes()):
        if not batch.header.is_control:
            yield from decode_records(batch)
