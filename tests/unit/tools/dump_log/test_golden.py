"""Directories that Apache Kafka wrote, dumped as its own tool dumped them, to the letter."""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter
from pathlib import Path

import pytest

from kafka_zk.tools.dump_log.__main__ import main
from tests.unit.tools.dump_log.golden import Dumped, dumped, unpack_cases


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_cases(tmp_path_factory.mktemp("cases"))


def findings(stderr: str) -> list[str]:
    """Without Java's stack frames, and in any order: that of the files hangs on their paths."""
    text = re.sub(r"^\tat .*\n", "", stderr, flags=re.MULTILINE).rstrip()
    return sorted(re.split(r"\n(?=\w)", text))


def differs(run: Dumped) -> bool:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(run.folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(run.arguments)
    return (code, out.getvalue(), findings(err.getvalue())) != (run.exit_code, run.stdout, findings(run.stderr))


def test_every_directory_is_dumped_as_apache_dumped_it(cases: Path) -> None:
    runs = list(dumped(cases))
    assert not [(run.folder.name, run.arguments) for run in runs if differs(run)]
    kinds = Counter(Path(word.rpartition(",")[2]).suffix for run in runs for word in run.arguments if "/" in word)
    assert {".log", ".index", ".timeindex", ".txnindex", ".snapshot"} <= kinds.keys()
    assert len(runs) > 200
