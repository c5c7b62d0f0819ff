import math

import pytest

from kafka_zk.clock import SimClock
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.names import parse_name
from kafka_zk.metrics.registry import METRICS_PER_FOLD
from kafka_zk.metrics.request_names import REQUEST_NAMES

BYTES_IN = "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec"


def given_registry() -> tuple[MetricsRegistry, SimClock]:
    clock = SimClock()
    return MetricsRegistry(clock), clock


def test_asking_twice_for_a_name_gives_the_same_metric():
    registry, _ = given_registry()
    assert registry.meter(BYTES_IN, topic="t") is registry.meter(BYTES_IN, topic="t")
    assert registry.meter(BYTES_IN, topic="t") is not registry.meter(BYTES_IN, topic="u")


def test_a_name_stands_for_one_kind_of_metric():
    registry, _ = given_registry()
    registry.meter(BYTES_IN)
    with pytest.raises(AssertionError, match="is a meter, not a histogram"):
        registry.histogram(BYTES_IN)


def test_a_handle_outlives_the_fold():
    registry, _ = given_registry()
    meter = registry.meter(BYTES_IN)
    mark = meter.mark
    mark(3)
    registry.fold()
    mark(4)
    registry.fold()
    assert meter.count == 7


def test_a_count_is_exact_before_the_fold():
    registry, _ = given_registry()
    counter = registry.counter("kafka.server:type=X,name=Y")
    counter.inc(2)
    registry.fold()
    counter.inc(5)
    assert counter.count == 7


def test_the_first_tick_sets_the_rates_and_later_ones_are_weighted():
    registry, clock = given_registry()
    meter = registry.meter(BYTES_IN)
    meter.mark(500)
    clock.advance(5_000)
    registry.fold()
    assert meter.rates() == (100.0, 100.0, 100.0)
    clock.advance(60_000)
    registry.fold()
    one, five, fifteen = meter.rates()
    assert one == pytest.approx(100 / 2.718281828, rel=1e-6)
    assert one < five < fifteen < 100


def test_the_mean_rate_covers_the_life_of_a_meter():
    registry, clock = given_registry()
    meter = registry.meter(BYTES_IN)
    meter.mark(100)
    clock.advance(10_000)
    registry.fold()
    assert meter.attributes()["MeanRate"] == 10.0


def test_tags_of_an_mbean_keep_their_order_and_odd_values_are_quoted():
    name = parse_name("kafka.log:type=LogManager,name=LogDirectoryOffline", {"logDirectory": "/data/a"})
    assert str(name) == 'kafka.log:type=LogManager,name=LogDirectoryOffline,logDirectory="/data/a"'
    name = parse_name("kafka.cluster:type=Partition,name=AtMinIsr", {"topic": "a.b", "partition": 0})
    assert str(name) == "kafka.cluster:type=Partition,name=AtMinIsr,topic=a.b,partition=0"


def test_a_new_gauge_replaces_the_old_one():
    registry, _ = given_registry()
    registry.gauge("kafka.server:type=KafkaServer,name=BrokerState", lambda: 1)
    registry.gauge("kafka.server:type=KafkaServer,name=BrokerState", lambda: 3)
    metric = registry.find("kafka.server:type=KafkaServer,name=BrokerState")
    assert metric is not None
    assert metric.attributes() == {"Value": 3}


def test_one_mbean_may_have_several_named_attributes():
    registry, _ = given_registry()
    group = "kafka.server:type=socket-server-metrics"
    registry.gauge(group, lambda: 4, attribute="connection-count", listener="PLAINTEXT")
    registry.gauge(group, lambda: 0.5, attribute="request-rate", listener="PLAINTEXT")
    metric = registry.find(group, listener="PLAINTEXT")
    assert metric is not None
    assert metric.attributes() == {"connection-count": 4, "request-rate": 0.5}


def test_the_metrics_of_a_deleted_partition_are_forgotten_together():
    registry, _ = given_registry()
    for partition in (0, 1):
        for name in ("Size", "LogEndOffset"):
            registry.gauge(f"kafka.log:type=Log,name={name}", lambda: 0, topic="t", partition=partition)
    registry.remove_tagged("kafka.log:type=Log", topic="t", partition=0)
    assert [str(name) for name, _ in registry.snapshot()] == [
        "kafka.log:type=Log,name=LogEndOffset,topic=t,partition=1",
        "kafka.log:type=Log,name=Size,topic=t,partition=1",
    ]


