import gevent.event
import pytest
from gevent import socket

from kafka_zk.clock import SimClock, SystemClock
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.http import MetricsServer
from kafka_zk.metrics.loop import MetricsLoop
from kafka_zk.metrics.prometheus import exposition


def series(registry: MetricsRegistry) -> set[str]:
    lines = exposition(registry).decode().splitlines()
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
    assert "kafka.server:type=X,name=Bad could not be read" in caplog.text


def http(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
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
        assert folded.wait(timeout=5)
    finally:
        loop.stop()
    folded.clear()
    assert not folded.wait(timeout=0.05)
