"""What an append tells the one who asked for it.

Role        Pure.
Source      LogAppendInfo.
"""

from __future__ import annotations

from typing import NamedTuple


class AppendInfo(NamedTuple):
    """What an append did. `log_append_time_ms` is -1 with CreateTime; both offsets are -1 when nothing came."""

    first_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    max_timestamp: int
    is_duplicate: bool


NOTHING_APPENDED = AppendInfo(-1, -1, -1, -1, -1, is_duplicate=False)
