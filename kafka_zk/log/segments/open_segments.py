"""OpenSegments: bounds the number of open files, however many segments there are.

Invariants  A segment that was not used since the last round is closed first; one that a response holds or a thread
            syncs is passed over. Closing is invisible: the next use opens it again.
Role        Acts, on files only. An open segment costs up to five descriptors: its log, two indexes and their maps.
"""

from __future__ import annotations

import resource
from collections import deque

from kafka_zk.log.segments.segment import LogSegment

DESCRIPTORS_PER_SEGMENT = 5
SHARE_OF_DESCRIPTORS = 0.6
"""The rest is for connections."""

OTHER_DESCRIPTORS = 32
"""Of those: for ZooKeeper, other brokers, log files, checkpoints."""

FEW_SEGMENTS = 64
"""With fewer, a search for unneeded ones is not worth it."""


class OpenSegments:
    """`limit` segments may be open. Second chance: a used segment is checked again a round later."""

    def __init__(self, limit: int) -> None:
        self.limit = max(1, limit)
        self._tracked: deque[LogSegment] = deque()
        self._forget_closed_at = FEW_SEGMENTS

    def track(self, segment: LogSegment) -> None:
        """`segment` is about to be opened; close another if there are too many."""
        if segment.is_tracked:
            return
        if len(self._tracked) >= self._forget_closed_at:
            self._forget_closed()
        if len(self._tracked) >= self.limit:
            self._make_room()
        segment.is_tracked = True
        self._tracked.append(segment)

    def _forget_closed(self) -> None:
        """Drop segments deleted with their log or by retention: those are not announced."""
        tracked, self._tracked = self._tracked, deque()
        for segment in tracked:
            segment.is_tracked = segment.is_open
            if segment.is_open:
                self._tracked.append(segment)
        self._forget_closed_at = max(FEW_SEGMENTS, 2 * len(self._tracked))

    def _make_room(self) -> None:
        for _ in range(2 * len(self._tracked)):
            segment = self._tracked.popleft()
            if segment.file.was_used and segment.is_open:
                segment.file.was_used = False
                self._tracked.append(segment)
            elif segment.close_if_idle():
                segment.is_tracked = False
                return
            else:
                self._tracked.append(segment)

    def __len__(self) -> int:
        return len(self._tracked)


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open files to the hard one; what it is now."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def segments_for(descriptor_limit: int) -> int:
    """How many segments may be open with so many descriptors."""
    return int(descriptor_limit * SHARE_OF_DESCRIPTORS) // DESCRIPTORS_PER_SEGMENT


def connections_for(descriptor_limit: int, others: int = 0) -> int:
    """How many connections may be open with so many descriptors: one more could take a log directory offline.

    `others`: connections outside the listeners.
    """
    for_segments = segments_for(descriptor_limit) * DESCRIPTORS_PER_SEGMENT
    return max(1, descriptor_limit - for_segments - OTHER_DESCRIPTORS - others)
