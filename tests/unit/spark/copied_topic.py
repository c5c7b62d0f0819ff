"""A source, a target and a checkpoint for copies, without Spark and without a broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from kafka_zk.client.range_reading.errors import OffsetsLost
from kafka_zk.client.range_writing.arrivals import Arrivals, ProducerIdentity, arrivals
from kafka_zk.client.range_writing.sequenced_writer import Overtaken
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import Record, build_batch
from kafka_zk.record.batch import BatchHeader, batches
from kafka_zk.spark.jobs import ordered_copy

SOURCE, TARGET = TopicPartition("t", 0), TopicPartition("u", 0)


class Killed(BaseException):
    """The driver or a worker ends here."""


class State(dict[str, str]):
    """Stands where FileStore stands: a file is there whole or not at all."""

    on_write: Callable[[], None] = staticmethod(lambda: None)
    folder: Path | None = None

    def read(self, name: str) -> str | None:
        return self.get(name)

    def write(self, name: str, text: str) -> None:
        self.on_write()
        assert name not in self, "a note was written over"
        self[name] = text
        self.on_write()

    def reads_from(self, _: object) -> bool:
        return False

    def names(self) -> list[str]:
        return sorted(self)

    def texts(self) -> dict[str, str]:
        return dict(self)


class Target:
    """A partition of a leader that checks sequences; stands where SequencedWriter stands."""

    batch_bytes = 200
    topic_id = "1"

    def __init__(self) -> None:
        self.log: list[tuple[BatchHeader, list[bytes | None]]] = []
        self.start = 0
        self.end = 0
        self.sequences: dict[int, tuple[int, int]] = {}
        self.behinds: list[tuple[int, int]] = []
        """Of each append: behind which offset it would be looked for, and where the log ended."""
        self.identities = 0
        self.before_identity: Callable[[], None] = lambda: None
        self.before_append: Callable[[], None] = lambda: None
        self.after_append: Callable[[], None] = lambda: None

    def __call__(self, properties: object) -> Target:
        return self

    def __enter__(self) -> Target:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def values(self) -> list[bytes | None]:
        return [value for _, values in self.log for value in values]

    def add(self, values: Sequence[bytes | None], identity: ProducerIdentity | None = None, sequence: int = -1) -> int:
        records = [Record(index, -1, None, value) for index, value in enumerate(values)]
        placed = [record._replace(offset=self.end + record.offset) for record in records]
        producer_id, epoch = identity or (-1, -1)
        data = build_batch(
            placed, base_offset=self.end, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
        )
        (batch,) = batches(memoryview(data))
        self.log.append((batch.header, list(values)))
        first, self.end = self.end, self.end + len(values)
        return first

    @property
    def places(self) -> dict[int, bytes | None]:
        """Offset -> value, of what is there."""
        return {head.base_offset + n: value for head, values in self.log for n, value in enumerate(values)}

    def clean(self, superseded: set[int]) -> None:
        """All producers have expired, and the cleaner removes the batches that begin at these offsets."""
        self.sequences.clear()
        self.log = [(head, values) for head, values in self.log if head.base_offset not in superseded]

    def make_anew(self) -> None:
        """The topic is deleted, and another one made under its name."""
        self.topic_id += "1"
        self.log.clear()
        self.sequences.clear()
        self.start = self.end = 0

    def new_identity(self) -> ProducerIdentity:
        self.before_identity()
        self.identities += 1
        return ProducerIdentity(self.identities, 0)

    def decided_end(self, partition: TopicPartition) -> int:
        return self.end

    def arrived(self, partition: TopicPartition, start: int, end: int, identity: ProducerIdentity) -> Arrivals:
        if start < self.start:
            raise OffsetsLost(partition, start, end, self.start)
        heads = (head for head, _ in self.log if start <= head.base_offset < end)
        return arrivals(heads, identity, start=start, end=end)

    def append(
        self,
        partition: TopicPartition,
        identity: ProducerIdentity,
        sequence: int,
        records: Sequence[Record],
        *,
        behind: int,
    ) -> list[tuple[int, int]]:
        self.before_append()
        self.behinds.append((behind, self.end))
        # Of a producer that it knows nothing of a leader takes any sequence.
        epoch, following = self.sequences.get(identity.producer_id, (identity.epoch, sequence))
        if epoch > identity.epoch or sequence != (following if epoch == identity.epoch else 0):
            raise Overtaken(f"sequence {sequence} where {following} follows")
        self.sequences[identity.producer_id] = (identity.epoch, sequence + len(records))
        offset = self.add([record.value for record in records], identity, sequence)
        self.after_append()
        return [(offset, len(records))]


class Frame:
    """Stands where a DataFrame of the source's records stands: what is done with it is done at once, in one task."""

    def __init__(self, offsets: Sequence[int], batch_rows: int = 4, tries: int = 1) -> None:
        self.offsets = sorted(offsets)
        self.batch_rows = batch_rows
        self.tries = tries

    def select(self, *_: str) -> Frame:
        return self

    repartition = sortWithinPartitions = select

    def mapInArrow(self, function: Any, _: str) -> Any:
        frame = self

        class Rows:
            def collect(self) -> list[tuple[Any, ...]]:
                for left in reversed(range(frame.tries)):
                    try:
                        found = [row for batch in function(frame.batches()) for row in batch.to_pylist()]
                        return [tuple(row.values()) for row in found]
                    except Killed:
                        if not left:
                            raise
                raise AssertionError("the last try returns or raises")

        return Rows()

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        for start in range(0, len(self.offsets), self.batch_rows):
            rows = [
                {"topic": "t", "partition": 0, "offset": at, "key": None, "value": b"%d" % at, "headers": None}
                for at in self.offsets[start : start + self.batch_rows]
            ]
            batch = pyarrow.RecordBatch.from_pylist(rows)
            times = pyarrow.array([-1000] * len(rows), pyarrow.timestamp("us", "UTC"))
            yield batch.append_column("timestamp", times)


def copied(state: State, frame: Frame, to: str = "u") -> list[tuple[str, int, int, int, int]]:
    given: Any = frame
    store: Any = state
    return ordered_copy.copy_batch(given, state=store, name="b", target={}, rename={"t": to}, partitions=[SOURCE])


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Target:
    made = Target()
    stand_in(monkeypatch, made)
    return made


def stand_in(monkeypatch: pytest.MonkeyPatch, target: Target) -> None:
    monkeypatch.setattr(ordered_copy, "SequencedWriter", target)
    monkeypatch.setattr(ordered_copy, "topic_ids", lambda _, names: dict.fromkeys(names, target.topic_id))
