"""Stops what was started, in reverse order.

Role        Acts. The code that starts a part registers its stop at once.
Invariants  Every stop is run, whatever earlier ones raised, including those added by another stop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

log = logging.getLogger("kafka.server.KafkaServer")


class Stops:
    """The stops still to be done, run in reverse order."""

    def __init__(self) -> None:
        self._stops: list[tuple[str, Callable[[], object]]] = []

    def add(self, name: str, stop: Callable[[], object]) -> None:
        """`name` completes "Error while stopping the ..."."""
        self._stops.append((name, stop))

    def stop_all(self, *, broker_id: int) -> None:
        """Blocks. Stop the newest first, until nothing is left."""
        while self._stops:
            name, stop = self._stops.pop()
            try:
                stop()
            except Exception:
                # Any error of any part, perhaps half started: the others must still be stopped.
                log.exception("[KafkaServer id=%d] Error while stopping the %s", broker_id, name)
