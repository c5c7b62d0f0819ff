"""The greenlet that folds the metrics once a second.

Role        Acts. Owned by the broker: started before the first request, stopped after the last.
"""

from __future__ import annotations

import gevent

from kafka_zk.giving_way import let_others_in
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.supervision import spawn_for_life

GATHERS_PER_FOLD = 20


class MetricsLoop:
    """Folds the registry every second until it is stopped, giving way to others between the parts of a fold."""

    def __init__(self, registry: MetricsRegistry, *, interval_ms: int = 1_000) -> None:
        self._registry = registry
        self._interval_ms = interval_ms
        self._greenlet: gevent.Greenlet[[], None] | None = None

    def start(self) -> None:
        self._greenlet = spawn_for_life("MetricsLoop", self._run)

    def stop(self) -> None:
        """Blocks. Waits for the greenlet to end."""
        if self._greenlet is not None:
            self._greenlet.kill()
            self._greenlet = None

    def _run(self) -> None:
        while True:
            for _ in range(GATHERS_PER_FOLD):
                gevent.sleep(self._interval_ms / GATHERS_PER_FOLD / 1000)
                while self._registry.gather_some():
                    let_others_in()
            while self._registry.fold_some():
                let_others_in()
