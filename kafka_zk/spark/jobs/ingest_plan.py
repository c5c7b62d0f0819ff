"""Which files an ingest sends next, given what its checkpoint holds.

Role        Pure.
Checkpoint  `N.batch`: the files of batch N, the topic's end offsets before it, and whether the marks of its records
            distinguish files, which earlier versions did not. `N.done`: how many rows it had.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka_zk.record.batch import BatchHeader
from kafka_zk.spark.jobs.outcome import JobError

BATCH, DONE = ".batch", ".done"


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """`ends` (partition -> end offset) is None for a batch that was never begun."""

    number: int
    files: tuple[str, ...]
    ends: Mapping[int, int] | None = None
    marks_files: bool = True

    def encode(self) -> str:
        assert self.ends is not None
        ends = {str(index): offset for index, offset in self.ends.items()}
        return json.dumps({"files": self.files, "ends": ends, "marks_files": self.marks_files})


def decode_batch(number: int, text: str) -> PlannedBatch:
    """Raises JobError."""
    try:
        content = json.loads(text)
        ends = {int(index): int(offset) for index, offset in content["ends"].items()}
        return PlannedBatch(number, tuple(content["files"]), ends, bool(content.get("marks_files")))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise JobError(f"cannot read {number}{BATCH} of the checkpoint") from None


def plan(noted: Mapping[str, str], there: Iterable[str], files_per_batch: int) -> list[PlannedBatch]:
    """Batches to send, in order: unfinished ones, then files without a batch, by name."""
    begun = sorted(
        (decode_batch(int(name.removesuffix(BATCH)), text) for name, text in noted.items() if name.endswith(BATCH)),
        key=lambda batch: batch.number,
    )
    known = {file for batch in begun for file in batch.files}
    fresh = sorted(set(there) - known)
    number = begun[-1].number + 1 if begun else 0
    again = [batch for batch in begun if f"{batch.number}{DONE}" not in noted]
    groups = [fresh[start : start + files_per_batch] for start in range(0, len(fresh), files_per_batch)]
    return [*again, *(PlannedBatch(number + index, tuple(group)) for index, group in enumerate(groups))]


def missing_offsets(headers: Iterable[BatchHeader], start: int, end: int) -> tuple[int, int] | None:
    """Of a log's batches from `start` to before `end` the first offsets that the cleaner took records from: (first, end
    exclusive). Of a batch that lost some, all of it."""
    position = start
    for header in headers:
        if header.base_offset > position:
            return position, header.base_offset
        if not header.is_control and 0 <= header.record_count <= header.last_offset - header.base_offset:
            return header.base_offset, header.next_offset
        position = header.next_offset
    return (position, end) if position < end else None
