from collections.abc import Iterator
from typing import Any

from kafka_zk.clock import SimClock
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.meters import Meter
from kafka_zk.metrics.topic_metrics import TOPICS_PER_FOLD, BrokerTopicStats

TOPICS = "kafka.server:type=BrokerTopicMetrics,name="


def given_registry() -> MetricsRegistry:
    return MetricsRegistry(SimClock())


def count_of(registry: MetricsRegistry, name: str, **tags: object) -> int:
    metric = registry.find(name, **tags)
    return 0 if metric is None else int(metric.attributes()["Count"])


def test_an_amount_counts_for_the_topic_and_for_the_broker():
    registry = given_registry()
    stats = BrokerTopicStats(registry)
    stats.topic("a").bytes_in(10)
    stats.topic("b").bytes_in(5)
    registry.fold()
    assert count_of(registry, TOPICS + "BytesInPerSec", topic="a") == 10
    assert count_of(registry, TOPICS + "BytesInPerSec") == 15


def test_a_topic_shows_a_meter_only_after_its_first_event():
    registry = given_registry()
    stats = BrokerTopicStats(registry)
    stats.topic("a").messages_in(1)
    registry.fold()
    assert registry.find(TOPICS + "MessagesInPerSec", topic="a") is not None
    assert registry.find(TOPICS + "BytesOutPerSec", topic="a") is None


def test_a_removed_topic_leaves_its_amounts_in_the_totals():
    registry = given_registry()
    stats = BrokerTopicStats(registry)
    stats.topic("a").bytes_out(3)
    registry.fold()
    stats.topic("a").bytes_out(4)
    stats.remove_topic("a")
    registry.fold()
    assert registry.find(TOPICS + "BytesOutPerSec", topic="a") is None
    assert count_of(registry, TOPICS + "BytesOutPerSec") == 7


def test_meters_say_what_they_count():
    registry = given_registry()
    BrokerTopicStats(registry)
    metric = registry.find(TOPICS + "BytesInPerSec")
    assert isinstance(metric, Meter)
    assert metric.attributes()["EventType"] == "bytes"


def test_many_topics_are_folded_some_at_a_time_and_none_is_missed():
    registry = given_registry()
    stats = BrokerTopicStats(registry)
    many = [f"t{number}" for number in range(3 * TOPICS_PER_FOLD)]
    for name in many:
        stats.topic(name).bytes_in(1)
    assert registry.fold_some()
    assert count_of(registry, TOPICS + "BytesInPerSec") == TOPICS_PER_FOLD
    registry.fold()
    assert [count_of(registry, TOPICS + "BytesInPerSec", topic=name) for name in many] == [1] * len(many)


def test_a_topic_that_is_removed_in_the_middle_of_a_fold_does_not_come_back():
    registry = given_registry()
    stats = BrokerTopicStats(registry)
    for number in range(2 * TOPICS_PER_FOLD):
        stats.topic(f"t{number}").bytes_in(1)
    assert registry.fold_some()
    late = stats.topic("t0")
    stats.remove_topic("t0")
    late.bytes_in(1)
    registry.fold()
    assert registry.find(TOPICS + "BytesInPerSec", topic="t0") is None


def test_removing_a_topic_looks_at_no_metric_of_the_others():
    class Unwalkable(dict[Any, Any]):
        def __iter__(self) -> Iterator[Any]:
            raise AssertionError("there may be tens of thousands")

    registry = given_registry()
    stats = BrokerTopicStats(registry)
    stats.topic("a").bytes_in(1)
    registry.fold()
    registry._metrics = Unwalkable(registry._metrics)
    stats.remove_topic("a")
    registry._metrics = dict(registry._metrics.items())
    assert registry.find(TOPICS + "BytesInPerSec", topic="a") is None
