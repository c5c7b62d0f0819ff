"""What an archive deletes as left over, and what it leaves alone, in a directory on the local disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_zk.spark.jobs.archive import refuse_others_files, sweep
from kafka_zk.spark.jobs.outcome import JobError
from tests.unit.spark.local_store import LocalStore


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    """With a file of a killed task and a checkpoint that somebody put beside the data."""
    for name in ("topic=t/part-00000-a.parquet", "state/offsets/0"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    return LocalStore(tmp_path)


def log(store: LocalStore, folder: str = "_spark_metadata") -> None:
    (store.root / folder).mkdir()
    (store.root / folder / "0").write_text("v1\n")


def test_a_file_of_a_killed_task_goes_and_a_checkpoint_stays(store: LocalStore) -> None:
    log(store)
    refuse_others_files(store)
    assert sweep(store) == 1
    assert [Path(path).name for path in store.data_files()] == ["0"]


def test_nothing_is_deleted_where_spark_keeps_no_log(store: LocalStore) -> None:
    assert sweep(store) == 0
    assert len(list(store.data_files())) == 2


def test_a_directory_with_files_of_others_is_refused(store: LocalStore) -> None:
    with pytest.raises(JobError, match=r"contains files that this job did not write, such as .*part-00000-a\.parquet"):
        refuse_others_files(store)


def test_a_table_with_a_log_of_its_own_is_left_to_it(store: LocalStore) -> None:
    log(store, "_delta_log")
    refuse_others_files(store)
    assert sweep(store) == 0
