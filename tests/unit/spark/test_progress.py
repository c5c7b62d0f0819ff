"""What a running job shows, and the offsets in its reports."""

from __future__ import annotations

import io

from kafka_zk.spark.jobs.progress import Progress, end_offsets


def test_batches_add_up():
    output, progress = io.StringIO(), Progress("archive")
    progress.note(0, 1000, 0.0)
    progress.show(output)
    progress.note(1, 500, 250.4)
    progress.show(output)
    progress.end(output)
    assert output.getvalue().splitlines() == [
        "archive: batch 0: 1,000 records; 1,000 so far",
        "archive: batch 1: 500 records, 250 records/s; 1,500 so far",
    ]


def test_end_offsets_are_read_as_objects_and_as_texts():
    report = {"sources": [{"endOffset": {"a": {"0": 5}}}, {"endOffset": '{"a": {"1": 6}, "b": {"0": 7}}'}]}
    assert end_offsets(report) == {"a": {"0": 5, "1": 6}, "b": {"0": 7}}


def test_ids_of_topics_are_no_offsets():
    assert end_offsets({"sources": [{"endOffset": {"a": {"0": 5}, "@ids": {"a": "AAAA"}}}]}) == {"a": {"0": 5}}


def test_offsets_of_other_sources_are_passed_over():
    assert end_offsets({"sources": [{"endOffset": None}, {"endOffset": "3"}, {"endOffset": "x"}, {}]}) == {}
