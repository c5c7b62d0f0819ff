"""--print-metrics."""

from __future__ import annotations

from typing import NamedTuple

from kafka_zk.tools.common.metrics_table import metrics_table


class Metric(NamedTuple):
    name: str
    group: str
    tags: tuple[tuple[str, str], ...]


def test_metrics_stand_in_columns_sorted_by_name() -> None:
    tags = (("client-id", "x"),)
    metrics = {
        Metric("b", "group", (*tags, ("node-id", "1"))): 2,
        Metric("a-rather-long-one", "group", tags): 0.12345,
        Metric("version", "app-info", ()): "3.9.1",
    }
    assert metrics_table(metrics) == (
        "\n"
        "Metric Name                             Value\n"
        "app-info:version:{}                   : 3.9.1\n"
        "group:a-rather-long-one:{client-id=x} : 0.123\n"
        "group:b:{client-id=x, node-id=1}      : 2.000"
    )
