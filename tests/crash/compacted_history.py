"""What a compacted log was told, record by record, and what of it may be missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.record.batch import Batch
from kafka_zk.record.record import decode_records
from tests.crash.history import History, Told


class Content(NamedTuple):
    """What a reader sees of a record; without a value it is a tombstone."""

    key: bytes | None
    value: bytes | None


class Verdict(NamedTuple):
    """How the transaction of a record ended, and where that is said."""

    kind: str
    marker_offset: int


@dataclass(slots=True)
class CompactedHistory(History):
    """`batches` are all that were ever there and are not truncated or lost, the cleaned ones as they were."""

    contents: dict[int, list[Content]] = field(default_factory=dict)
    """By the crc of the batch as it was told."""

    def note(self, batch: Batch, told: Told) -> None:
        self.contents[told.crc] = [Content(each.key, each.value) for each in decode_records(batch)]

    def records(self, timeline: list[Told]) -> dict[int, Content]:
        """Every record by its offset, markers left out."""
        return {
            batch.base_offset + index: content
            for batch in timeline
            if not batch.marker
            for index, content in enumerate(self.contents[batch.crc])
        }

    def adopt_told(self, timeline: list[Told], log: UnifiedLog, *, is_decided: bool) -> None:
        """This is what there is now, the cleaned batches as they were told; see `adopt`."""
        self.others = [] if is_decided else [*self.others, self.batches][-8:]
        self.batches = timeline
        self.start, self.end = log.log_start_offset, log.log_end_offset
        self.high_watermark_ceiling = max(log.high_watermark, self.checkpointed_high_watermark)


def verdicts(timeline: list[Told]) -> dict[int, Verdict]:
    """By the offset of a transactional record: how its transaction ended. Open ones are left out."""
    open_offsets: dict[int, list[int]] = {}
    found: dict[int, Verdict] = {}
    for batch in timeline:
        if batch.marker:
            for offset in open_offsets.pop(batch.producer_id, []):
                found[offset] = Verdict(batch.marker, batch.base_offset)
        elif batch.is_transactional:
            open_offsets.setdefault(batch.producer_id, []).extend(batch.offsets)
    return found
