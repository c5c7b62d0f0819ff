"""Chooses the walkers over records and over batches: the compiled modules where they could be built, else their twins.

Role        Pure. The only place that knows there are two.
"""

from __future__ import annotations

from typing import Literal

WALKER: Literal["compiled", "pure"]

try:
    from kafka_zk.record._walker import assign_offsets, columns, decode, decode_headers, encode, plain_header, walk

    WALKER = "compiled"
except ImportError:
    from kafka_zk.record.walker import assign_offsets, columns, decode, decode_headers, encode, plain_header, walk

    WALKER = "pure"

try:
    from kafka_zk.record._runs import index_run
except ImportError:
    from kafka_zk.record.runs import index_run

__all__ = [
    "WALKER",
    "assign_offsets",
    "columns",
    "decode",
    "decode_headers",
    "encode",
    "index_run",
    "plain_header",
    "walk",
]
