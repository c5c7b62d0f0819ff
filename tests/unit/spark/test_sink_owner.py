"""Which checkpoints may go on at which directory: those whose batches Spark's sink would neither drop nor leave out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from kafka_zk.spark.jobs import sink_owner
from kafka_zk.spark.jobs.file_store import FileStore
from kafka_zk.spark.jobs.outcome import JobError
from tests.unit.spark.local_store import LocalStore


def claim(files: LocalStore, checkpoint: LocalStore) -> None:
    sink_owner.claim(cast(FileStore, files), cast(FileStore, checkpoint))


def run(files: LocalStore, checkpoint: LocalStore, *batches: int, done: bool = True) -> None:
    """What a query leaves: the offsets of a batch, its files in the sink's log, and that it is done."""
    for batch in batches:
        checkpoint.write(f"offsets/{batch}", "v1")
        files.write(f"_spark_metadata/{batch}", "v1")
        if done:
            checkpoint.write(f"commits/{batch}", "v1")


@pytest.fixture
def files(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "archive")


@pytest.fixture
def checkpoint(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "state")


@pytest.fixture
def other(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "other")


def test_the_checkpoint_that_began_goes_on(files: LocalStore, checkpoint: LocalStore) -> None:
    claim(files, checkpoint)
    assert files.read("_query.json") == checkpoint.read("metadata")
    run(files, checkpoint, 0, 1)
    claim(files, checkpoint)
    run(files, checkpoint, 2, done=False)
    claim(files, checkpoint)
    checkpoint.write("offsets/3", "v1")
    claim(files, checkpoint)


@pytest.mark.parametrize("begun", [(), (0,), (0, 1, 2, 3)])
def test_another_checkpoint_is_refused_however_far_it_is(
    files: LocalStore, checkpoint: LocalStore, other: LocalStore, begun: tuple[int, ...]
) -> None:
    claim(files, checkpoint)
    run(files, checkpoint, 0, 1, 2)
    for batch in begun:
        other.write(f"offsets/{batch}", "v1")
    other.write("metadata", json.dumps({"id": "another"}))
    with pytest.raises(JobError, match=r"archive was written with a checkpoint other than .*other"):
        claim(files, other)
    claim(files, checkpoint)


def test_a_checkpoint_without_its_last_batches_is_refused(files: LocalStore, checkpoint: LocalStore) -> None:
    claim(files, checkpoint)
    run(files, checkpoint, 0, 1, 2)
    (checkpoint.root / "offsets" / "2").unlink()
    (checkpoint.root / "commits" / "2").unlink()
    with pytest.raises(JobError, match="Spark would drop the batches"):
        claim(files, checkpoint)


def test_a_checkpoint_that_wrote_somewhere_else_is_refused(
    files: LocalStore, checkpoint: LocalStore, other: LocalStore
) -> None:
    run(other, checkpoint, 0, 1)
    with pytest.raises(JobError, match=r"has completed 2 batches, but .*archive lacks the last"):
        claim(files, checkpoint)


def test_files_without_a_note_are_those_of_a_checkpoint_that_is_as_far(
    files: LocalStore, checkpoint: LocalStore, other: LocalStore
) -> None:
    checkpoint.write("metadata", json.dumps({"id": "of-spark"}))
    run(files, checkpoint, 0, 1)
    files.write("_spark_metadata/9.compact", "v1")
    with pytest.raises(JobError):
        claim(files, other)
    for batch in range(2, 10):
        run(files, checkpoint, batch)
    claim(files, checkpoint)
    assert files.read("_query.json") == '{"id": "of-spark"}'


def test_a_note_without_any_files_binds_nobody(files: LocalStore, checkpoint: LocalStore, other: LocalStore) -> None:
    claim(files, checkpoint)
    claim(files, other)
    assert files.read("_query.json") == other.read("metadata")
