"""What conversions cost: one value for every request, a little of it taken in at a time."""

from __future__ import annotations

from typing import Any

from kafka_zk.clock import SimClock
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.conversions import NOTES_PER_FOLD, ProduceConversions

REQUEST_METRICS = "kafka.network:type=RequestMetrics,name="
CONVERTED = "kafka.server:type=BrokerTopicMetrics,name=ProduceMessageConversionsPerSec"


def test_more_than_a_fold_takes_is_taken_in_by_the_next_ones_and_zeros_come_last() -> None:
    registry = MetricsRegistry(SimClock())
    conversions = ProduceConversions(registry)
    requests = registry.histogram(REQUEST_METRICS + "RequestBytes", request="Produce")
    noted = 2 * NOTES_PER_FOLD + 1
    for index in range(noted):
        conversions.begin("t")(1 if index % 2 else 0, 100)
    requests.add([(1, noted + 5)], 0)
    assert registry.fold_some()
    registry.fold()
    memory: Any = registry.find(REQUEST_METRICS + "TemporaryMemoryBytes", request="Produce")
    assert memory.count == noted + 5
    assert round(memory.attributes()["Mean"] * memory.count) == 100 * noted
    meters: list[Any] = [registry.find(CONVERTED), registry.find(CONVERTED, topic="t")]
    assert [meter.count for meter in meters] == [NOTES_PER_FOLD, NOTES_PER_FOLD]
