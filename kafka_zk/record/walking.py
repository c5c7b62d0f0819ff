"""Chooses the walker: the compiled module where it could be built, else its pure twin.

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

__all__ = ["WALKER", "assign_offsets", "columns", "decode", "decode_headers", "encode", "plain_header", "walk"]
