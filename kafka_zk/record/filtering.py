"""Chooses the loops of compaction: the compiled module where it could be built, else its pure twin.

Role        Pure. The only place that knows there are two.
"""

from __future__ import annotations

from typing import Literal

from kafka_zk.record.filter import SLOT_BYTES, FilterRun, MapRun, Rewritten, Selection

FILTER: Literal["compiled", "pure"]

try:
    from kafka_zk.record._filter import filter_run, find_key, map_run, put_key, put_keys, rewrite, select

    FILTER = "compiled"
except ImportError:
    from kafka_zk.record.filter import filter_run, find_key, map_run, put_key, put_keys, rewrite, select

    FILTER = "pure"

__all__ = [
    "FILTER",
    "SLOT_BYTES",
    "FilterRun",
    "MapRun",
    "Rewritten",
    "Selection",
    "filter_run",
    "find_key",
    "map_run",
    "put_key",
    "put_keys",
    "rewrite",
    "select",
]
