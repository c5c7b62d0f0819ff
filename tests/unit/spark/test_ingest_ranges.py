"""Where an ingest that was cut off looks for what it left in the topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_zk.client.errors import TimeoutException
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs import ingest
from kafka_zk.spark.jobs.ingest_plan import BATCH as BEGUN
from kafka_zk.spark.jobs.ingest_plan import PlannedBatch
from kafka_zk.spark.jobs.outcome import JobError
from kafka_zk.spark.settings.declaration import Settings
from kafka_zk.spark.settings.jobs import INGEST
from tests.unit.spark.copied_topic import State

BATCH = PlannedBatch(0, ("a.csv",), {0: 5, 1: 7})


class Leaders:
    """Stands where SequencedWriter stands; a partition without a number stays undecided."""

    def __init__(self, ends: Mapping[int, int | None]) -> None:
        self.ends = ends

    def __call__(self, _: object) -> Leaders:
        return self

    def __enter__(self) -> Leaders:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def decided_end(self, partition: TopicPartition) -> int:
        end = self.ends[partition.partition]
        if end is None:
            raise TimeoutException("Offsets 5 to 8 are not replicated")
        return end


def ranges(monkeypatch: pytest.MonkeyPatch, ends: Mapping[int, int | None]) -> tuple[dict[int, int], dict[int, int]]:
    monkeypatch.setattr(ingest, "SequencedWriter", Leaders(ends))
    monkeypatch.setattr(ingest, "partition_counts", lambda *_, **__: {"t": len(ends)})
    return ingest.sent_ranges({}, "t", BATCH)


def test_it_reads_up_to_where_everything_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ranges(monkeypatch, {0: 9, 1: 7}) == ({0: 5, 1: 7}, {0: 9, 1: 7})


def test_partitions_that_the_topic_got_since_are_read_from_their_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ranges(monkeypatch, {0: 9, 1: 7, 2: 4}) == ({0: 5, 1: 7, 2: 0}, {0: 9, 1: 7, 2: 4})


def test_nothing_is_sent_while_it_is_undecided_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(JobError, match="could not check yet what an interrupted run left in topic t: Offsets 5 to 8"):
        ranges(monkeypatch, {0: None, 1: 7})


def test_a_topic_that_was_made_anew_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ids, state = {"t": "1"}, State()
    monkeypatch.setattr(ingest, "topic_ids", lambda *_: ids)
    store: object = state
    for _ in range(2):
        ingest._check_topic(store, {}, "t")  # type: ignore[arg-type]
    ids["t"] = "2"
    with pytest.raises(JobError, match="topic t of this ingest was deleted and created again"):
        ingest._check_topic(store, {}, "t")  # type: ignore[arg-type]


def test_a_batch_that_went_to_two_topics_of_one_name_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    ids, state = {"t": "1"}, State()

    def send(*_: object) -> int:
        ids["t"] = "2"
        return 3

    monkeypatch.setattr(ingest, "topic_ids", lambda *_: ids)
    monkeypatch.setattr(ingest, "topic_ends", lambda *_: {TopicPartition("t", 0): 5})
    monkeypatch.setattr(ingest, "ensure_topics", lambda *_: None)
    monkeypatch.setattr(ingest, "FileStore", lambda *_: state)
    monkeypatch.setattr(ingest, "_files", lambda *_: {"a.csv": 5})
    monkeypatch.setattr(ingest, "_rows", lambda *_: None)
    monkeypatch.setattr(ingest, "_send", send)
    session: Any = None
    settings = Settings(INGEST, {"topic": "t", "path": ["."], "checkpoint": "c", "bootstrap-server": "b:1"})
    with pytest.raises(JobError, match="topic t of this ingest was deleted and created again"):
        ingest.run(session, settings)
    assert set(state) == {"ingest.json", "topic-id", f"0{BEGUN}"}
