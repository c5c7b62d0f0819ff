"""Do the replicas of a partition hold the same batches?

Role        Pure.
Rule        Between the highest log start and the lowest end of all replicas each batch must be in every replica, with
            the same offsets and the same CRC. The CRC does not cover base offset and leader epoch, which come apart
            from it. Compaction leaves other batches in each replica until all have been cleaned alike, so there a
            difference is no error.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class BatchDigest(NamedTuple):
    """One batch of one replica; offsets are inclusive."""

    base_offset: int
    last_offset: int
    crc: int
    leader_epoch: int


class Difference(NamedTuple):
    """Where replicas differ: `kind` is replicas-differ, batch-missing or leader-epochs-differ."""

    kind: str
    first_offset: int
    last_offset: int
    what: str


def compare(replicas: Mapping[str, Sequence[BatchDigest]]) -> list[Difference]:
    """In the order of the offsets. A replica without batches says nothing, nor does one that stands alone."""
    held = {name: batches for name, batches in sorted(replicas.items()) if batches}
    if len(held) < 2:
        return []
    start = max(batches[0].base_offset for batches in held.values())
    end = min(batches[-1].last_offset for batches in held.values())
    by_offset: dict[int, dict[str, BatchDigest]] = defaultdict(dict)
    for name, batches in held.items():
        for batch in batches:
            if batch.base_offset >= start and batch.last_offset <= end:
                by_offset[batch.base_offset][name] = batch
    return [
        difference
        for _, found in sorted(by_offset.items())
        if (difference := _difference(found, list(held))) is not None
    ]


def _difference(found: Mapping[str, BatchDigest], replicas: Sequence[str]) -> Difference | None:
    first = next(iter(found.values()))
    missing = [name for name in replicas if name not in found]
    if missing:
        return _told("batch-missing", found.values(), f"in {', '.join(found)}, not in {', '.join(missing)}")
    if len({(batch.last_offset, batch.crc) for batch in found.values()}) > 1:
        each = ", ".join(f"{name}: to {batch.last_offset} crc {batch.crc:08x}" for name, batch in found.items())
        return _told("replicas-differ", found.values(), each)
    if len({batch.leader_epoch for batch in found.values()}) > 1:
        each = ", ".join(f"{name}: {batch.leader_epoch}" for name, batch in found.items())
        return Difference("leader-epochs-differ", first.base_offset, first.last_offset, each)
    return None


def _told(kind: str, batches: Iterable[BatchDigest], what: str) -> Difference:
    held = list(batches)
    return Difference(kind, held[0].base_offset, max(batch.last_offset for batch in held), what)
