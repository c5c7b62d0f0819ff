"""Events of the verifiable tools: one JSON object a line.

Role        Pure, but for the printer.
Invariants  `timestamp` and `name` come first, the others in the order in which Apache's tools print them.
Source      VerifiableProducer.ProducerEvent, VerifiableConsumer.ConsumerEvent.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any

from kafka_zk.config.values import java_double

_PLAIN = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def event_text(name: str, timestamp_ms: int, **fields: Any) -> str:
    """The event's line."""
    return _encoded({"timestamp": timestamp_ms, "name": name, **fields})


def _encoded(value: dict[str, Any]) -> str:
    members = (f"{_PLAIN.encode(name)}:{_value(each)}" for name, each in value.items())
    return f"{{{','.join(members)}}}"


def _value(value: Any) -> str:
    return java_double(value) if isinstance(value, float) else _PLAIN.encode(value)


class EventPrinter:
    """Prints events, as whole lines, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __call__(self, name: str, **fields: Any) -> None:
        with self._lock:
            print(event_text(name, int(time.time() * 1000), **fields), flush=True)
