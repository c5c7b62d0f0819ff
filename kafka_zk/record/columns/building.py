"""Chooses the builder of columns: the compiled module where it could be built, else its pure twin.

Role        Pure. The only place that knows there are two.
"""

from __future__ import annotations

from typing import Literal

BUILDER: Literal["compiled", "pure"]

try:
    from kafka_zk.record.columns._builder import ColumnBuilder

    BUILDER = "compiled"
except ImportError:
    from kafka_zk.record.columns.builder import ColumnBuilder

    BUILDER = "pure"

__all__ = ["BUILDER", "ColumnBuilder"]
