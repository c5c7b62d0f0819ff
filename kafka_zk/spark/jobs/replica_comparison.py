"""Do the replicas of a partition hold the same batches?

Role        Pure.
Rule        Each batch must be in every replica whose log reaches over it, with the same offsets and the same CRC: what
            one replica does not reach, because it starts later or lags behind, the others are still compared in.
            The CRC does not cover base offset and leader epoch, which come apart from it. Compaction leaves other
            batches in each replica until all have been cleaned alike, so there a difference is no error.
            A replica that ends below a high watermark that one of them knows lacks committed records.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

UNKNOWN = -1


class BatchDigest(NamedTuple):
    """One batch of one replica; offsets are inclusive."""

    base_offset: int
    last_offset: int
    crc: int
    leader_epoch: int


class Replica(NamedTuple):
    """One replica's log: from `start_offset` to before `end_offset`, which are equal for an empty one.

    `committed` is the high watermark that is known with it, UNKNOWN where none is.
    """

    start_offset: int
    end_offset: int
    batches: Sequence[BatchDigest]
    committed: int = UNKNOWN


class Difference(NamedTuple):
    """Where replicas differ, inclusive; `kind` is replica-behind, replica-shorter (what is committed is unknown),
    replicas-differ, batch-missing or leader-epochs-differ."""

    kind: str
    first_offset: int
    last_offset: int
    what: str


def compare(replicas: Mapping[str, Replica]) -> list[Difference]:
    """Replicas that lack an end first, then in the order of the offsets. A single replica has no differences."""
    if len(replicas) < 2:
        return []
    by_offset: dict[int, dict[str, BatchDigest]] = defaultdict(dict)
    for name, replica in sorted(replicas.items()):
        for batch in replica.batches:
            by_offset[batch.base_offset][name] = batch
    return _behind(replicas) + [
        difference
        for _, found in sorted(by_offset.items())
        if (difference := _difference(found, _reaching(replicas, found))) is not None
    ]


def _behind(replicas: Mapping[str, Replica]) -> list[Difference]:
    committed = max(replica.committed for replica in replicas.values())
    kind, end, told = "replica-behind", committed, "but records are committed up to"
    if committed == UNKNOWN:
        kind, end, told = (
            "replica-shorter",
            max(replica.end_offset for replica in replicas.values()),
            "but another replica ends at",
        )
    return [
        Difference(kind, replica.end_offset, end - 1, f"{name} ends at offset {replica.end_offset}, {told} {end}")
        for name, replica in sorted(replicas.items())
        if replica.end_offset < end
    ]


def _reaching(replicas: Mapping[str, Replica], found: Mapping[str, BatchDigest]) -> list[str]:
    """Replicas that have this batch, or whose log reaches over all of it."""
    first = min(batch.base_offset for batch in found.values())
    last = min(batch.last_offset for batch in found.values())
    return [
        name
        for name, replica in sorted(replicas.items())
        if name in found or (replica.start_offset <= first and last < replica.end_offset)
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
