"""What a log was told, kept apart from it: the batches of each timeline, and what must or may be left of them.

A truncation begins a new timeline. Until that is on the disk a crash may bring back the old one, but never a mixture.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Told(NamedTuple):
    """A batch by what its reader sees. The crc covers all but the offset and the epoch."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int
    max_timestamp: int
    producer_id: int = -1
    producer_epoch: int = -1
    last_sequence: int = -1
    is_transactional: bool = False
    marker: str = ""
    """"commit" or "abort" for the end of a transaction."""

    @property
    def offsets(self) -> range:
        return range(self.base_offset, self.last_offset + 1)


class Aborted(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int


@dataclass(slots=True)
class Producer:
    epoch: int = -1
    last_sequence: int = -1
    open_from: int = -1


@dataclass(slots=True)
class Producers:
    """The replay of a timeline: independent of the broker's own."""

    known: dict[int, Producer] = field(default_factory=dict)
    aborted: list[Aborted] = field(default_factory=list)

    @classmethod
    def of(cls, batches: list[Told]) -> Producers:
        replay = cls()
        for batch in batches:
            replay.follow(batch)
        return replay

    def follow(self, batch: Told) -> None:
        if batch.producer_id < 0:
            return
        producer = self.known.setdefault(batch.producer_id, Producer())
        if producer.epoch != batch.producer_epoch:
            producer.epoch, producer.last_sequence = batch.producer_epoch, -1
        if batch.marker:
            if batch.marker == "abort" and producer.open_from >= 0:
                self.aborted.append(Aborted(batch.producer_id, producer.open_from, batch.last_offset))
            producer.open_from = -1
            return
        producer.last_sequence = batch.last_sequence
        if batch.is_transactional and producer.open_from < 0:
            producer.open_from = batch.base_offset

    @property
    def first_open(self) -> int | None:
        return min((each.open_from for each in self.known.values() if each.open_from >= 0), default=None)


@dataclass(slots=True)
class History:
    """`batches` is the timeline that counts, deleted records included; `end` its log end offset."""

    batches: list[Told] = field(default_factory=list)
    others: list[list[Told]] = field(default_factory=list)
    start: int = 0
    end: int = 0
    high_watermark_ceiling: int = 0
    """The largest one since the checkpoint was written, or what the checkpoint says."""
    checkpointed_high_watermark: int = 0

    def append(self, batch: Told) -> None:
        self.batches.append(batch)
        self.end = batch.last_offset + 1

    def truncate_to(self, offset: int) -> None:
        self.others.append(list(self.batches))
        while self.batches and self.batches[-1].last_offset >= offset:
            self.batches.pop()
        self.end, self.start = offset, min(self.start, offset)

    def restart_at(self, offset: int) -> None:
        self.others.append(list(self.batches))
        self.batches = []
        self.start = self.end = offset

    def adopt(self, batches: list[Told], *, start: int, end: int, high_watermark: int, is_decided: bool) -> None:
        """This is what there is now. Deleted batches before `batches` stay known to the replay.

        Unless the disk has decided (lost power), what was truncated before may still come back.
        """
        first = batches[0].base_offset if batches else end
        timeline = next((each for each in [self.batches, *self.others] if _continues(each, batches)), [])
        self.batches = [each for each in timeline if each.last_offset < first] + batches
        if is_decided:
            self.others.clear()
        else:
            self.others = [*self.others, timeline][-8:]
        self.start, self.end = start, end
        self.high_watermark_ceiling = max(high_watermark, self.checkpointed_high_watermark)


def _continues(timeline: list[Told], batches: list[Told]) -> bool:
    if not batches:
        return True
    return batches[0] in timeline
