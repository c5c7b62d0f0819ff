from kafka_zk.clock import SimClock
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.meters import Meter
from kafka_zk.metrics.request_metrics import REQUEST_NAMES, RequestMetrics
from kafka_zk.metrics.topic_metrics import BrokerTopicStats

REQUESTS = "kafka.network:type=RequestMetrics,name="
TOPICS = "kafka.server:type=BrokerTopicMetrics,name="


def given_registry() -> MetricsRegistry:
    return MetricsRegistry(SimClock())


def count_of(registry: MetricsRegistry, name: str, **tags: object) -> int:
    metric = registry.find(name, **tags)
    return 0 if metric is None else int(metric.attributes()["Count"])


def test_every_request_has_its_eight_histograms_from_the_start():
    registry = given_registry()
    RequestMetrics(registry)
    assert len(REQUEST_NAMES) == 65
    assert len(registry) == 65 * 8


def test_a_record_counts_by_version_error_and_part_of_time():
    registry = given_registry()
    requests = RequestMetrics(registry)
    requests.record(("Produce", 9, 150, 1, 2, 3, 4, 5, 7, None))
    requests.record(("Produce", 3, 150, 0, 0, 0, 0, 0, 0, (("NONE", 2), ("MESSAGE_TOO_LARGE", 1))))
    registry.fold()
    assert count_of(registry, REQUESTS + "RequestsPerSec", request="Produce", version=9) == 1
    assert count_of(registry, REQUESTS + "RequestsPerSec", request="Produce", version=3) == 1
    assert count_of(registry, REQUESTS + "ErrorsPerSec", request="Produce", error="NONE") == 3
    assert count_of(registry, REQUESTS + "ErrorsPerSec", request="Produce", error="MESSAGE_TOO_LARGE") == 1
    most = {}
    for name in ("TotalTimeMs", "RequestQueueTimeMs", "LocalTimeMs", "RemoteTimeMs", "ThrottleTimeMs", "RequestBytes"):
        metric = registry.find(REQUESTS + name, request="Produce")
        assert metric is not None
        most[name] = metric.attributes()["Max"]
    assert most == {
        "TotalTimeMs": 15.0,
        "RequestQueueTimeMs": 1.0,
        "LocalTimeMs": 2.0,
        "RemoteTimeMs": 3.0,
        "ThrottleTimeMs": 7.0,
        "RequestBytes": 150.0,
    }


def test_a_fetch_counts_for_who_fetched_and_for_fetch():
    registry = given_registry()
    requests = RequestMetrics(registry)
    requests.record(("FetchFollower", 17, 80, 0, 0, 0, 0, 0, 0, None))
    registry.fold()
    for name in ("FetchFollower", "Fetch"):
        assert count_of(registry, REQUESTS + "TotalTimeMs", request=name) == 1
    assert count_of(registry, REQUESTS + "TotalTimeMs", request="FetchConsumer") == 0


def test_a_fold_takes_a_bounded_part_and_says_that_more_is_waiting():
    registry = given_registry()
    requests = RequestMetrics(registry)
    for _ in range(10_001):
        requests.record(("Heartbeat", 4, 60, 0, 0, 0, 0, 0, 0, None))
    assert registry.fold_some()
    assert not registry.fold_some()
    assert count_of(registry, REQUESTS + "TotalTimeMs", request="Heartbeat") == 10_001


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
