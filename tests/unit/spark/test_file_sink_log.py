"""Spark's log of committed files: what it says is there."""

from __future__ import annotations

import json

import pytest

from kafka_zk.spark.jobs.file_sink_log import UnknownSinkLogError, committed_paths, files_to_read, left_over, plain_path


def log(*entries: tuple[str, str]) -> str:
    return "\n".join(["v1", *(json.dumps({"path": path, "action": action}) for path, action in entries)])


def test_the_last_compact_file_stands_for_all_before_it():
    names = ["10", "8", "9.compact", "9", "0", ".10.crc", "notes"]
    assert files_to_read(names) == ["9.compact", "10"]


def test_batches_are_read_as_numbers_not_as_texts():
    assert files_to_read(["10", "9", "2"]) == ["2", "9", "10"]


def test_what_was_added_and_not_deleted_is_there():
    contents = {"0": log(("file:///a/1", "add"), ("file:/a/2", "add")), "1": log(("file:///a/1", "delete"))}
    assert committed_paths(contents) == {"/a/2"}


def test_nothing_is_committed_without_a_log():
    assert committed_paths({}) == set()


def test_an_unknown_version_is_refused_before_anything_is_called_left_over():
    with pytest.raises(UnknownSinkLogError, match="v2"):
        committed_paths({"0": "v2\n"})


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/date=2013-01-01/x.parquet", "/a/date=2013-01-01/x.parquet"),
        ("file:///a/with%20space/x", "/a/with space/x"),
        ("hdfs://host:8020/a/x", "/a/x"),
        ("/a/x%20y", "/a/x%20y"),
    ],
)
def test_paths_are_compared_without_scheme_and_escapes(uri: str, path: str):
    assert plain_path(uri) == path


def test_only_files_that_a_task_named_and_no_batch_has_are_left_over():
    files = ["/a/t/part-0-x.parquet", "/a/t/part-1-y.parquet", "/a/state/offsets/0", "/a/notes.parquet"]
    assert left_over(files, {"/a/t/part-0-x.parquet"}) == ["/a/t/part-1-y.parquet"]


def test_a_directory_that_was_moved_keeps_its_files():
    assert left_over(["/new/t/part-0-x.parquet"], {"/old/t/part-0-x.parquet"}) == []
