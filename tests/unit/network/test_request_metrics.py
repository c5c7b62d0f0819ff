"""RequestMetrics: rows become Kafka's histograms and meters, once their answers have left."""

from __future__ import annotations

from typing import Any

from kafka_zk.clock import SimClock
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network.request_metrics import ROWS_PER_FOLD, RequestMetrics

MS = 1_000_000


def given() -> tuple[MetricsRegistry, RequestMetrics]:
    registry = MetricsRegistry(SimClock())
    return registry, RequestMetrics(registry)


def attributes(registry: MetricsRegistry, name: str, **tags: Any) -> dict[str, Any]:
    metric = registry.find(f"kafka.network:type=RequestMetrics,name={name}", **tags)
    assert metric is not None
    return dict(metric.attributes())


def test_the_parts_of_the_time_add_up_to_the_total() -> None:
    registry, metrics = given()
    stamp = [70 * MS, 100 * MS]
    metrics.of("Produce").rows.append((9, 123, 0, 10 * MS, 30 * MS, 60 * MS, 5, stamp))
    registry.fold()
    names = ("RequestQueueTimeMs", "LocalTimeMs", "RemoteTimeMs", "ResponseQueueTimeMs", "ResponseSendTimeMs")
    parts = [attributes(registry, name, request="Produce")["Max"] for name in names]
    assert parts == [10, 20, 30, 10, 30]
    assert attributes(registry, "TotalTimeMs", request="Produce")["Max"] == sum(parts)
    assert attributes(registry, "ThrottleTimeMs", request="Produce")["Max"] == 5
    assert attributes(registry, "RequestBytes", request="Produce")["Max"] == 123
    assert attributes(registry, "RequestsPerSec", request="Produce", version=9)["Count"] == 1


def test_a_request_counts_once_its_answer_has_left() -> None:
    registry, metrics = given()
    stamp = [0, 0]
    metrics.of("Fetch").rows.append((12, 50, 0, 0, 0, 0, 0, stamp))
    registry.fold()
    assert attributes(registry, "TotalTimeMs", request="Fetch")["Count"] == 0
    stamp[:] = [1 * MS, 2 * MS]
    registry.fold()
    registry.fold()
    assert attributes(registry, "TotalTimeMs", request="Fetch")["Count"] == 1


def test_errors_are_counted_by_name_and_unknown_codes_as_unknown() -> None:
    registry, metrics = given()
    counts = metrics.of("Metadata").error_counts
    counts[0] += 3
    counts[3] += 1
    counts[9999] += 1
    registry.fold()
    found = {
        error: attributes(registry, "ErrorsPerSec", request="Metadata", error=error)["Count"]
        for error in ("NONE", "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_SERVER_ERROR")
    }
    assert found == {"NONE": 3, "UNKNOWN_TOPIC_OR_PARTITION": 1, "UNKNOWN_SERVER_ERROR": 1}


def test_a_full_second_is_folded_in_steps_and_nothing_is_lost() -> None:
    registry, metrics = given()
    rows = 3 * ROWS_PER_FOLD + 1
    times = metrics.of("Produce")
    times.rows += [(9, 1, 0, 0, 0, 0, 0, [1, 1])] * rows
    steps = 1
    while metrics.fold(0):
        steps += 1
    assert steps == 4
    assert attributes(registry, "TotalTimeMs", request="Produce")["Count"] == rows
