import gevent.event
import pytest
from gevent import socket
from prometheus_client.parser import text_string_to_metric_families

from kafka_zk.clock import SimClock, SystemClock
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.http import MetricsServer
from kafka_zk.metrics.loop import MetricsLoop
from kafka_zk.metrics.prometheus import exposition


def series(registry: MetricsRegistry) -> set[str]:
    lines = b"".join(exposition(registry)).decode().splitlines()
    return {line for line in lines if line.startswith("kafka_")}


def test_series_have_the_names_that_the_jmx_exporter_makes():
    clock = SimClock()
    registry = MetricsRegistry(clock)
    registry.meter("kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec", topic="a.b").mark(5)
    registry.gauge("kafka.server:type=ReplicaManager,name=LeaderCount", lambda: 3)
    registry.gauge("kafka.server:type=KafkaServer,name=ClusterId", lambda: "abc")
    registry.gauge("kafka.server:type=socket-server-metrics", lambda: 2, attribute="connection-count", listener="L")
    assert series(registry) == {
        'kafka_server_brokertopicmetrics_bytesin_total{topic="a.b"} 5.0',
        "kafka_server_replicamanager_leadercount 3.0",
        'kafka_server_kafkaserver_clusterid{value="abc"} 1.0',
        'kafka_server_socket_server_metrics_connection_count{listener="L"} 2.0',
    }


def test_percentages_are_rates_and_not_totals():
    clock = SimClock()
    registry = MetricsRegistry(clock)
    registry.meter("kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent").mark(4)
    clock.advance(5_000)
    assert series(registry) == {"kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent 0.8"}


def test_a_histogram_is_a_count_and_its_quantiles():
    registry = MetricsRegistry(SimClock())
    histogram = registry.histogram("kafka.network:type=RequestMetrics,name=TotalTimeMs", request="Produce")
    histogram.update(7)
    lines = series(registry)
    assert 'kafka_network_requestmetrics_totaltimems_count{request="Produce"} 1.0' in lines
    assert 'kafka_network_requestmetrics_totaltimems{quantile="0.999",request="Produce"} 7.0' in lines
    assert len(lines) == 7


