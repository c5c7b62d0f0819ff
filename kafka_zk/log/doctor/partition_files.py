"""Lists the files of one partition's directory by kind, without opening any.

Role        Plain.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kafka_zk.log.files import names
from kafka_zk.log.files.names import OffsetFile


class SegmentOnDisk(NamedTuple):
    base_offset: int
    size_bytes: int
    next_base_offset: int | None
    """Of the segment behind it; None for the last one."""

    def name(self, kind: str = names.LOG) -> str:
        return names.offset_file_name(self.base_offset, kind)


@dataclass(slots=True)
class PartitionFiles:
    directory: Path
    sizes: dict[OffsetFile, int] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)

    @property
    def segments(self) -> list[SegmentOnDisk]:
        bases = sorted(file.offset for file in self.sizes if file.kind == names.LOG and not file.state)
        followers: list[int | None] = [*bases[1:], None]
        return [
            SegmentOnDisk(base, self.sizes[OffsetFile(base, names.LOG, "")], follower)
            for base, follower in zip(bases, followers, strict=False)
        ]

    def of_kind(self, kind: str, state: str = "") -> list[int]:
        """The offsets of the files of a kind, in order."""
        return sorted(file.offset for file in self.sizes if file.kind == kind and file.state == state)

    def has(self, offset: int, kind: str) -> bool:
        return OffsetFile(offset, kind, "") in self.sizes

    def size_of(self, offset: int, kind: str) -> int | None:
        """None for a file that is not there."""
        return self.sizes.get(OffsetFile(offset, kind, ""))

    def path(self, offset: int, kind: str) -> Path:
        return self.directory / names.offset_file_name(offset, kind)


def list_partition(directory: Path) -> PartitionFiles:
    """Raises OSError."""
    found = PartitionFiles(directory)
    with os.scandir(directory) as entries:
        for entry in entries:
            file = names.parse_offset_file(entry.name)
            if file is None:
                found.others.append(entry.name)
            else:
                found.sizes[file] = entry.stat().st_size
    found.others.sort()
    return found


def read_sparse(path: Path) -> tuple[bytes, int]:
    """The bytes of a file up to its last hole, without what is zero at the end, and its size. Raises OSError.

    An index after a crash is mostly a hole, which must not cost anything.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(descriptor).st_size
        pieces, position = [], 0
        while position < size:
            try:
                start = os.lseek(descriptor, position, os.SEEK_DATA)
            except OSError:
                # Nothing but a hole is left.
                break
            end = os.lseek(descriptor, start, os.SEEK_HOLE)
            pieces.append(bytes(start - position))
            pieces.append(os.pread(descriptor, end - start, start))
            position = end
        return b"".join(pieces).rstrip(b"\0"), size
    finally:
        os.close(descriptor)
