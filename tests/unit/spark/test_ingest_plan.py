"""Which files an ingest sends: once each, in batches, a broken-off batch first."""

from __future__ import annotations

import pytest

from kafka_zk.record.batch import BatchHeader
from kafka_zk.spark.jobs.ingest_plan import PlannedBatch, missing_offsets, plan
from kafka_zk.spark.jobs.outcome import JobError


def noted(number: int, *files: str) -> dict[str, str]:
    return {f"{number}.batch": PlannedBatch(number, files, {0: 7}).encode()}


def test_files_go_in_batches_by_name():
    assert plan({}, ["c", "a", "b"], 2) == [PlannedBatch(0, ("a", "b")), PlannedBatch(1, ("c",))]


def test_what_is_done_is_not_sent_again():
    assert plan({**noted(0, "a", "b"), "0.done": "9"}, ["a", "b"], 2) == []


def test_a_broken_off_batch_comes_first_with_its_own_files_and_its_ends():
    checkpoint = {**noted(0, "a"), "0.done": "1", **noted(1, "b"), "ingest.json": "{}"}
    assert plan(checkpoint, ["a", "b", "c"], 5) == [PlannedBatch(1, ("b",), {0: 7}), PlannedBatch(2, ("c",))]


def test_a_file_of_a_broken_off_batch_is_not_sent_with_others_too():
    assert plan(noted(0, "a", "b"), ["b", "a"], 1) == [PlannedBatch(0, ("a", "b"), {0: 7})]


def test_a_batch_of_an_earlier_version_does_not_tell_its_files_apart():
    (batch,) = plan({"0.batch": '{"files": ["a"], "ends": {"0": 7}}'}, [], 1)
    assert batch == PlannedBatch(0, ("a",), {0: 7}, marks_files=False)
    (batch,) = plan(noted(0, "a"), [], 1)
    assert batch.marks_files


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"files": [], "ends": {"x": 1}}'])
def test_a_note_that_cannot_be_read_is_named(text: str):
    with pytest.raises(JobError, match=r"cannot read 0\.batch"):
        plan({"0.batch": text}, [], 1)


def batch(base: int, offsets: int, records: int, attributes: int = 0) -> BatchHeader:
    return BatchHeader(base, 0, 0, 2, 0, attributes, offsets - 1, 0, 0, -1, -1, -1, records)


def test_what_the_cleaner_took_is_missing():
    whole = [batch(5, 3, 3), batch(8, 2, 2)]
    assert missing_offsets(whole, 5, 10) is None
    assert missing_offsets(whole, 3, 10) == (3, 5)
    assert missing_offsets(whole, 5, 12) == (10, 12)
    assert missing_offsets([batch(5, 3, 3), batch(9, 1, 1)], 5, 10) == (8, 9)
    assert missing_offsets([batch(5, 3, 2), batch(8, 2, 2)], 5, 10) == (5, 8)
    control = 1 << 5
    assert missing_offsets([batch(5, 1, 0, control), batch(6, 1, 1)], 5, 7) is None