def test_a_table_shows_the_rows_there_are_when_somebody_looks():
    registry, _ = given_registry()
    sizes = {"a": 1, "b": 2}

    def rows():
        return [((("topic", topic),), (size, size * 0.5)) for topic, size in sizes.items()]

    registry.gauge_table("kafka.log:type=Log", ("Size", "Half"), rows, row_count=lambda: len(sizes))
    registry.gauge("kafka.log:type=Log,name=Other", lambda: 7)
    assert len(registry) == 5
    half = registry.find("kafka.log:type=Log,name=Half", topic="b")
    assert half is not None
    assert half.attributes() == {"Value": 1.0}
    del sizes["a"]
    assert {str(name): metric.attributes()["Value"] for name, metric in registry.snapshot()} == {
        "kafka.log:type=Log,name=Half,topic=b": 1.0,
        "kafka.log:type=Log,name=Other": 7,
        "kafka.log:type=Log,name=Size,topic=b": 2,
    }
    assert registry.find("kafka.log:type=Log,name=Half", topic="a") is None
    assert len(registry) == 3


def test_a_fold_of_many_metrics_is_done_in_parts_and_misses_none():
    registry, _ = given_registry()
    meters = [registry.meter(BYTES_IN, topic=number) for number in range(3 * METRICS_PER_FOLD + 1)]
    for meter in meters:
        meter.mark(2)
    parts = 1
    while registry.fold_some():
        parts += 1
    assert parts == 4
    assert {meter.attributes()["Count"] for meter in meters} == {2}
    assert not any(meter._pending for meter in meters)


def test_a_fold_goes_on_until_nobody_has_more():
    registry, _ = given_registry()
    parts = [True, True, False]
    folded: list[str] = []

    def first(now_ms: int) -> bool:
        folded.append("first")
        return parts.pop(0)

    def second(now_ms: int) -> bool:
        folded.append("second")
        return False

    registry.on_fold(first)
    registry.on_fold(second)
    registry.fold()
    assert folded == ["first", "first", "first", "second"]


def test_fold_some_does_one_part_and_says_that_more_is_waiting():
    registry, _ = given_registry()
    parts = [True, False]
    registry.on_fold(lambda now_ms: parts.pop(0))
    assert registry.fold_some()
    assert not registry.fold_some()


def test_every_request_name_is_listed_once():
    assert len(REQUEST_NAMES) == len(set(REQUEST_NAMES)) == 65
    assert list(REQUEST_NAMES) == sorted(REQUEST_NAMES)


def test_gathering_leaves_the_metrics_themselves_for_the_fold():
    registry = MetricsRegistry(SimClock())
    rows = [1, 2, 3]

    def gather(now_ms: int) -> bool:
        rows.pop()
        return bool(rows)

    registry.on_gather(gather)
    registry.on_fold(lambda now_ms: pytest.fail("a gather is no fold"))
    assert registry.gather_some()
    assert registry.gather_some()
    assert not registry.gather_some()
    assert rows == []


def test_a_total_that_others_count_has_a_rate_over_the_windows():
    clock = SimClock()
    registry = MetricsRegistry(clock, num_samples=2, sample_window_ms=10_000)
    name = "kafka.server:type=group-coordinator-metrics"
    total = 0
    registry.rate_of(name, lambda: total, rate="offset-commit-rate", count="offset-commit-count")
    metric = registry.find(name)
    assert metric is not None
    for _ in range(10):
        clock.advance(1_000)
        total += 5
        registry.fold()
    assert metric.attributes() == {"offset-commit-count": 50, "offset-commit-rate": pytest.approx(50 / 19)}
    clock.advance(30_000)
    registry.fold()
    assert metric.attributes() == {"offset-commit-count": 50, "offset-commit-rate": 0.0}


def test_a_spread_is_an_average_and_a_maximum_and_nothing_without_values():
    clock = SimClock()
    registry = MetricsRegistry(clock, num_samples=2, sample_window_ms=10_000)
    name = "kafka.server:type=group-coordinator-metrics"
    record = registry.spread_of(name, average="avg", maximum="max")
    metric = registry.find(name)
    assert metric is not None
    assert all(math.isnan(value) for value in metric.attributes().values())
    for value in (1, 2, 6):
        record(value)
    assert metric.attributes() == {"avg": 3, "max": 6}
    clock.advance(20_000)
    assert all(math.isnan(value) for value in metric.attributes().values())
