"""Prometheus series: Kafka's MBeans under the names that the JMX exporter's usual rules for Kafka give them.

Role        Reads the registry when scraped. Imported only when the end point is switched on.
Rule        Names are `kafka_<domain>_<type>_<name>[_<suffix>]`, lower case, other signs as `_`; tags become labels.
            - `...PerSec`        Count, without PerSec:  kafka_server_brokertopicmetrics_messagesin_total{topic="t"}
            - `...Percent`       one-minute rate:        ..._percent
            - meter, timer       Count:                  ..._total for meters, ..._count for timers
            - histogram, timer   Count and percentiles:  ..._count, ...{quantile="0.99"}
            - gauge              Value:                  kafka_server_replicamanager_leadercount
            - other attributes   their own name:         kafka_server_socket_server_metrics_connection_count
            A gauge whose value is text becomes a series of value 1 with the text as the label `value`.
Source      example_configs/kafka-2_0_0.yml of the Prometheus JMX exporter.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kafka_zk.metrics.histogram import QUANTILES, Histogram, Timer
from kafka_zk.metrics.meters import Counter, Meter
from kafka_zk.metrics.names import MBeanName
from kafka_zk.metrics.registry import Metric as KafkaMetric
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.metrics.values import AttributeValue

_log = logging.getLogger("kafka.metrics")
_NOT_ALLOWED = re.compile(r"[^a-z0-9_]+")
_QUANTILE_LABELS = ("0.50", "0.75", "0.95", "0.98", "0.99", "0.999")
Labels = tuple[tuple[str, str], ...]


class _Families:
    """Series gathered by name, because Prometheus wants all series of a name together."""

    def __init__(self) -> None:
        self._families: dict[str, Metric] = {}

    def counter(self, name: str, labels: Labels, value: float) -> None:
        self._add(CounterMetricFamily, name, "_total", labels, value)

    def gauge(self, name: str, labels: Labels, value: float) -> None:
        self._add(GaugeMetricFamily, name, "", labels, value)

    def __iter__(self) -> Iterator[Metric]:
        return iter(self._families.values())

    def _add(
        self,
        family: type[CounterMetricFamily] | type[GaugeMetricFamily],
        name: str,
        suffix: str,
        labels: Labels,
        value: float,
    ) -> None:
        metric = self._families.get(name)
        if metric is None:
            metric = self._families[name] = family(name, "Kafka metric " + name)
        metric.add_sample(name + suffix, dict(labels), value)


class KafkaCollector(Collector):
    """All metrics of a registry as Prometheus families."""

    def __init__(self, registry: MetricsRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        self._registry.fold()
        families = _Families()
        for mbean, metric in self._registry.snapshot():
            labels = tuple((_clean(key), value) for key, value in mbean.tags)
            name = series_name(mbean)
            if isinstance(metric, Meter):
                _add_meter(families, name, labels, metric)
            elif isinstance(metric, Counter):
                families.counter(name, labels, metric.count)
            elif isinstance(metric, Histogram | Timer):
                families.gauge(name + "_count", labels, metric.count)
                for label, value in zip(_QUANTILE_LABELS, metric.quantiles(), strict=True):
                    families.gauge(name, (*labels, ("quantile", label)), value)
            else:
                for attribute, gauge_value in _asked(mbean, metric).items():
                    full_name = name if attribute == "Value" else f"{name}_{_clean(attribute)}"
                    _add_gauge(families, full_name, labels, gauge_value)
        return families


def _asked(mbean: MBeanName, gauge: KafkaMetric) -> dict[str, AttributeValue]:
    """The values of a gauge, none if its function fails: one bug must not hide all other metrics."""
    try:
        return gauge.attributes()
    except Exception:
        _log.exception("The gauge %s could not be read", mbean)
        return {}


def exposition(registry: MetricsRegistry) -> bytes:
    """The page a Prometheus server scrapes (text format 0.0.4), the process's own series included."""
    collectors = CollectorRegistry(auto_describe=False)
    collectors.register(KafkaCollector(registry))
    ProcessCollector(registry=collectors)
    return generate_latest(collectors)


def series_name(mbean: MBeanName) -> str:
    """The name of an MBean's series, without a suffix for the kind of metric."""
    name = mbean.name or ""
    if name.endswith("PerSec"):
        name = name.removesuffix("PerSec")
    elif name.endswith("Percent"):
        name = name.removesuffix("Percent") + "_percent"
    return _clean("_".join(part for part in (mbean.domain, mbean.type, name) if part))


def _add_meter(families: _Families, name: str, labels: Labels, meter: Meter) -> None:
    if name.endswith("_percent"):
        families.gauge(name, labels, meter.rates()[0])
    else:
        families.counter(name, labels, meter.count)


def _add_gauge(families: _Families, name: str, labels: Labels, value: AttributeValue) -> None:
    if isinstance(value, str):
        families.gauge(name, (*labels, ("value", value)), 1)
    else:
        families.gauge(name, labels, float(value))


def _clean(text: str) -> str:
    return _NOT_ALLOWED.sub("_", text.lower()).strip("_")


assert len(_QUANTILE_LABELS) == len(QUANTILES)
