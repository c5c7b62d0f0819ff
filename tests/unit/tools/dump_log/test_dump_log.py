"""What kafka-dump-log does beyond Apache's: JSON lines, whole directories, an exit code for damage; and how it ends."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.log.files import producer_snapshot
from kafka_zk.record.builder import build_batch
from kafka_zk.record.compression import Codec
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.legacy import build_message_set
from kafka_zk.record.types import Record
from kafka_zk.tools.common.java_text import string
from kafka_zk.tools.dump_log.__main__ import main

T0 = 1_700_000_000_000
OK, FAILED, DAMAGED = 0, 1, 2
LOG = "00000000000000000000.log"


def record(offset: int, value: bytes | None = b"v", key: bytes | None = b"k") -> Record:
    return Record(offset, T0 + offset, key, value)


def batch(offset: int, count: int = 2, codec: Codec = Codec.NONE) -> bytearray:
    return build_batch([record(offset + index) for index in range(count)], base_offset=offset, codec=codec)


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    folder = tmp_path / "t-0"
    folder.mkdir()
    return folder


def written(partition: Path, content: bytes | bytearray, name: str = LOG) -> str:
    path = partition / name
    path.write_bytes(content)
    return str(path)


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


# --- what is damage --------------------------------------------------------------------------------------------------


def test_an_orderly_file_ends_with_0(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--files", written(partition, batch(0) + batch(2)), "--print-data-log"]) == OK
    assert capsys.readouterr().err == ""


def test_a_gap_in_the_offsets_is_told_and_is_no_damage(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(partition, batch(0) + batch(7))
    assert main(["--files", path, "--deep-iteration"]) == OK
    assert capsys.readouterr().err == f"Non-consecutive offsets in {path}\n  1 is followed by 7\n"


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda data: data[:-1] + bytes([data[-1] ^ 1]), id="a flipped bit"),
        pytest.param(lambda data: data[:-7], id="a torn end"),
        pytest.param(lambda data: data + bytes(100), id="zeros at the end"),
        pytest.param(lambda data: data[:8] + b"\0\0\0\1" + data[12:], id="a length no batch can have"),
        pytest.param(lambda data: data[:22] + b"\7" + data[23:], id="a codec nobody knows"),
    ],
)
def test_damage_ends_with_2(partition: Path, spoil: Any) -> None:
    assert main(["--files", written(partition, spoil(bytes(batch(0))))]) == DAMAGED


def test_an_index_beside_the_truth_ends_with_2(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(partition, batch(0) + batch(2))
    path = written(partition, (9).to_bytes(4, "big") + bytes(4), "00000000000000000000.index")
    assert main(["--files", path]) == DAMAGED
    assert capsys.readouterr().err == f"Mismatches in :{path}\n  Index offset: 9, log offset: 1\n"


def test_an_index_ends_where_its_unused_room_begins(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(partition, batch(0) + batch(2))
    path = written(partition, (1).to_bytes(4, "big") + bytes(4 + 8 * 3), "00000000000000000000.index")
    assert main(["--files", path]) == OK
    assert capsys.readouterr().out == f"Dumping {path}\noffset: 1 position: 0\n"


def test_a_spoilt_snapshot_ends_with_2(partition: Path) -> None:
    content = bytearray(producer_snapshot.encode([]))
    content[3] ^= 1
    assert main(["--files", written(partition, content, "00000000000000000000.snapshot")]) == DAMAGED


@pytest.mark.parametrize(
    "arguments", [["--files", LOG], ["--files", "no-offset.log"], ["--bogus"], ["--files", "dotless"], []]
)
def test_what_cannot_be_done_ends_with_1(arguments: list[str]) -> None:
    assert main(arguments) == FAILED


def test_records_before_a_bad_one_are_shown(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = batch(0, 3)
    data[-9] ^= 0x40  # the size of the last record's body
    assert main(["--files", written(partition, data), "--deep-iteration"]) == DAMAGED
    shown = capsys.readouterr()
    assert shown.out.count("| offset:") == 2
    assert "InvalidRecordException" in shown.err


# --- directories -----------------------------------------------------------------------------------------------------


def test_a_partitions_directory_is_dumped_file_by_file(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content in ((LOG, batch(0)), ("00000000000000000002.snapshot", producer_snapshot.encode([]))):
        written(partition, content, name)
    for left_out in ("leader-epoch-checkpoint", "partition.metadata", "00000000000000000007.log.deleted"):
        written(partition, b"", left_out)
    assert main(["--files", str(partition)]) == OK
    dumping = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Dumping")]
    assert dumping == [f"Dumping {partition}/{name}" for name in (LOG, "00000000000000000002.snapshot")]


def test_a_bad_file_keeps_no_other_of_a_log_dir_from_being_dumped(
    tmp_path: Path, partition: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(partition, b"\0" * 30)
    (tmp_path / "u-0").mkdir()
    written(tmp_path / "u-0", batch(0))
    assert main(["--files", str(tmp_path)]) == DAMAGED
    shown = capsys.readouterr()
    assert "Found record size 0 smaller than minimum record overhead" in shown.err
    assert "baseOffset: 0 lastOffset: 1" in shown.out


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_json_has_one_object_a_line(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit = EndTransactionMarker(ControlType.COMMIT, coordinator_epoch=4)
    marker = build_marker(commit, producer_id=7, producer_epoch=1, timestamp_ms=T0, base_offset=2)
    data = build_batch([Record(0, T0, None, b"\xff", (("h", None),))]) + build_message_set([record(1)], magic=1)
    assert main(["--files", written(partition, data + marker), "--json", "--print-data-log"]) == OK
    found = objects(capsys.readouterr().out)
    assert [each["type"] for each in found] == ["file", "log", *["batch", "record"] * 3]
    first, old, control = (each for each in found if each["type"] == "record")
    assert (first["key"], first["value"], first["headers"]) == (None, {"base64": "/w=="}, [{"key": "h", "value": None}])
    assert (old["key"], old["value"], old["isValid"]) == ("k", "v", True)
    assert (control["controlType"], control["coordinatorEpoch"]) == ("COMMIT", 4)


def test_findings_and_errors_are_json_too(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(partition, batch(0) + batch(9) + b"rest")
    assert main(["--files", path, "--json", "--deep-iteration"]) == DAMAGED
    rest, gap = objects(capsys.readouterr().out)[-2:]
    assert rest == {"type": "finding", "problem": "invalidBytesAtTheEnd", "file": path, "bytes": 4}
    assert gap == {"type": "finding", "problem": "nonConsecutiveOffsets", "file": path, "offset": 1, "nextOffset": 9}
    assert main(["--files", LOG, "--json"]) == FAILED
    assert "NoSuchFileException" in objects(capsys.readouterr().out)[-1]["message"]


# --- how it ends, and what it takes ----------------------------------------------------------------------------------


def program(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "kafka_zk.tools.dump_log", *arguments], **options)


@pytest.fixture
def long_log(partition: Path) -> str:
    one = batch(0, 500)
    return written(partition, bytes(one) * 200)


def test_a_reader_that_goes_away_ends_it_quietly(long_log: str) -> None:
    with program("--files", long_log, "--deep-iteration", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 0


def test_ctrl_c_ends_it_without_a_trace(long_log: str) -> None:
    with program("--files", long_log, "--deep-iteration", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) in (0, 130)


def test_a_lied_length_takes_no_memory(partition: Path) -> None:
    size_bytes = 400_000_000
    path = partition / LOG
    path.write_bytes(batch(0))
    with path.open("r+b") as file:
        file.seek(8)
        file.write((size_bytes - 12).to_bytes(4, "big"))
        file.truncate(size_bytes)  # a hole
    limit = (150_000_000, 150_000_000)
    with program(
        "--files", str(path), stdout=subprocess.PIPE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, limit)
    ) as process:
        assert process.stdout is not None
        assert b"isvalid: false" in process.stdout.read()
        assert process.wait(30) == DAMAGED


def test_bytes_that_are_no_text_become_replacements_as_in_java() -> None:
    assert string(b"\xed\xa0\x80\xed\xa0|\xf0\x9fx\xc0\xaf") == "\ufffd\ufffd|\ufffdx\ufffd\ufffd"
