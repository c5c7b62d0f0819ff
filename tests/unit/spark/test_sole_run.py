"""Two runs do not work with one checkpoint at the same time; a run that is over, or dead, is in nobody's way."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_zk.spark.jobs import archive, transform
from kafka_zk.spark.jobs.outcome import JobError
from kafka_zk.spark.jobs.sole_run import LOCK, sole_run
from kafka_zk.spark.settings.declaration import Settings
from kafka_zk.spark.settings.jobs import JOBS

HOLDER = """
import sys
from pathlib import Path
from kafka_zk.spark.jobs.sole_run import sole_run
with sole_run(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_run_is_refused_and_told_who_is_at_work(tmp_path: Path) -> None:
    with sole_run(tmp_path / "state"):
        told = rf"another run is using .*/state \(process {os.getpid()} on "
        with pytest.raises(JobError, match=told), sole_run(tmp_path / "archive", tmp_path / "state"):
            raise AssertionError("two at once")
        # What it had taken before it was refused is free again.
        with sole_run(tmp_path / "archive"):
            pass


def test_a_run_that_is_over_is_in_nobodys_way(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), sole_run(tmp_path / "state"):
            raise ZeroDivisionError


def test_a_run_does_not_meet_its_own_lock(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "state")
    with sole_run(tmp_path / "state", None, tmp_path / "link", tmp_path / "." / "state"):
        assert (tmp_path / "state" / LOCK).exists()


def test_the_lock_of_a_killed_run_is_taken_over(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(JobError, match=rf"process {other.pid} on "), sole_run(tmp_path):
            raise AssertionError("two at once")
        other.kill()
        other.wait()
        with sole_run(tmp_path):
            assert (tmp_path / LOCK).read_text().startswith(f"process {os.getpid()} on ")


@pytest.mark.parametrize("name", ["ingest", "archive", "transform", "restore", "mirror"])
def test_no_job_looks_at_anything_while_another_run_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    job = import_module(f"kafka_zk.spark.jobs.{name}")
    monkeypatch.setattr(job, "FileStore", lambda _, path: SimpleNamespace(root=path, folder=Path(path)))
    needed = [group[0] for group in JOBS[name].needs_one_of]
    given = dict.fromkeys([*needed, *(each.name for each in JOBS[name].settings if each.required)], "x")
    settings = Settings(JOBS[name], {**given, "checkpoint": str(tmp_path / "state")})
    monkeypatch.chdir(tmp_path)
    with sole_run(tmp_path / "state"), pytest.raises(JobError, match=r"another run is using .*/state"):
        job.run(None, settings)


def test_a_directory_of_files_has_one_writer_whatever_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = {"topics": "t", "bootstrap-server": "b:1", "checkpoint": str(tmp_path / "new")}
    nothing: Any = None
    for job, own in ((archive, {"path": "files"}), (transform, {"to-path": "files", "sql": "SELECT 1"})):
        monkeypatch.setattr(job, "FileStore", lambda _, path: SimpleNamespace(root=path, folder=Path(path)))
        monkeypatch.chdir(tmp_path)
        settings = Settings(JOBS[job.__name__.rpartition(".")[2]], {**common, **own})
        with sole_run(tmp_path / "files"), pytest.raises(JobError, match=r"another run is using .*/files"):
            job.run(nothing, settings)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK])
def test_a_file_system_without_locks_hinders_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with sole_run(tmp_path / "state"), sole_run(tmp_path / "state"):
        assert (tmp_path / "state" / LOCK).exists()


def test_a_lock_that_cannot_be_asked_for_is_no_lock_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "flock", fail)
    named = "cannot lock .*state: Input/output error"
    with pytest.raises(JobError, match=named), sole_run(tmp_path / "state"):
        raise AssertionError("the disk is broken")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    named = "cannot write to .*file/state: Not a directory"
    with pytest.raises(JobError, match=named), sole_run(tmp_path / "file" / "state"):
        raise AssertionError("there is no folder")
