"""The timers of all groups, on the broker's clock.

Role        Acts. Cheap to restart: a heartbeat only moves a deadline, which is checked when an older one passes.
Invariants  One timer per group and key. A timer that was stopped or moved never fires at its old time.
Source      The role of DelayedHeartbeat, DelayedJoin and DelayedSync in Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_zk.clock import Clock, Timer
from kafka_zk.coordinator.group.decisions.actions import TimerKey
from kafka_zk.coordinator.group.decisions.group import Group

OnTimer = Callable[[Group, TimerKey], None]


class _Deadline:
    __slots__ = ("alarm_ms", "alarm_timer", "deadline_ms")

    def __init__(self, deadline_ms: int) -> None:
        self.deadline_ms = deadline_ms
        self.alarm_ms = deadline_ms
        self.alarm_timer: Timer | None = None


class GroupTimers:
    """Calls `on_timer(group, key)`, which may block."""

    def __init__(self, clock: Clock, on_timer: OnTimer) -> None:
        self._clock = clock
        self._on_timer = on_timer
        self._deadlines: dict[tuple[Group, TimerKey], _Deadline] = {}

    def start(self, group: Group, key: TimerKey, delay_ms: int) -> None:
        """Start the timer, or start it again."""
        deadline_ms = self._clock.monotonic_ms() + delay_ms
        known = self._deadlines.get((group, key))
        if known is not None and known.alarm_ms <= deadline_ms:
            known.deadline_ms = deadline_ms
            return
        if known is not None:
            _cancel(known)
        deadline = self._deadlines[group, key] = _Deadline(deadline_ms)
        self._arm(group, key, deadline)

    def stop(self, group: Group, key: TimerKey) -> None:
        known = self._deadlines.pop((group, key), None)
        if known is not None:
            _cancel(known)

    def stop_all(self) -> None:
        for deadline in self._deadlines.values():
            _cancel(deadline)
        self._deadlines.clear()

    def __len__(self) -> int:
        return len(self._deadlines)

    def count(self, belongs: Callable[[TimerKey], bool]) -> int:
        """The number of timers with a key that `belongs`."""
        return sum(1 for _, key in self._deadlines if belongs(key))

    def _arm(self, group: Group, key: TimerKey, deadline: _Deadline) -> None:
        deadline.alarm_ms = deadline.deadline_ms
        deadline.alarm_timer = self._clock.call_at(deadline.alarm_ms, lambda: self._alarm(group, key, deadline))

    def _alarm(self, group: Group, key: TimerKey, deadline: _Deadline) -> None:
        if self._deadlines.get((group, key)) is not deadline:
            return  # Stopped after the clock had already fired it.
        if self._clock.monotonic_ms() < deadline.deadline_ms:
            self._arm(group, key, deadline)
            return
        del self._deadlines[group, key]
        self._on_timer(group, key)


def _cancel(deadline: _Deadline) -> None:
    if deadline.alarm_timer is not None:
        deadline.alarm_timer.cancel()
