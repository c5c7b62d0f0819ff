"""Prometheus output: Kafka's MBeans under the names of the JMX exporter's usual rules for Kafka.

Role        Reads the registry when scraped. Imported only when the endpoint is switched on.
Rule        Names are `kafka_<domain>_<type>_<name>[_<suffix>]`, lower case, other characters `_`; tags become labels.
            - `...PerSec`        Count, without PerSec:  kafka_server_brokertopicmetrics_messagesin_total{topic="t"}
            - `...Percent`       one-minute rate:        ..._percent
            - meter, timer       Count:                  ..._total for meters, ..._count for timers
            - histogram, timer   Count and percentiles:  ..._count, ...{quantile="0.99"}
            - gauge              Value:                  kafka_server_replicamanager_leadercount
            - other attributes   their own name:         kafka_server_socket_server_metrics_connection_count
            A gauge whose value is text becomes a series of value 1 with the text as the label `value`.
Invariants  A page of tens of thousands of series takes longer than a greenlet may hold the loop: after every MBean the
            writer calls `pause`, and no greenlet that runs meanwhile can change what the writer still needs.
Source      example_configs/kafka-2_0_0.yml of the Prometheus JMX exporter.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import generate_latest

from kafka_zk.metrics.histogram import QUANTILES, Histogram, Timer
from kafka_zk.metrics.meters import Counter, Meter
from kafka_zk.metrics.names import MBeanName
from kafka_zk.metrics.registry import GaugeTable, MetricsRegistry
from kafka_zk.metrics.registry import Metric as KafkaMetric
from kafka_zk.metrics.values import AttributeValue

_log = logging.getLogger("kafka.metrics")
_NOT_ALLOWED = re.compile(r"[^a-z0-9_]+")
_QUANTILE_LABELS = ("0.50", "0.75", "0.95", "0.98", "0.99", "0.999")
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
Labels = Iterable[tuple[str, str]]
Pause = Callable[[], None]


def no_pause() -> None:
    """For callers that need not give way."""


class _Page:
    """Lines gathered by the name of their series, because Prometheus wants all series of a name together."""

    def __init__(self) -> None:
        self._families: dict[str, list[str]] = {}

    def counter(self, name: str, labels: str, value: float) -> None:
        self._add(name + "_total", "counter", labels, value)

    def gauge(self, name: str, labels: str, value: float) -> None:
        self._add(name, "gauge", labels, value)

    def text(self, pause: Pause) -> Iterator[bytes]:
        for name in sorted(self._families):
            yield "\n".join([*self._families[name], ""]).encode()
            pause()

    def _add(self, name: str, kind: str, labels: str, value: float) -> None:
        lines = self._families.get(name)
        if lines is None:
            head = f"# HELP {name} Kafka metric {name}\n# TYPE {name} {kind}"
            lines = self._families[name] = [head]
        lines.append(f"{name}{labels} {_number(value)}")


def exposition(registry: MetricsRegistry, pause: Pause = no_pause) -> list[bytes]:
    """The page a Prometheus server scrapes (text format 0.0.4) in pieces, the process's own series included.

    `pause` is called wherever other greenlets may run.
    """
    while registry.fold_some():
        pause()
    page = _Page()
    for mbean, metric in registry.metrics():
        _add_metric(page, mbean, metric)
        pause()
    for table in registry.tables():
        _add_table(page, table, pause)
    process = CollectorRegistry(auto_describe=False)
    ProcessCollector(registry=process)
    return [*page.text(pause), generate_latest(process)]


def series_name(mbean: MBeanName) -> str:
    """The name of an MBean's series, without a suffix for the kind of metric."""
    name = mbean.name or ""
    if name.endswith("PerSec"):
        name = name.removesuffix("PerSec")
    elif name.endswith("Percent"):
        name = name.removesuffix("Percent") + "_percent"
    return clean("_".join(part for part in (mbean.domain, mbean.type, name) if part))


def clean(text: str) -> str:
    """`text` as a part of a series' name, or as the name of a label."""
    return _NOT_ALLOWED.sub("_", text.lower()).strip("_")


def _add_metric(page: _Page, mbean: MBeanName, metric: KafkaMetric) -> None:
    name = series_name(mbean)
    if isinstance(metric, Meter):
        if name.endswith("_percent"):
            page.gauge(name, _labels(mbean.tags), metric.rates()[0])
        else:
            page.counter(name, _labels(mbean.tags), metric.count)
    elif isinstance(metric, Counter):
        page.counter(name, _labels(mbean.tags), metric.count)
    elif isinstance(metric, Histogram | Timer):
        page.gauge(name + "_count", _labels(mbean.tags), metric.count)
        for label, value in zip(_QUANTILE_LABELS, metric.quantiles(), strict=True):
            page.gauge(name, _labels((*mbean.tags, ("quantile", label))), value)
    else:
        for attribute, gauge_value in _asked(mbean, metric).items():
            full_name = name if attribute == "Value" else f"{name}_{clean(attribute)}"
            _add_gauge(page, full_name, mbean.tags, gauge_value)


def _add_gauge(page: _Page, name: str, tags: tuple[tuple[str, str], ...], value: AttributeValue) -> None:
    if isinstance(value, str):
        page.gauge(name, _labels((*tags, ("value", value))), 1)
    else:
        page.gauge(name, _labels(tags), value)


def _add_table(page: _Page, table: GaugeTable, pause: Pause) -> None:
    names = [series_name(MBeanName(table.domain, table.type, name, ())) for name in table.names]
    try:
        for tags, values in table.rows():
            labels = _labels(tags)
            for name, value in zip(names, values, strict=True):
                page.gauge(name, labels, value)
            pause()
    except Exception:
        # A gauge is code of any package: if it fails, the others must still be shown.
        _log.exception("Could not read the gauges of %s:type=%s", table.domain, table.type)


def _asked(mbean: MBeanName, gauge: KafkaMetric) -> dict[str, AttributeValue]:
    """The values of a gauge, none if its function fails: one bug must not hide all other metrics."""
    try:
        return gauge.attributes()
    except Exception:
        # As above.
        _log.exception("Could not read the gauge %s", mbean)
        return {}


def _labels(tags: Labels) -> str:
    """The labels in braces, sorted by name; empty without tags."""
    pairs = sorted((clean(key), value.translate(_ESCAPES)) for key, value in tags)
    return "{" + ",".join(f'{key}="{value}"' for key, value in pairs) + "}" if pairs else ""


def _number(value: float) -> str:
    number = float(value)
    if math.isfinite(number):
        return repr(number)
    return "NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf"


assert len(_QUANTILE_LABELS) == len(QUANTILES)
