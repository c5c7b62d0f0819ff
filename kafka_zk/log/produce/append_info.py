"""The result of an append.

Role        Pure.
Source      LogAppendInfo.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations


class AppendInfo:
    """The result of an append. `log_append_time_ms` is -1 with CreateTime; both offsets are -1 when nothing came."""

    __slots__ = (
        "first_offset",
        "is_duplicate",
        "last_offset",
        "log_append_time_ms",
        "log_start_offset",
        "max_timestamp",
    )

    def __init__(
        self,
        first_offset: int,
        last_offset: int,
        log_append_time_ms: int,
        log_start_offset: int,
        max_timestamp: int,
        *,
        is_duplicate: bool = False,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.max_timestamp = max_timestamp
        self.is_duplicate = is_duplicate

    def __repr__(self) -> str:
        repeated = " again" if self.is_duplicate else ""
        return f"appended {self.first_offset} to {self.last_offset}{repeated}, log starts at {self.log_start_offset}"
