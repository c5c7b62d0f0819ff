"""Why a cleaning was aborted.

Role        Pure.
"""

from __future__ import annotations


class CleaningAborted(Exception):
    """The log was truncated, deleted, closed or is no longer compacted; this is not an error."""


class SegmentOverflow(Exception):
    """A segment holds offsets beyond what an index entry relative to its base can hold; it must be split."""
