"""kafka-log-doctor.sh as its user meets it: exit codes, table, JSON, the lock, indexes made anew."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from kafka_zk.log.files import names
from kafka_zk.tools.log_doctor import restoring
from kafka_zk.tools.log_doctor.__main__ import main
from kafka_zk.zk.errors import NoNode, TooLarge
from tests.unit.log.doctor.given import (
    PLAIN,
    TXN,
    as_document,
    crash,
    examined,
    kinds,
    make,
    printed,
    started_on,
    tree,
)
from tests.unit.log.doctor.test_damage import BATCH_BYTES, SECOND, cut, file, patch

TIMEOUT_S = 60
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("made") / "data")


@pytest.fixture
def data(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "data")
    return tmp_path / "data"


def test_a_sound_directory_is_one_line_and_exit_code_0(data: Path, capsys: Capture) -> None:
    code, out, err = printed(capsys, data)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].endswith("bytes checked: 0 errors, 0 warnings, 0 info")
    assert out.startswith("1 directory, 3 partitions, 14 segments, ")


def test_a_warning_alone_is_exit_code_0(data: Path, capsys: Capture) -> None:
    file(data, SECOND, names.TIME_INDEX).unlink()
    code, out, _ = printed(capsys, data)
    assert code == 0
    assert "WARNING" in out


def test_lost_data_is_exit_code_2_and_a_row_of_the_table(data: Path, capsys: Capture) -> None:
    patch(file(data, SECOND), 270, b"\xff")
    code, out, _ = printed(capsys, data)
    lines = out.splitlines()
    assert code == 2
    assert lines[0] == f"{data}:"
    assert lines[1].split() == ["SEVERITY", "PARTITION", "FILE", "FINDING", "NEXT", "START"]
    assert lines[2].split()[:4] == ["ERROR", "plain-0", "00000000000000000015.log", "bad-crc:"]
    assert lines[2].endswith("serves it as it is: nothing is checked after a clean shutdown")


def test_what_is_normal_is_told_when_asked_for(data: Path, capsys: Capture) -> None:
    (data / "plain-0" / "00000000000000000000.log.deleted").write_bytes(b"old")
    assert "left-by-deletion" not in printed(capsys, data)[1]
    assert "left-by-deletion" in printed(capsys, "--verbose", data)[1]


def test_json_tells_all(data: Path, capsys: Capture) -> None:
    patch(file(data, SECOND), 270, b"\xff")
    code, document = as_document(capsys, data)
    assert code == 2
    assert document["directories"] == [
        {"path": str(data), "clean_stop": True, "broker_id": 3, "cluster_id": "1eQ2ZjQIQfiwVojgCAGIug"}
    ]
    assert document["summary"] == {"errors": 1, "warnings": 0, "infos": 0}
    (finding,) = document["findings"]
    assert (finding["severity"], finding["kind"], finding["partition"]) == ("error", "bad-crc", "plain-0")
    assert finding["file"] == "plain-0/00000000000000000015.log"
    told = {(each["topic"], each["partition"]): each["log_end_offset"] for each in document["partitions"]}
    assert told == {("plain", 0): 60, ("plain", 1): 60, ("txn", 0): 27}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: DIR"),
        (["--nonsense", "x"], "unrecognized arguments: --nonsense"),
        (["/no/such/directory"], "/no/such/directory: No such file or directory"),
        (["--apply", "x"], "--apply requires --znodes"),
        (["--znodes", "--apply", "x"], "--apply and --zookeeper"),
        (["--znodes", "--zookeeper", "h:1", "x"], "--apply and --zookeeper"),
        (["--all", "x"], "--all requires --rebuild-indexes"),
        (["--znodes", "--rebuild-indexes", "x"], "cannot be combined"),
        (["--processes", "0", "x"], "--processes must be at least 1"),
        (["--broker-id", "1,2,3", "x", "y"], "--broker-id takes one id, or one per directory"),
        (["--broker-id", "one", "x"], "--broker-id takes numbers, not one"),
        (["x", "./x"], "a directory is given twice"),
    ],
)
def test_what_makes_no_sense_is_said_and_exit_code_1(arguments: list[str], said: str, capsys: Capture) -> None:
    code, out, err = printed(capsys, *arguments)
    assert (code, out) == (1, "")
    assert said in err


HOLD_THE_LOCK = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("options", [[], ["--rebuild-indexes"], ["--znodes"]])
def test_a_directory_in_use_is_refused_and_the_lock_stays_where_it_is(
    options: list[str], data: Path, capsys: Capture
) -> None:
    lock = data / names.LOCK
    command = [sys.executable, "-c", HOLD_THE_LOCK, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        code, out, err = printed(capsys, *options, data)
        assert (code, out) == (1, "")
        assert f"{data} is in use: process {holder.pid} holds the lock on .lock. Stop the broker first" in err
        holder.communicate()
    assert printed(capsys, *options, data)[0] == 0


def test_directories_of_different_brokers_are_told_apart(data: Path, tmp_path: Path, capsys: Capture) -> None:
    other = make(tmp_path / "other")
    meta = other / names.META_PROPERTIES
    meta.write_text(meta.read_text().replace("broker.id=3", "broker.id=4"))
    code, document = as_document(capsys, data, other)
    assert code == 2
    assert [each["kind"] for each in document["findings"]] == ["identity-differs"]
    assert "Stored node id 4 doesn't match previous node id 3" in document["findings"][0]["start"]


# --rebuild-indexes


def indexes(directory: Path) -> dict[Path, bytes]:
    found = (path for path in directory.rglob("*") if path.suffix in names.INDEXES)
    return {path.relative_to(directory): path.read_bytes() for path in sorted(found)}


def test_indexes_made_anew_are_those_that_recovery_writes(data: Path, tmp_path: Path, capsys: Capture) -> None:
    shutil.copytree(data, tmp_path / "recovered")
    crash(tmp_path / "recovered")
    manager = started_on(tmp_path / "recovered")
    manager.shutdown()
    for base, partition in ((SECOND, PLAIN), (9, TXN)):
        for kind in (names.OFFSET_INDEX, names.TIME_INDEX):
            file(data, base, kind, partition).write_bytes(b"\1" * 24)
    file(data, 0, names.TRANSACTION_INDEX, TXN).unlink()
    code, out, _ = printed(capsys, "--rebuild-indexes", "--all", "--index-interval-bytes", 100, data)
    assert code == 0
    assert f"rebuilt {file(data, 0, names.TRANSACTION_INDEX, TXN)}" in out
    made, recovered = indexes(data), indexes(tmp_path / "recovered")
    assert {path: content for path, content in made.items() if content} == {
        path: content for path, content in recovered.items() if content
    }


def test_only_wrong_indexes_are_made_anew_and_the_rest_stays_untouched(data: Path, capsys: Capture) -> None:
    wrong = file(data, SECOND, names.OFFSET_INDEX)
    wrong.unlink()
    cut(file(data, 9, names.TIME_INDEX, TXN), 5)
    before = tree(data)
    options = ("--index-interval-bytes", 100)
    code, out, _ = printed(capsys, "--rebuild-indexes", *options, data)
    assert code == 0
    assert out.splitlines()[-1] == "2 indexes rebuilt, 0 skipped"
    after = tree(data)
    changed = {path for path in after if after[path] != before.get(path)}
    folders = {str(data), str(data / "plain-0"), str(data / "txn-0")}
    assert changed - folders == {
        str(wrong),
        str(file(data, 9, names.TIME_INDEX, TXN)),
        str(data / names.LOCK),
    }
    assert wrong.stat().st_mode == file(data, SECOND).stat().st_mode
    assert kinds(examined(data)) == set()
    started_on(data).shutdown()


def test_indexes_of_a_damaged_segment_are_left_to_a_start(data: Path, capsys: Capture) -> None:
    patch(file(data, SECOND), 2 * BATCH_BYTES + 80, b"\xff")
    file(data, SECOND, names.OFFSET_INDEX).unlink()
    before = tree(data / "plain-0")
    code, out, _ = printed(capsys, "--rebuild-indexes", data)
    assert code == 2
    assert "skipped" in out
    assert tree(data / "plain-0") == before


def test_the_command_imports_no_gevent(data: Path) -> None:
    code = (
        "import sys; from kafka_zk.tools.log_doctor.__main__ import main; "
        "code = main(sys.argv[1:]); assert 'gevent' not in sys.modules, 'gevent'; sys.exit(code)"
    )
    command = [sys.executable, "-c", code, "--deep", str(data)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


def test_an_address_of_zookeeper_that_is_none_is_told_in_a_sentence(data: Path, capsys: Capture) -> None:
    znodes = ("--znodes", "--apply", "--broker-id", "1", "--zookeeper", "foo:bar", data)
    code, _, err = printed(capsys, *znodes)
    assert (code, err) == (1, '--zookeeper foo:bar: For input string: "bar"\n')


@pytest.mark.parametrize("where", [">/dev/full", "2>/dev/full", "| true", ">&-", "2>&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize("offset, code", [(None, 0), (270, 2)])
def test_what_nobody_can_read_changes_no_exit_code(data: Path, where: str, offset: int | None, code: int) -> None:
    """1 would say that nothing was examined."""
    if offset:
        patch(file(data, SECOND), offset, b"\xff")
    shell = f'"$0" -m kafka_zk.tools.log_doctor "$1" {where}; exit "${{PIPESTATUS[0]}}"'
    done = subprocess.run(
        ["bash", "-c", shell, sys.executable, str(data)], capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert (done.returncode, done.stderr) == (code, "")


class FailingZooKeeper:
    """Holds another content in every znode, and takes `takes` writes."""

    def __init__(self, takes: int, end: BaseException, before: bytes = b'{"before": true}') -> None:
        self.takes, self.end, self.before = takes, end, before
        self.written: dict[str, bytes] = {}

    def start(self) -> None: ...
    def close(self) -> None: ...

    def children(self, path: str) -> list[str]:
        raise NoNode(path)

    def get_many(self, paths: Sequence[str]) -> list[object]:
        return [(self.written.get(path, self.before), None) for path in paths]

    def set(self, path: str, data: bytes) -> None:
        if len(self.written) == self.takes:
            raise self.end
        self.written[path] = data


@pytest.mark.parametrize(
    ("end", "code", "told"),
    [
        (TooLarge("/brokers/topics/t", "it is too large"), 1, "not all znodes were written: it is too large\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_what_was_replaced_is_told_also_where_a_later_write_fails(
    data: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, end: BaseException, code: int, told: str
) -> None:
    """What a znode held before is nowhere else."""
    zookeeper = FailingZooKeeper(2, end)
    monkeypatch.setattr(restoring, "ZkClient", lambda *_, **__: zookeeper)
    options = ("--znodes", "--apply", "--overwrite", "--broker-id", "1", "--zookeeper", "h:1", data)
    found, out, err = printed(capsys, *options)
    assert found == code
    assert [line.split()[1] for line in out.splitlines() if line.startswith("replaced: ")] == [*zookeeper.written]
    assert out.count('  it contained {"before": true}') == len(zookeeper.written) == 2
    assert err.endswith(told)


def test_a_state_that_is_overwritten_gets_a_later_epoch(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zookeeper = FailingZooKeeper(1000, AssertionError(), b'{"leader":7,"leader_epoch":40,"isr":[7]}')
    monkeypatch.setattr(restoring, "ZkClient", lambda *_, **__: zookeeper)
    options = ("--znodes", "--apply", "--overwrite", "--broker-id", "1", "--zookeeper", "h:1", str(data))
    assert main(options) == 0
    states = [json.loads(state) for path, state in zookeeper.written.items() if path.endswith("/state")]
    assert {(state["leader"], state["leader_epoch"]) for state in states} == {(1, 41)}
    written, zookeeper.takes = dict(zookeeper.written), len(zookeeper.written)
    for again in (options, [option for option in options if option != "--overwrite"]):
        assert main(again) == 0, "what this tool has written is not another content"
    assert zookeeper.written == written
