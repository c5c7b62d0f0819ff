"""Chooses the appender: the compiled class where it could be built, else its pure twin.

Role        Pure. The only place that knows there are two.
"""

from __future__ import annotations

from typing import Literal

APPENDER: Literal["compiled", "pure"]

try:
    from kafka_zk.record._appender import BatchAppender

    APPENDER = "compiled"
except ImportError:
    from kafka_zk.record.appender import BatchAppender

    APPENDER = "pure"

__all__ = ["APPENDER", "BatchAppender"]
