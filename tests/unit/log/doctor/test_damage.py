"""Every kind of damage has its finding, and a start does what the doctor said it would do."""

from __future__ import annotations

import shutil
import struct
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafka_zk.log.doctor import findings
from kafka_zk.log.doctor.findings import KINDS
from kafka_zk.log.files import names, producer_snapshot
from kafka_zk.log.loading.refusals import InvalidLogDirectory
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.record.batch import CRC_AT, CRC_FROM, HEADER_SIZE
from kafka_zk.record.compression import Codec
from tests.unit.log.doctor.given import (
    OTHER,
    PLAIN,
    TXN,
    Damage,
    assert_a_start_does_what_was_said,
    batch_at,
    concerns,
    crash,
    examined,
    kinds,
    make,
    started_on,
    the_start,
)
from tests.unit.log.given import T0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("made") / "data")


@pytest.fixture
def data(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "data")
    return tmp_path / "data"


FIRST, SECOND, LAST = 0, 15, 54
BATCH_BYTES = 175
"""Of each of the first ten batches of plain-0; five are in a segment."""


def file(directory: Path, base_offset: int, kind: str = names.LOG, partition: object = PLAIN) -> Path:
    return directory / str(partition) / names.offset_file_name(base_offset, kind)


def patch(path: Path, position: int, new: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[position : position + len(new)] = new
    path.write_bytes(content)


def append(path: Path, more: bytes) -> None:
    path.write_bytes(path.read_bytes() + more)


def cut(path: Path, size_bytes: int) -> None:
    path.write_bytes(path.read_bytes()[:-size_bytes])


def checkpoint(directory: Path, name: str, *rows: str) -> None:
    (directory / name).write_text(f"0\n{len(rows)}\n" + "".join(f"{row}\n" for row in rows))


def every(offset: int, *, plain: int | None = None) -> list[str]:
    return [f"plain 0 {offset if plain is None else plain}", f"plain 1 {offset}", f"txn 0 {min(offset, 27)}"]


def say_in_snapshot(directory: Path, last_offset: int) -> None:
    path = file(directory, 9, names.PRODUCER_SNAPSHOT, TXN)
    (entry,) = producer_snapshot.read(path)
    producer_snapshot.write(path, [entry._replace(last_offset=last_offset)], durable=False)


def move_snapshot(directory: Path, offset: int, to_offset: int) -> None:
    file(directory, offset, names.PRODUCER_SNAPSHOT).rename(file(directory, to_offset, names.PRODUCER_SNAPSHOT))


def end_too_early(directory: Path) -> None:
    checkpoint(directory, names.RECOVERY_POINTS, *every(60, plain=57))
    move_snapshot(directory, 60, 57)


def rename_segment(directory: Path) -> None:
    for kind in (names.LOG, names.OFFSET_INDEX, names.TIME_INDEX):
        file(directory, SECOND, kind).rename(file(directory, SECOND + 3, kind))


def directory_for_a_file(directory: Path) -> None:
    file(directory, LAST).unlink()
    file(directory, LAST).mkdir()


def overlap(directory: Path) -> None:
    append(file(directory, LAST), bytes(batch_at(57, "again", timestamp=T0 + 19_000)))


def drop_segment(directory: Path) -> None:
    file(directory, 30).unlink()


def drop_batch(directory: Path) -> None:
    path = file(directory, SECOND)
    content = path.read_bytes()
    path.write_bytes(content[:BATCH_BYTES] + content[2 * BATCH_BYTES :])
    for kind in (names.OFFSET_INDEX, names.TIME_INDEX):
        file(directory, SECOND, kind).unlink()


def lie_in_batch(directory: Path) -> None:
    """A compressed batch with a right checksum and a wrong number of records."""
    from crc32c import crc32c

    batch = bytearray(batch_at(60, "a" * 100, "b" * 100, timestamp=T0, codec=Codec.GZIP))
    struct.pack_into(">i", batch, HEADER_SIZE - 4, 3)
    struct.pack_into(">I", batch, CRC_AT, crc32c(bytes(batch[CRC_FROM:])))
    append(file(directory, LAST), bytes(batch))
    checkpoint(directory, names.RECOVERY_POINTS, *every(60, plain=62))
    source, target = (
        file(directory, LAST, names.PRODUCER_SNAPSHOT).with_name(f"{at:020d}.snapshot") for at in (60, 62)
    )
    source.rename(target)


def swap_left(directory: Path) -> None:
    """A finished cleaning of the first two segments that was not put in its place."""
    for kind in (names.LOG, names.OFFSET_INDEX, names.TIME_INDEX):
        content = file(directory, FIRST, kind).read_bytes()
        if kind == names.LOG:
            content += file(directory, SECOND, kind).read_bytes()
        file(directory, FIRST, kind).with_name(f"{FIRST:020d}{kind}.swap").write_bytes(content)


@dataclass(frozen=True)
class Case:
    """`expected`: the kinds that are of concern, all of them. `start`: what one of them, `kind`, says of a start."""

    name: str
    damage: Damage
    expected: set[str]
    kind: str = ""
    start: str = ""
    crashed: bool = False
    deep: bool = False


AS_IT_IS = "serves it as it is: nothing is checked after a clean shutdown"
CASES = [
    Case("nothing", lambda d: None, set()),
    Case("nothing after a crash", lambda d: None, set(), crashed=True),
    Case("a bit", lambda d: patch(file(d, SECOND), 270, b"\xff"), {"bad-crc"}, "bad-crc", AS_IT_IS),
    Case(
        "a bit before a crash",
        lambda d: patch(file(d, LAST), 270, b"\xff"),
        {"bad-crc", "committed-missing"},
        "bad-crc",
        "truncates it at byte 205, losing 205 bytes",
        crashed=True,
    ),
    Case(
        "a bit in an older segment that is recovered",
        lambda d: patch(file(d, SECOND), 2 * BATCH_BYTES + 80, b"\xff"),
        {"bad-crc", "committed-missing"},
        "committed-missing",
        "serves offsets 0 to 21 (exclusive), deletes 3 segments, truncates 525 bytes",
        crashed=True,
    ),
    Case(
        "a torn append",
        lambda d: append(file(d, LAST), bytes(batch_at(60, "lost" * 9, timestamp=T0))[:-1]),
        {"torn-tail"},
        "torn-tail",
        "truncates it at byte 410, losing 104 bytes",
        crashed=True,
    ),
    Case(
        "the last batch torn",
        lambda d: cut(file(d, LAST), 7),
        {"torn-tail", "committed-missing"},
        "torn-tail",
        "truncates it at byte 205, losing 198 bytes",
        crashed=True,
    ),
    Case(
        "zeros at the end",
        lambda d: append(file(d, LAST), bytes(5000)),
        {"torn-tail"},
        "torn-tail",
        "truncates it at byte 410, losing 5000 bytes",
        crashed=True,
    ),
    Case(
        "a file cut while the broker was down",
        lambda d: cut(file(d, LAST), 7),
        {"bad-batch", "flushed-missing", "committed-missing", "snapshot-beyond-end"},
        "bad-batch",
        AS_IT_IS,
    ),
    Case(
        "a length that lies",
        lambda d: patch(file(d, SECOND), BATCH_BYTES + 8, b"\x7f\xff"),
        {"bad-batch"},
        "bad-batch",
        AS_IT_IS,
    ),
    Case("a magic that nobody knows", lambda d: patch(file(d, SECOND), BATCH_BYTES + 16, b"\x09"), {"bad-batch"}),
    Case(
        "an offset that lies",
        lambda d: patch(file(d, SECOND), 2 * BATCH_BYTES, struct.pack(">q", 7000)),
        {"offset-out-of-range", "records-missing", "batches-overlap", "index-mismatch", "time-index-mismatch"},
    ),
    Case(
        "a segment with a wrong name",
        rename_segment,
        {"offset-out-of-range", "index-mismatch", "time-index-mismatch"},
    ),
    Case(
        "offsets twice",
        overlap,
        {"batches-overlap", "index-mismatch", "snapshot-beyond-end", "flushed-missing", "committed-missing"},
    ),
    Case("a segment is gone", drop_segment, {"records-missing", "index-orphaned"}, "records-missing", AS_IT_IS),
    Case(
        "a segment is gone before a crash",
        drop_segment,
        {"records-missing", "index-orphaned", "committed-missing"},
        "records-missing",
        "deletes it",
        crashed=True,
    ),
    Case("a batch is gone", drop_batch, {"records-missing", "index-missing"}),
    Case(
        "no offset index",
        lambda d: file(d, SECOND, names.OFFSET_INDEX).unlink(),
        {"index-missing"},
        "index-missing",
        "builds it from the log",
    ),
    Case(
        "no time index",
        lambda d: file(d, SECOND, names.TIME_INDEX).unlink(),
        {"index-missing"},
        "index-missing",
        "creates an empty one when the index is first needed",
    ),
    Case(
        "an index to the middle of a batch",
        lambda d: patch(file(d, SECOND, names.OFFSET_INDEX), 12, struct.pack(">i", 2 * BATCH_BYTES + 5)),
        {"index-mismatch"},
        "index-mismatch",
        "uses it as it is",
    ),
    Case(
        "an index with a wrong offset",
        lambda d: patch(file(d, SECOND, names.OFFSET_INDEX), 8, struct.pack(">i", 6)),
        {"index-mismatch"},
    ),
    Case(
        "an index out of order",
        lambda d: patch(file(d, SECOND, names.OFFSET_INDEX), 8, struct.pack(">ii", 2, 3)),
        {"index-corrupt"},
    ),
    Case("half an index entry", lambda d: cut(file(d, SECOND, names.OFFSET_INDEX), 3), {"index-corrupt"}),
    Case(
        "an index with room after a clean stop",
        lambda d: append(file(d, SECOND, names.OFFSET_INDEX), bytes(800)),
        {"index-corrupt"},
    ),
    Case(
        "a time that no record has",
        lambda d: patch(file(d, SECOND, names.TIME_INDEX), 0, struct.pack(">q", T0 + 5500)),
        {"time-index-mismatch"},
    ),
    Case("a time index that ends early", lambda d: cut(file(d, SECOND, names.TIME_INDEX), 12), {"time-index-mismatch"}),
    Case(
        "no transaction index",
        lambda d: file(d, 0, names.TRANSACTION_INDEX, TXN).unlink(),
        {"aborted-unlisted"},
        "aborted-unlisted",
        "trusts the transaction index, which is only rebuilt with its segment",
    ),
    Case(
        "a transaction that nobody aborted",
        lambda d: file(d, 9, names.TRANSACTION_INDEX, TXN).write_bytes(struct.pack(">hqqqq", 0, 5, 9, 17, 18)),
        {"aborted-unfounded"},
    ),
    Case(
        "half a transaction index entry",
        lambda d: cut(file(d, 0, names.TRANSACTION_INDEX, TXN), 5),
        {"index-corrupt"},
        "index-corrupt",
        "rebuilds it from the log",
    ),
    Case(
        "a snapshot that cannot be read",
        lambda d: patch(file(d, 27, names.PRODUCER_SNAPSHOT, TXN), 20, b"\xff"),
        {"snapshot-corrupt"},
        "snapshot-corrupt",
        "rebuilds it from the log",
    ),
    Case(
        "a snapshot behind the end",
        lambda d: shutil.copy(file(d, 27, names.PRODUCER_SNAPSHOT, TXN), file(d, 2700, names.PRODUCER_SNAPSHOT, TXN)),
        {"snapshot-beyond-end"},
    ),
    Case("a snapshot that says less", lambda d: say_in_snapshot(d, 3), {"snapshot-mismatch"}),
    Case("a snapshot that says more", lambda d: say_in_snapshot(d, 9), {"snapshot-mismatch"}),
    Case(
        "epochs that cannot be read",
        lambda d: (d / "plain-0" / names.LEADER_EPOCHS).write_text("0\n3\n0 0\n"),
        {"epochs-malformed"},
        crashed=True,
        kind="epochs-malformed",
        start="corrects it",
    ),
    Case(
        "epochs that go back",
        lambda d: (d / "plain-0" / names.LEADER_EPOCHS).write_text("0\n2\n0 5\n1 5\n"),
        {"epochs-disordered"},
    ),
    Case(
        "an epoch behind the end",
        lambda d: (d / "plain-0" / names.LEADER_EPOCHS).write_text("0\n2\n0 0\n4 900\n"),
        {"epoch-beyond-end"},
        "epoch-beyond-end",
        "corrects it",
        crashed=True,
    ),
    Case(
        "another epoch",
        lambda d: (d / "plain-0" / names.LEADER_EPOCHS).write_text("0\n2\n0 0\n4 33\n"),
        {"epoch-mismatch"},
        "epoch-mismatch",
        "trusts it",
    ),
    Case(
        "a recovery point behind the end",
        lambda d: checkpoint(d, names.RECOVERY_POINTS, *every(60, plain=75)),
        {"flushed-missing"},
    ),
    Case(
        "an end that was noted too early",
        end_too_early,
        {"end-disagrees"},
    ),
    Case(
        "a high watermark behind the end",
        lambda d: checkpoint(d, names.HIGH_WATERMARKS, *every(60, plain=61)),
        {"committed-missing"},
    ),
    Case(
        "a log start behind the end",
        lambda d: checkpoint(d, names.LOG_START_OFFSETS, "plain 0 61"),
        {"log-start-beyond-end"},
        "log-start-beyond-end",
        "serves offsets 61 to 61 (exclusive), deletes 5 segments",
    ),
    Case(
        "a cleaner that was further",
        lambda d: checkpoint(d, names.CLEANER_OFFSETS, "plain 0 61"),
        {"cleaner-offset-invalid"},
    ),
    Case(
        "a checkpoint that cannot be read",
        lambda d: (d / names.HIGH_WATERMARKS).write_text("0\n7\nplain 0 1\n"),
        {"checkpoint-malformed"},
        "checkpoint-malformed",
        "treats it as empty, with a warning",
    ),
    Case(
        "a partition that is not there",
        lambda d: shutil.rmtree(d / str(OTHER)),
        {"checkpoint-names-nobody"},
    ),
    Case(
        "a cleaning that did not end",
        lambda d: file(d, 0).with_suffix(".log.cleaned").write_bytes(b"x"),
        {"left-by-cleaning"},
    ),
    Case("a cleaning that was not put in place", swap_left, {"left-by-cleaning"}),
    Case("records that lie", lie_in_batch, {"bad-records"}, deep=True),
    Case(
        "a segment that is a directory",
        directory_for_a_file,
        {"unreadable"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_damage_is_found_and_a_start_does_what_was_said(case: Case, data: Path, tmp_path: Path) -> None:
    case.damage(data)
    if case.crashed:
        crash(data)
    result = examined(data, deep=case.deep)
    assert concerns(result) == case.expected
    if case.kind:
        (told,) = {each.start for each in result.findings() if each.kind.name == case.kind}
        assert told == case.start
    if "unreadable" not in case.expected:
        assert_a_start_does_what_was_said(data, tmp_path).shutdown()


@pytest.mark.parametrize("crashed", [False, True])
def test_the_end_of_a_log_after_a_start_is_the_one_that_was_said(crashed: bool, data: Path, tmp_path: Path) -> None:
    patch(file(data, SECOND), 2 * BATCH_BYTES + 80, b"\xff")
    if crashed:
        crash(data)
    ends = {report.task.topic_partition: report.end_after_start for report in examined(data).reports}
    manager = assert_a_start_does_what_was_said(data, tmp_path)
    assert ends == {each.topic_partition: each.log_end_offset for each in manager.all_logs()}
    assert ends[PLAIN] == (21 if crashed else 60)
    manager.shutdown()


def test_without_deep_the_inside_of_a_batch_is_not_looked_at(data: Path) -> None:
    lie_in_batch(data)
    assert concerns(examined(data)) == set()


def test_gaps_that_compaction_left_are_no_loss(data: Path) -> None:
    drop_batch(data)
    checkpoint(data, names.CLEANER_OFFSETS, "plain 0 54")
    result = examined(data)
    assert concerns(result) == {"index-missing"}
    assert "compacted" in kinds(result)


def test_a_gap_behind_what_was_cleaned_is_told(data: Path) -> None:
    drop_batch(data)
    checkpoint(data, names.CLEANER_OFFSETS, "plain 0 15")
    assert concerns(examined(data)) == {"index-missing", "records-missing-above-cleaned"}


def test_a_crash_leaves_room_in_the_index_of_the_last_segment_only(data: Path) -> None:
    for base in (SECOND, LAST):
        append(file(data, base, names.OFFSET_INDEX), bytes(800))
    crash(data, recovery_point=50)
    result = examined(data)
    assert {(each.kind.name, Path(each.file).name) for each in result.findings() if "index" in each.kind.name} == {
        ("index-corrupt", file(data, SECOND, names.OFFSET_INDEX).name),
        ("index-untrimmed", file(data, LAST, names.OFFSET_INDEX).name),
    }


def test_what_is_below_the_recovery_point_is_served_unseen_after_a_crash(data: Path) -> None:
    patch(file(data, SECOND), 270, b"\xff")
    crash(data, recovery_point=50)
    assert the_start(examined(data), "bad-crc") == "serves it as it is: nothing is checked below the recovery point"


# What stops a start


def refusal(*directories: Path) -> str:
    with pytest.raises(InvalidLogDirectory) as raised:
        started_on(*directories)
    return str(raised.value)


def test_a_directory_that_is_no_partition_stops_a_start_with_the_message_told(data: Path) -> None:
    (data / "lost+found").mkdir()
    result = examined(data)
    assert concerns(result) == {"not-a-partition"}
    assert the_start(result, "not-a-partition") == f"stops with: {refusal(data)}"


@pytest.mark.parametrize(
    ("file", "content", "kind"),
    [
        ("plain-0/partition.metadata", "version: 0\ntopic_id: nonsense", "topic-id-malformed"),
        ("meta.properties", "version=2\n", "identity-malformed"),
    ],
)
def test_a_small_file_that_cannot_be_read_takes_the_directory_offline_as_told(
    data: Path, caplog: pytest.LogCaptureFixture, file: str, content: str, kind: str
) -> None:
    (data / file).write_text(content)
    (found,) = examined(data).findings()
    assert (found.kind.name, found.start) == (kind, "takes the log directory offline, or stops")
    with pytest.raises(KafkaStorageError):
        started_on(data)
    assert found.what in caplog.text


def test_of_a_partition_in_two_directories_it_is_told_which_one_a_start_keeps(data: Path, tmp_path: Path) -> None:
    shutil.copytree(data, tmp_path / "second")
    shutil.rmtree(tmp_path / "second" / "plain-1")
    shutil.rmtree(tmp_path / "second" / "txn-0")
    result = examined(data, tmp_path / "second")
    assert (
        the_start(result, "partition-twice")
        == "keeps the one with the newer epoch, or the longer one; deletes the other"
    )
    started_on(data, tmp_path / "second").shutdown()
    for path in (data, tmp_path / "second"):
        shutil.rmtree(path)


def test_logs_of_two_topics_in_the_place_of_one_stop_a_start_with_the_message_told(data: Path, tmp_path: Path) -> None:
    shutil.copytree(data / "plain-0", tmp_path / "second" / "plain-0")
    shutil.copy(data / names.META_PROPERTIES, tmp_path / "second")
    (tmp_path / "second" / "plain-0" / names.PARTITION_METADATA).write_text(
        "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAACQ"
    )
    result = examined(data, tmp_path / "second")
    assert the_start(result, "partition-twice") == f"stops with: {refusal(data, tmp_path / 'second')}"


def test_partitions_of_a_topic_with_different_ids_are_told(data: Path, tmp_path: Path) -> None:
    shutil.copy(data / "txn-0" / names.PARTITION_METADATA, data / "plain-1" / names.PARTITION_METADATA)
    assert concerns(examined(data)) == {"topic-id-differs"}


# What is normal


def test_what_something_left_is_told_and_left_to_the_start(data: Path, tmp_path: Path) -> None:
    (data / "plain-0" / "00000000000000000000.log.deleted").write_bytes(b"old")
    (data / "plain-0" / "leader-epoch-checkpoint.tmp").write_bytes(b"half")
    (data / "plain-0" / "notes.txt").write_bytes(b"?")
    (data / "replication-offset-checkpoint.tmp").write_bytes(b"half")
    for suffix in ("delete", "future", "stray"):
        shutil.copytree(data / "plain-1", data / f"plain-1.{'ab' * 16}-{suffix}")
    result = examined(data)
    assert concerns(result) == {"set-aside"}
    assert kinds(result) == {
        "set-aside",
        "being-deleted",
        "being-moved",
        "left-by-deletion",
        "left-by-write",
        "unknown-file",
    }
    assert_a_start_does_what_was_said(data, tmp_path).shutdown()


def test_a_directory_without_identity_and_topic_ids_is_an_old_one(data: Path) -> None:
    (data / names.META_PROPERTIES).unlink()
    for each in (PLAIN, OTHER, TXN):
        (data / str(each) / names.PARTITION_METADATA).unlink()
    result = examined(data)
    assert concerns(result) == set()
    assert kinds(result) == {"identity-missing", "topic-id-missing"}


def test_many_places_in_one_file_are_one_finding(data: Path) -> None:
    for batch in range(5):
        patch(file(data, SECOND), batch * BATCH_BYTES + 80, b"\xff")
    (found,) = (each for each in examined(data).findings() if each.kind.name == "bad-crc")
    assert found.what.endswith("has a wrong checksum (and 4 more)")


def test_worker_processes_find_the_same(data: Path) -> None:
    patch(file(data, SECOND), 270, b"\xff")
    assert examined(data, processes=2).findings() == examined(data, processes=1).findings()


def test_every_kind_has_a_name_of_its_own() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS)


def test_the_manual_names_every_kind() -> None:
    manual = Path(findings.__file__).with_name("README.md").read_text()
    assert [f"| {each.name} | {each.severity.value} | {each.meaning} |" in manual for each in KINDS] == [True] * len(
        KINDS
    )
