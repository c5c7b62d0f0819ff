"""An ingest whose path contains its checkpoint would send its own notes, more of them in each run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_zk.spark.jobs import ingest
from kafka_zk.spark.jobs.file_store import FileStore, is_read_with
from kafka_zk.spark.jobs.outcome import JobError
from kafka_zk.spark.settings.declaration import Settings
from kafka_zk.spark.settings.jobs import INGEST

NOTHING: Any = None


@pytest.mark.parametrize("place", ["/d/files", "/d/files/state", "/d/files/jobs/state"])
def test_what_is_below_a_path_is_read(place: str) -> None:
    assert is_read_with("/d/files", place) and is_read_with("/d/files/", place) and is_read_with("/", place)
    assert is_read_with("hdfs://h/d/files", f"hdfs://h{place}")


@pytest.mark.parametrize("place", ["/d/files/_state", "/d/files/.jobs/state", "/d/files2", "/d", "/d/state"])
def test_what_is_beside_it_or_hidden_is_not_read(place: str) -> None:
    assert not is_read_with("/d/files", place)


@pytest.mark.parametrize("checkpoint", ["files/state", "files", "link/state"])
def test_no_ingest_sends_what_it_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkpoint: str) -> None:
    def store(_: object, path: str) -> Any:
        made = SimpleNamespace(root=path, folder=Path(path))
        made._whole_name = lambda: FileStore._whole_name(made)  # type: ignore[arg-type]
        made.reads_from = lambda other: FileStore.reads_from(made, other)  # type: ignore[arg-type]
        return made

    monkeypatch.chdir(tmp_path)
    Path("files").mkdir()
    Path("link").symlink_to("files")
    monkeypatch.setattr(ingest, "FileStore", store)
    given = {"bootstrap-server": "b:1", "topic": "t", "path": ["other", "files"], "checkpoint": checkpoint}
    with pytest.raises(JobError, match=f"the checkpoint {checkpoint} is inside files, so its own files would be sent"):
        ingest.run(NOTHING, Settings(INGEST, given))
