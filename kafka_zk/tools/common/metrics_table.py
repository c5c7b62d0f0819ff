"""--print-metrics: a client's metrics as a table.

Role        Pure.
Source      ToolsUtils.printMetrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

from kafka_zk.tools.common.java_format import fixed


class Metric(Protocol):
    """What a client's metric is known by."""

    @property
    def name(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def tags(self) -> tuple[tuple[str, str], ...]: ...


AnyMetric = TypeVar("AnyMetric", bound=Metric)


def metrics_table(metrics: Mapping[AnyMetric, object]) -> str:
    """Names and values in columns, sorted by name; numbers with three decimals."""
    texts = {_named(metric): value for metric, value in metrics.items()}
    width = max(map(len, texts), default=0)
    lines = ["", f"{'Metric Name':<{width}}   Value"]
    for name in sorted(texts):
        value = texts[name]
        text = fixed(float(value), 3) if isinstance(value, int | float) else str(value)
        lines.append(f"{name:<{width}} : {text}")
    return "\n".join(lines)


def _named(metric: Metric) -> str:
    tags = ", ".join(f"{name}={value}" for name, value in metric.tags)
    return f"{metric.group}:{metric.name}:{{{tags}}}"
