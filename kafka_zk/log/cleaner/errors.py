"""Why a cleaning was aborted.

Role        Pure.
"""

from __future__ import annotations


class CleaningAborted(Exception):
    """The log was truncated, deleted, closed or is no longer compacted: nothing is wrong with it."""


class SegmentOverflow(Exception):
    """A segment holds offsets that no index entry relative to its base can say; it must be split."""
