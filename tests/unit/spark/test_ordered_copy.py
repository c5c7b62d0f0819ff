"""What a task of a copy sends, beside a target that answers from a list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow
import pytest

from kafka_zk.client.producer import kafka_producer
from kafka_zk.client.producer.futures import RecordMetadata
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs import ordered_copy
from kafka_zk.spark.jobs.copy_plan import Resume
from kafka_zk.spark.jobs.ordered_copy import OTHERS_WRITE, OrderedWriter, copy_batch
from kafka_zk.spark.jobs.outcome import JobError

SOURCE, TARGET = TopicPartition("t", 0), TopicPartition("u", 0)


class Target:
    """A partition's values, and the producer that appends to it."""

    def __init__(self, *values: bytes) -> None:
        self.values = list(values)

    def __call__(self, properties: Mapping[str, object]) -> Target:
        return self

    def send(self, topic: str, *, value: bytes, **_: object) -> Any:
        self.values.append(value)
        return _Done(len(self.values) - 1)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class _Done:
    def __init__(self, offset: int) -> None:
        self._offset = offset

    def result(self) -> RecordMetadata:
        return RecordMetadata(*TARGET, self._offset, 0, 0, 0)


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Target:
    made = Target()
    monkeypatch.setattr(kafka_producer, "KafkaProducer", made)
    monkeypatch.setattr(ordered_copy, "end_offsets", lambda _, places: dict.fromkeys(places, len(made.values)))
    return made


def rows(values: Iterable[bytes]) -> pyarrow.RecordBatch:
    records = [
        {"topic": "t", "partition": 0, "offset": int(value), "key": None, "value": value, "headers": None}
        for value in values
    ]
    batch = pyarrow.RecordBatch.from_pylist(records)
    return batch.append_column("timestamp", pyarrow.array([0] * len(records), pyarrow.timestamp("us", "UTC")))


def copy(at: Resume, *batches: Iterable[bytes]) -> list[tuple[int, int, int]]:
    writer = OrderedWriter({}, {SOURCE: ("u", at)})
    made = [each for batch in writer(iter([rows(values) for values in batches])) for each in batch.to_pylist()]
    return [(each["source_offset"], each["target_offset"], each["record_count"]) for each in made]


def test_a_copy_goes_on_behind_what_is_there(target: Target) -> None:
    target.values[:] = [b"x", b"0", b"1", b"2"]
    assert copy(Resume(1, 3), [b"0", b"1"], [b"2", b"4"], [b"5"]) == [(0, 1, 2), (2, 3, 1), (4, 4, 1), (5, 5, 1)]
    assert target.values == [b"x", b"0", b"1", b"2", b"4", b"5"]


def test_a_task_that_is_tried_again_sends_nothing_twice(target: Target) -> None:
    planned = Resume(0, 0)
    copy(planned, [b"0", b"1"])  # Then it was killed.
    with pytest.raises(JobError, match="u-0 ends at offset 2, not 0 as when this copy was planned"):
        copy(planned, [b"0", b"1"], [b"2"])
    assert target.values == [b"0", b"1"]


def test_another_writer_is_noticed(target: Target) -> None:
    class Disturbed(list[bytes]):
        def append(self, value: bytes) -> None:
            super().append(b"other")
            super().append(value)

    target.values = Disturbed()
    with pytest.raises(JobError, match="u-0 at offset 1, not 0: somebody else writes to this topic"):
        copy(Resume(0, 0), [b"0"])


class State(dict[str, str]):
    """Stands where FileStore stands."""

    read = dict.get
    write = dict.__setitem__


class Frame:
    """Stands where the records stand; the tasks that copy them fail."""

    def __init__(self, failure: str) -> None:
        self.failure = failure

    def __getattr__(self, _: str) -> Any:
        return lambda *_: self

    def collect(self) -> None:
        raise RuntimeError(f"Job aborted\nJobError: {self.failure}\n\tat java")


def begin(state: State, failure: str) -> None:
    frame: Any = Frame(failure)
    store: Any = state
    copy_batch(frame, state=store, name="restore", target={}, rename={"t": "u"}, partitions=[SOURCE])


def test_a_copy_that_another_writer_spoiled_does_not_go_on(target: Target) -> None:
    state = State()
    spoiled = f"a record of this copy came to u-0 at offset 1, not 0: {OTHERS_WRITE}"
    with pytest.raises(RuntimeError):
        begin(state, "the broker is gone")
    for failure in (spoiled, "the broker is gone"):
        with pytest.raises((RuntimeError, JobError), match=OTHERS_WRITE):
            begin(state, failure)
    assert state["restore.spoiled"] == spoiled
