"""Clients' usage of one kind of quota, and their throttle times.

Role        Pure. The sensors of a ClientQuotaManager: one for all who share the tags of their quota.
Invariants  A sensor keeps what was used when its quota changes. Unused for an hour it is forgotten.
Source      ClientQuotaManager: getOrCreateQuotaSensors, recordAndGetThrottleTimeMs, getMaxValueInQuotaWindow,
            ThrottledChannel; SensorAccess.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Protocol

from kafka_zk.metrics.token_bucket import TokenBucket
from kafka_zk.metrics.windows import SampledStat
from kafka_zk.security.quotas.limits import Entity, Limits, Tags
from kafka_zk.security.quotas.throttle import rate_throttle_ms, token_throttle_ms

FORGET_AFTER_MS = 3600 * 1000
SWEEP_INTERVAL_MS = 30 * 1000


class Sensor:
    """What those who share `tags` have used. `bound` is their quota, None without one."""

    __slots__ = ("bound", "bucket", "last_used_ms", "rate", "tags", "throttle_times")

    def __init__(
        self, tags: Tags, bound: float | None, rate: SampledStat, throttle_times: SampledStat, bucket: TokenBucket
    ) -> None:
        self.tags = tags
        self.bound = bound
        self.rate = rate
        self.throttle_times = throttle_times
        self.bucket = bucket
        self.last_used_ms = 0


class Watcher(Protocol):
    """Who shows sensors while they exist."""

    def appeared(self, sensor: Sensor) -> None: ...
    def vanished(self, sensor: Sensor) -> None: ...


class Usage:
    """One kind of quota. All times are monotonic milliseconds."""

    def __init__(
        self,
        *,
        num_samples: int,
        window_ms: int,
        new_metric_window: Callable[[], SampledStat],
        throttle_at_most_ms: int | None = None,
        counts_tokens: bool = False,
        watcher: Watcher | None = None,
    ) -> None:
        """`new_metric_window` makes the windows of what is only shown: of tokens, that is their rate too."""
        self.limits = Limits()
        self._num_samples = num_samples
        self._window_ms = window_ms
        self._new_metric_window = new_metric_window
        self._throttle_at_most_ms = throttle_at_most_ms
        self._counts_tokens = counts_tokens
        self._watcher = watcher
        self._sensors: dict[Tags, Sensor] = {}
        self._found: dict[tuple[str, str], Sensor] = {}
        self._ends_ms: list[int] = []
        self._next_sweep_ms = 0

    def update(self, entity: Entity, bound: float | None) -> None:
        """A quota has changed, or is gone (None)."""
        self.limits.update(entity, bound)
        self._found.clear()
        for sensor in self._sensors.values():
            sensor.bound = self.limits.bound(sensor.tags)

    def sensor(self, user: str, client_id: str, now_ms: int) -> Sensor:
        sensor = self._found.get((user, client_id))
        if sensor is None:
            sensor = self._found[user, client_id] = self._of(self.limits.tags(user, client_id))
        sensor.last_used_ms = now_ms
        return sensor

    def record(self, user: str, client_id: str, value: float, now_ms: int) -> int:
        """Count `value`; how many ms the client shall wait, 0 for not at all."""
        sensor = self.sensor(user, client_id, now_ms)
        stat, bound = sensor.rate, sensor.bound
        stat.record(value, now_ms)
        if bound is None:
            return 0
        rate = stat.rate(now_ms)
        if rate <= bound:
            return 0
        return rate_throttle_ms(rate, bound, stat.span_ms(now_ms), at_most_ms=self._throttle_at_most_ms)

    def take_back(self, user: str, client_id: str, value: float, now_ms: int) -> None:
        """What was recorded is not sent after all."""
        self.sensor(user, client_id, now_ms).rate.record(-value, now_ms)

    def most_in_window(self, user: str, client_id: str, now_ms: int) -> float:
        """What a client that has used nothing may use at once without waiting; infinite without a quota."""
        bound = self.sensor(user, client_id, now_ms).bound
        return math.inf if bound is None else bound * (self._num_samples - 1) * self._window_ms / 1000

    def take_tokens(self, user: str, client_id: str, count: float, now_ms: int, *, overdraw: bool) -> int:
        """Take tokens; how many ms are to be waited.

        With `overdraw` they are taken whatever is there. Without, none are taken of a bucket that is overdrawn already.
        """
        sensor = self.sensor(user, client_id, now_ms)
        bound = sensor.bound
        if bound is None:
            sensor.rate.record(count, now_ms)
            return 0
        bucket = sensor.bucket
        left = bucket.tokens(bound, now_ms)
        if overdraw or left >= 0:
            sensor.rate.record(count, now_ms)
            bucket.take(count, bound, now_ms)
            left = bucket.tokens(bound, now_ms) if overdraw else 0
        return token_throttle_ms(left, bound) if left < 0 else 0

    def throttled(self, user: str, client_id: str, throttle_ms: int, now_ms: int) -> None:
        """A channel of this client is muted for so long."""
        self.sensor(user, client_id, now_ms).throttle_times.record(throttle_ms, now_ms)
        self.throttled_count(now_ms)
        heapq.heappush(self._ends_ms, now_ms + throttle_ms)

    def throttled_count(self, now_ms: int) -> int:
        """How many channels are muted for this kind of quota."""
        while self._ends_ms and self._ends_ms[0] <= now_ms:
            heapq.heappop(self._ends_ms)
        return len(self._ends_ms)

    def forget_unused(self, now_ms: int) -> None:
        """To be called now and then, whether or not there are quotas any more."""
        if now_ms < self._next_sweep_ms:
            return
        self._next_sweep_ms = now_ms + SWEEP_INTERVAL_MS
        oldest_ms = now_ms - FORGET_AFTER_MS
        unused = [sensor for sensor in self._sensors.values() if sensor.last_used_ms < oldest_ms]
        # Also where no sensor goes: many client ids that come once may share one.
        self._found.clear()
        for sensor in unused:
            del self._sensors[sensor.tags]
            if self._watcher is not None:
                self._watcher.vanished(sensor)

    def __len__(self) -> int:
        """How many sensors there are."""
        return len(self._sensors)

    def _of(self, tags: Tags) -> Sensor:
        sensor = self._sensors.get(tags)
        if sensor is None:
            if self._counts_tokens:
                rate = self._new_metric_window()
            else:
                rate = SampledStat(num_samples=self._num_samples, window_ms=self._window_ms)
            bucket = TokenBucket(burst_s=self._num_samples * self._window_ms / 1000)
            sensor = Sensor(tags, self.limits.bound(tags), rate, self._new_metric_window(), bucket)
            self._sensors[tags] = sensor
            if self._watcher is not None:
                self._watcher.appeared(sensor)
        return sensor
