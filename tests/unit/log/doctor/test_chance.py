"""Bytes and files damaged at random: the doctor always has an answer, and a start does what it said."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from kafka_zk.log.files import names
from tests.unit.log.doctor.given import assert_a_start_does_what_was_said, crash, examined, make, tree

SEEDS = range(30)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("made") / "data")


def damage(path: Path, chance: random.Random) -> str:
    """One accident; what it was."""
    content = bytearray(path.read_bytes())
    at = chance.randrange(len(content) + 1)
    kind = chance.choice(["flip", "cut", "insert", "zero", "append", "remove"])
    if kind == "remove":
        path.unlink()
        return f"{kind} {path}"
    if kind == "flip" and at < len(content):
        content[at] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del content[at:]
    elif kind == "insert":
        content[at:at] = chance.randbytes(chance.randrange(1, 40))
    elif kind == "zero":
        content[at : at + 20] = bytes(len(content[at : at + 20]))
    else:
        content += chance.randbytes(chance.randrange(1, 200))
    path.write_bytes(content)
    return f"{kind} {path} at {at}"


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_happened_a_start_does_what_was_said(seed: int, made: Path, tmp_path: Path) -> None:
    chance = random.Random(seed)
    data = tmp_path / "data"
    shutil.copytree(made, data)
    if chance.random() < 0.6:
        crash(data, recovery_point=chance.choice([0, 0, 20, 40]))
    files = [path for path in sorted(data.rglob("*")) if path.is_file() and path.parent != data]
    files = [path for path in files if path.name != names.PARTITION_METADATA]
    for path in chance.sample(files, chance.randrange(1, 4)):
        print(damage(path, chance))
    before = tree(data)
    result = examined(data, deep=True)
    assert tree(data) == before
    print(*result.findings(), sep="\n")
    if not any(report.failure for report in result.reports):
        ends = {report.task.topic_partition: report.end_after_start for report in result.reports}
        manager = assert_a_start_does_what_was_said(data, tmp_path)
        assert {each.topic_partition: each.log_end_offset for each in manager.all_logs()} == ends
        manager.shutdown()
