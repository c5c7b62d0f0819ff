"""MetricsRegistry: every metric of the process under its MBean name.

Role        Pure. Packages get their handles once and keep them; the fold loop calls `fold_some` every second; the
            Prometheus endpoint and tests read the values.
Invariants  A name identifies one metric: a second call for the same kind returns the same object. A new gauge replaces
            the old one, because its function belongs to the newer owner.
            What exists thousands of times (partitions) is a table: it costs nothing until it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from kafka_zk.clock import Clock
from kafka_zk.metrics.histogram import Histogram, Timer
from kafka_zk.metrics.meters import Counter, Meter
from kafka_zk.metrics.names import MBeanName, parse_name
from kafka_zk.metrics.values import AttributeValue
from kafka_zk.metrics.windows import RateOfTotal, SampledStat

METRICS_PER_FOLD = 500
"""Metrics folded in one go, in about a quarter of a millisecond."""

GaugeFunction = Callable[[], AttributeValue]
Tags = tuple[tuple[str, str], ...]
Row = tuple[Tags, tuple[float, ...]]
"""The tags of one object, and its value for each of the table's names."""


class Metric(Protocol):
    @property
    def kind(self) -> str: ...

    def fold(self, now_ms: int) -> None: ...

    def attributes(self) -> dict[str, AttributeValue]: ...


class Gauge:
    """One value, or with an attribute name one of several, computed when it is read."""

    kind = "gauge"
    __slots__ = ("_functions",)

    def __init__(self) -> None:
        self._functions: dict[str, GaugeFunction] = {}

    def set(self, attribute: str, function: GaugeFunction) -> None:
        self._functions[attribute] = function

    def fold(self, now_ms: int) -> None:
        """A gauge has nothing to fold."""

    def attributes(self) -> dict[str, AttributeValue]:
        return {attribute: function() for attribute, function in self._functions.items()}


@dataclass(frozen=True, slots=True)
class GaugeTable:
    """Gauges of many objects of one kind: `names` for each row of `rows()`. Rows may come and go between two reads."""

    domain: str
    type: str
    names: tuple[str, ...]
    rows: Callable[[], Iterable[Row]]
    row_count: Callable[[], int]

    def gauges(self) -> Iterator[tuple[MBeanName, Gauge]]:
        for tags, values in self.rows():
            for name, value in zip(self.names, values, strict=True):
                gauge = Gauge()
                gauge.set("Value", _constant(value))
                yield MBeanName(self.domain, self.type, name, tags), gauge


def _constant(value: float) -> GaugeFunction:
    return lambda: value


M = TypeVar("M", Counter, Meter, Histogram, Timer, Gauge)


