"""QuotaManagers: the client quotas of one broker, and their metrics.

Role        Pure: counts, and says how long a client waits. Muting is the connection's.
Invariants  `is_configured` is False while no user or client has a quota: nobody counts anything then.
Source      QuotaFactory.QuotaManagers; ClientRequestQuotaManager; QuotaConfigHandler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from kafka_zk.clock import Clock
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.windows import SampledStat
from kafka_zk.security.quotas.limits import Entity
from kafka_zk.security.quotas.mutations import Bounded, MutationQuota
from kafka_zk.security.quotas.overrides import QuotaKind, client_bounds
from kafka_zk.security.quotas.usage import Sensor, Usage
from kafka_zk.zk.znodes.names import sanitize

PERCENT_PER_NS = 100.0 / 1e9
"""Of one thread, in a rate a second."""

_RATES = {
    QuotaKind.PRODUCE: "byte-rate",
    QuotaKind.FETCH: "byte-rate",
    QuotaKind.REQUEST: "request-time",
    QuotaKind.CONTROLLER_MUTATION: "mutation-rate",
}


class QuotaManagers:
    """The four kinds of client quotas. The windows are those of quota.window.* and controller.quota.window.*."""

    def __init__(
        self,
        clock: Clock,
        metrics: MetricsRegistry,
        *,
        num_samples: int = 11,
        window_ms: int = 1000,
        mutation_num_samples: int = 11,
        mutation_window_ms: int = 1000,
    ) -> None:
        self._clock = clock
        self._metrics = metrics
        self._usages = {
            kind: Usage(
                num_samples=mutation_num_samples if kind is QuotaKind.CONTROLLER_MUTATION else num_samples,
                window_ms=mutation_window_ms if kind is QuotaKind.CONTROLLER_MUTATION else window_ms,
                new_metric_window=metrics.window,
                # A thread's time comes back by itself: one window without requests is enough.
                throttle_at_most_ms=window_ms if kind is QuotaKind.REQUEST else None,
                counts_tokens=kind is QuotaKind.CONTROLLER_MUTATION,
                watcher=_Shown(kind, metrics, clock),
            )
            for kind in QuotaKind
        }
        self._exempt_time = SampledStat(num_samples=num_samples, window_ms=window_ms)
        self._show()
        # Also when the last quota is gone, and nobody counts any more.
        metrics.on_fold(self._forget_unused)

    @property
    def is_configured(self) -> bool:
        return any(usage.limits for usage in self._usages.values())

    def update(self, entity: Entity, overrides: Mapping[str, str]) -> None:
        """All overrides of a user or client, as they are now. Raises InvalidConfig, and changes nothing."""
        for kind, bound in client_bounds(overrides).items():
            self._usages[kind].update(entity, bound)

    def record(self, kind: QuotaKind, user: str, client_id: str, value: float) -> int:
        """Count bytes, or percent of a thread's time; how many ms the client shall wait."""
        return self._usages[kind].record(user, client_id, value, self._clock.monotonic_ms())

    def take_back(self, kind: QuotaKind, user: str, client_id: str, value: float) -> None:
        self._usages[kind].take_back(user, client_id, value, self._clock.monotonic_ms())

    def record_exempt(self, percent: float) -> None:
        """Time that nobody waits for: what brokers ask of each other."""
        self._exempt_time.record(percent, self._clock.monotonic_ms())

    def most_in_window(self, kind: QuotaKind, user: str, client_id: str) -> float:
        return self._usages[kind].most_in_window(user, client_id, self._clock.monotonic_ms())

    def mutations(self, user: str, client_id: str, *, strict: bool) -> MutationQuota:
        """What one request asks before each change of a topic."""
        usage = self._usages[QuotaKind.CONTROLLER_MUTATION]
        return Bounded(usage, self._clock, user, client_id, strict=strict)

    def throttled(self, kind: QuotaKind, user: str, client_id: str, throttle_ms: int) -> None:
        """A channel is muted because of this kind of quota."""
        self._usages[kind].throttled(user, client_id, throttle_ms, self._clock.monotonic_ms())

    def _show(self) -> None:
        for kind, usage in self._usages.items():
            self._metrics.gauge(f"kafka.server:type={kind.value}", partial(self._muted, usage), attribute="queue-size")
        self._metrics.gauge(
            f"kafka.server:type={QuotaKind.REQUEST.value}",
            lambda: self._exempt_time.rate(self._clock.monotonic_ms()),
            attribute="exempt-request-time",
        )

    def _forget_unused(self, now_ms: int) -> bool:
        """False, as a folder that has no more."""
        for usage in self._usages.values():
            usage.forget_unused(now_ms)
        return False

    def _muted(self, usage: Usage) -> int:
        return usage.throttled_count(self._clock.monotonic_ms())


class _Shown:
    """Shows the sensors of one kind under Kafka's names while they exist."""

    def __init__(self, kind: QuotaKind, metrics: MetricsRegistry, clock: Clock) -> None:
        self._kind = kind
        self._metrics = metrics
        self._now_ms = clock.monotonic_ms

    def appeared(self, sensor: Sensor) -> None:
        now_ms = self._now_ms
        shown: dict[str, Callable[[], float]] = {
            _RATES[self._kind]: lambda: sensor.rate.rate(now_ms()),
            "throttle-time": lambda: sensor.throttle_times.average(now_ms()),
        }
        if self._kind is QuotaKind.CONTROLLER_MUTATION:
            shown["tokens"] = lambda: _tokens(sensor, now_ms())
        for attribute, value in shown.items():
            name = f"kafka.server:type={self._kind.value}"
            self._metrics.gauge(name, value, attribute=attribute, **_tags(sensor))

    def vanished(self, sensor: Sensor) -> None:
        self._metrics.remove(f"kafka.server:type={self._kind.value}", **_tags(sensor))


def _tokens(sensor: Sensor, now_ms: int) -> float:
    """As Kafka, the largest long where there is no quota."""
    return float(2**63) if sensor.bound is None else sensor.bucket.tokens(sensor.bound, now_ms)


def _tags(sensor: Sensor) -> dict[str, str]:
    """As Kafka, which knows users by the names they have in ZooKeeper's paths."""
    user, client_id = sensor.tags
    return {name: value for name, value in (("user", sanitize(user)), ("client-id", client_id)) if value}