def test_a_gauge_that_fails_does_not_hide_the_others(caplog: pytest.LogCaptureFixture):
    registry = MetricsRegistry(SimClock())
    registry.gauge("kafka.server:type=X,name=Bad", lambda: 1 // 0)
    registry.gauge("kafka.server:type=X,name=Good", lambda: 1)
    assert series(registry) == {"kafka_server_x_good 1.0"}
    assert "Could not read the gauge kafka.server:type=X,name=Bad" in caplog.text


def test_a_table_is_a_series_a_name_and_row():
    registry = MetricsRegistry(SimClock())
    rows = [((("topic", "a"), ("partition", "0")), (1, float("nan"))), ((("topic", "a"), ("partition", "1")), (2, 0.5))]
    registry.gauge_table("kafka.cluster:type=Partition", ("Replicas", "Lag"), lambda: rows, row_count=lambda: 2)
    assert series(registry) == {
        'kafka_cluster_partition_replicas{partition="0",topic="a"} 1.0',
        'kafka_cluster_partition_lag{partition="0",topic="a"} NaN',
        'kafka_cluster_partition_replicas{partition="1",topic="a"} 2.0',
        'kafka_cluster_partition_lag{partition="1",topic="a"} 0.5',
    }


def test_a_table_that_fails_does_not_hide_the_others(caplog: pytest.LogCaptureFixture):
    registry = MetricsRegistry(SimClock())
    registry.gauge_table("kafka.server:type=Bad", ("A",), lambda: [((), (1 // 0,))], row_count=lambda: 1)
    registry.gauge_table("kafka.server:type=Good", ("A",), lambda: [((), (1,))], row_count=lambda: 1)
    assert series(registry) == {"kafka_server_good_a 1.0"}
    assert "Could not read the gauges of kafka.server:type=Bad" in caplog.text


def test_labels_of_any_text_are_escaped_and_read_back():
    registry = MetricsRegistry(SimClock())
    odd = 'a"b\\c\nd,e={}'
    registry.gauge("kafka.log:type=LogManager,name=LogDirectoryOffline", lambda: 0, logDirectory=odd)
    (family,) = (
        each for each in text_string_to_metric_families(b"".join(exposition(registry)).decode()) if "kafka" in each.name
    )
    assert [sample.labels for sample in family.samples] == [{"logdirectory": odd}]


def test_each_name_is_described_once_and_its_series_stand_together():
    registry = MetricsRegistry(SimClock())
    for topic in ("a", "b"):
        registry.meter("kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec", topic=topic)
        registry.meter("kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec", topic=topic)
    lines = [line for line in b"".join(exposition(registry)).decode().splitlines() if "kafka" in line]
    assert [line.split("{")[0] for line in lines] == [
        line
        for name in ("bytesin", "bytesout")
        for full_name in [f"kafka_server_brokertopicmetrics_{name}_total"]
        for line in (
            f"# HELP {full_name} Kafka metric {full_name}",
            f"# TYPE {full_name} counter",
            full_name,
            full_name,
        )
    ]


def test_others_get_their_turn_while_a_page_is_written():
    registry = MetricsRegistry(SimClock())
    rows = [((("partition", str(number)),), (number,)) for number in range(50)]
    registry.gauge_table("kafka.cluster:type=Partition", ("Replicas",), lambda: rows, row_count=lambda: 50)
    pauses: list[int] = []
    exposition(registry, lambda: pauses.append(1))
    assert len(pauses) >= 50


def http(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(request)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    return answer


@pytest.mark.parametrize(
    ("request_line", "status"),
    [(b"GET /metrics", b"200 OK"), (b"GET /nothing", b"404 Not Found"), (b"POST /metrics", b"405 Method Not Allowed")],
)
def test_the_end_point_serves_one_page(request_line: bytes, status: bytes):
    registry = MetricsRegistry(SystemClock())
    registry.counter("kafka.server:type=X,name=Y").inc(3)
    server = MetricsServer(registry, host="127.0.0.1", port=0)
    server.start()
    try:
        answer = http(server.port, request_line + b" HTTP/1.0\r\nContent-Length: 0\r\n\r\n")
    finally:
        server.stop()
    assert answer.split(b"\r\n")[0].endswith(status)
    assert (b"kafka_server_x_y_total 3.0" in answer) == (status == b"200 OK")


def test_the_loop_folds_until_it_is_stopped():
    registry = MetricsRegistry(SystemClock())
    folded = gevent.event.Event()

    def folder(now_ms: int) -> bool:
        folded.set()
        return False

    registry.on_fold(folder)
    loop = MetricsLoop(registry, interval_ms=1)
    loop.start()
    try:
        assert folded.wait(timeout=60)
    finally:
        loop.stop()
    folded.clear()
    assert not folded.wait(timeout=0.05)


def test_a_scrape_of_thousands_of_partitions_lets_others_run_meanwhile():
    registry = MetricsRegistry(SystemClock())
    turns = 0
    turns_seen: list[int] = []

    def rows():
        for number in range(5_000):
            turns_seen.append(turns)
            yield (("topic", "t"), ("partition", str(number))), (number,) * 6

    names = ("A", "B", "C", "D", "E", "F")
    registry.gauge_table("kafka.cluster:type=Partition", names, rows, row_count=lambda: 5_000)

    def take_turns() -> None:
        nonlocal turns
        while True:
            gevent.sleep(0)
            turns += 1

    server = MetricsServer(registry, host="127.0.0.1", port=0)
    server.start()
    other = gevent.spawn(take_turns)
    try:
        page = http(server.port, b"GET /metrics HTTP/1.0\r\n\r\n")
    finally:
        other.kill()
        server.stop()
    assert page.count(b"\nkafka_cluster_partition_") == 30_000
    assert turns_seen[-1] - turns_seen[0] >= 5
