"""Periodic: the log manager's scheduled tasks.

Invariants  A task starts again a period after it ended, never twice at once. A directory that failed has been reported
            by then; any other exception is our bug: it is logged, and the task continues.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafka_zk.clock import Clock, Timer
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.supervision import caught

log = logging.getLogger("kafka.log.LogManager")


class Periodic:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._timers: dict[str, Timer] = {}
        self._stopped = False

    def every(self, name: str, period_ms: int, task: Callable[[], None], *, first_after_ms: int) -> None:
        """Run `task` periodically until `stop`; once for a period of 0 or less, as Kafka's scheduler does."""

        def run() -> None:
            try:
                task()
            except KafkaStorageError as error:
                log.warning("%s stopped early: %s", name, error)
            except Exception:
                # A bug of ours: the task runs again all the same when its time comes.
                caught(name)
            if period_ms > 0:
                arm(period_ms)

        def arm(delay_ms: int) -> None:
            if not self._stopped:
                self._timers[name] = self._clock.call_at(self._clock.monotonic_ms() + delay_ms, run)

        arm(first_after_ms)

    def stop(self) -> None:
        self._stopped = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