class MetricsRegistry:
    """Names look like `kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec`; tags come as keywords, in order."""

    def __init__(self, clock: Clock, *, num_samples: int = 2, sample_window_ms: int = 30_000) -> None:
        """The windows of the second generation's rates, averages and maxima."""
        self._clock = clock
        self._num_samples = num_samples
        self._sample_window_ms = sample_window_ms
        self._metrics: dict[MBeanName, Metric] = {}
        self._tables: dict[tuple[str, str, tuple[str, ...]], GaugeTable] = {}
        self._unfolded: list[Metric] = []
        self._folders: list[Callable[[int], bool]] = []
        self._gatherers: list[Callable[[int], bool]] = []

    def counter(self, name: str, **tags: object) -> Counter:
        """A total; the handle for the hot path is its `inc`."""
        return self._get(parse_name(name, tags), Counter, Counter)

    def meter(self, name: str, *, event_type: str = "requests", **tags: object) -> Meter:
        """A total with rates; the handle for the hot path is its `mark`."""
        return self._get(parse_name(name, tags), Meter, lambda: Meter(self._clock.monotonic_ms(), event_type))

    def meter_of(self, name: str, total: Callable[[], int], *, event_type: str = "requests") -> None:
        """A meter that follows a total which is counted elsewhere and only grows."""
        start_ms = self._clock.monotonic_ms()
        self._metrics[parse_name(name, {})] = Meter(start_ms, event_type, total=total)

    def histogram(self, name: str, **tags: object) -> Histogram:
        """A distribution of values; the handle for the hot path is its `update`."""
        return self._get(parse_name(name, tags), Histogram, lambda: Histogram(self._clock.monotonic_ms()))

    def timer(self, name: str, **tags: object) -> Timer:
        """Durations in ms and their rate; the handle for the hot path is its `update`."""
        return self._get(parse_name(name, tags), Timer, lambda: Timer(self._clock.monotonic_ms()))

    def gauge(self, name: str, function: GaugeFunction, *, attribute: str = "Value", **tags: object) -> None:
        """A value that is computed when it is read. Metrics of the second generation name their `attribute`."""
        self._get(parse_name(name, tags), Gauge, Gauge).set(attribute, function)

    def rate_of(self, name: str, total: Callable[[], int], *, rate: str, count: str, **tags: object) -> RateOfTotal:
        """A total that is counted elsewhere, and its growth per second: the attributes `count` and `rate` of `name`."""
        grows = RateOfTotal(total, self.window())
        self.on_fold(grows.sample)
        self.gauge(name, grows.rate, attribute=rate, **tags)
        self.gauge(name, total, attribute=count, **tags)
        return grows

    def spread_of(
        self, name: str, *, average: str, maximum: str | None = None, **tags: object
    ) -> Callable[[float], None]:
        """The attributes `average` and `maximum` of the values passed to the result; NaN while there are none."""
        window, now_ms = self.window(), self._clock.monotonic_ms
        self.gauge(name, lambda: window.average(now_ms()), attribute=average, **tags)
        if maximum is not None:
            self.gauge(name, lambda: window.maximum(now_ms()), attribute=maximum, **tags)
        return lambda value: window.record(value, now_ms())

    def window(self) -> SampledStat:
        """Samples over the windows that the configs set."""
        return SampledStat(num_samples=self._num_samples, window_ms=self._sample_window_ms)

    def gauge_table(
        self,
        domain_and_type: str,
        names: tuple[str, ...],
        rows: Callable[[], Iterable[Row]],
        *,
        row_count: Callable[[], int],
    ) -> None:
        """Gauges of many similar objects under `domain:type=T`: a row of `rows()` has tags, and a value for each name.

        `rows` is called when the table is read; other greenlets may run between two of its rows. `row_count()` returns
        how many there are without making them.
        """
        name = parse_name(domain_and_type, {})
        self._tables[name.domain, name.type, names] = GaugeTable(name.domain, name.type, names, rows, row_count)

    def remove(self, name: str, **tags: object) -> None:
        """Forget a metric; harmless when it does not exist."""
        self._metrics.pop(parse_name(name, tags), None)

    def remove_tagged(self, domain_and_type: str, **tags: object) -> None:
        """Forget every metric of `domain:type=T` that carries all of `tags`, for instance a deleted partition's."""
        wanted = parse_name(domain_and_type, {})
        gone = {(key, str(value)) for key, value in tags.items()}
        for name in [*self._metrics]:
            if (name.domain, name.type) == (wanted.domain, wanted.type) and gone <= set(name.tags):
                del self._metrics[name]

    def on_fold(self, folder: Callable[[int], bool]) -> None:
        """Call `folder(now_ms)` before the metrics fold, for values that are gathered in a form of their own.

        Each call does a millisecond or two of work and returns whether more is waiting.
        """
        self._folders.append(folder)

    def on_gather(self, gatherer: Callable[[int], bool]) -> None:
        """As `on_fold`, but called many times a second: for values that would take megabytes until the next fold.

        Memory that is used again at once is in the processor's cache; new memory costs page faults.
        """
        self._gatherers.append(gatherer)

    def gather_some(self) -> bool:
        """Let the gatherers fold a part of what they have, in a few ms; returns whether to call again soon."""
        now_ms = self._clock.monotonic_ms()
        return any(gatherer(now_ms) for gatherer in self._gatherers)

    def fold_some(self) -> bool:
        """Fold in a part of what is pending, in a few ms; returns whether to call again soon."""
        now_ms = self._clock.monotonic_ms()
        if not self._unfolded:
            if self.gather_some() or any(folder(now_ms) for folder in self._folders):
                return True
            self._unfolded = [metric for metric in self._metrics.values() if type(metric) is not Gauge]
        for metric in self._unfolded[-METRICS_PER_FOLD:]:
            metric.fold(now_ms)
        del self._unfolded[-METRICS_PER_FOLD:]
        return bool(self._unfolded)

    def fold(self) -> None:
        """Fold in everything that is pending."""
        while self.fold_some():
            pass

    def metrics(self) -> list[tuple[MBeanName, Metric]]:
        """Every metric outside tables. Fold first to include the last second."""
        return list(self._metrics.items())

    def tables(self) -> list[GaugeTable]:
        return list(self._tables.values())

    def snapshot(self) -> list[tuple[MBeanName, Metric]]:
        """Every metric, including those of tables, sorted by name."""
        return sorted(self._all(), key=lambda item: str(item[0]))

    def find(self, name: str, **tags: object) -> Metric | None:
        wanted = parse_name(name, tags)
        return self._metrics.get(wanted) or next((metric for found, metric in self._all() if found == wanted), None)

    def __len__(self) -> int:
        """The number of metrics, including those of tables."""
        return len(self._metrics) + sum(len(table.names) * table.row_count() for table in self._tables.values())

    def _all(self) -> Iterator[tuple[MBeanName, Metric]]:
        yield from self._metrics.items()
        for table in self._tables.values():
            yield from table.gauges()

    def _get(self, name: MBeanName, kind: type[M], make: Callable[[], M]) -> M:
        metric = self._metrics.get(name)
        if metric is None:
            metric = self._metrics[name] = make()
        assert isinstance(metric, kind), f"{name} is a {metric.kind}, not a {kind.kind}"
        return metric
