"""server.properties as users have them: what starts, what is said about it, what is remembered, what is measured."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.config.properties import read_file
from kafka_zk.config.shipped import shipped_config
from kafka_zk.tools.server_stop.__main__ import broker_pids
from tests.support.broker import OurBroker
from tests.support.metrics import Scrape, metrics_port
from tests.support.processes import ChildProcess, wait_until
from tests.support.raw_client import RawClient
from tests.support.wire import create_topic, read, wait_for_brokers, write
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

APACHES_KEYS = """
# What stands in the server.properties of Apache Kafka's archive, uncommented.
broker.id=0
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs={folder}/data
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.retention.check.interval.ms=300000
zookeeper.connect={zookeeper}
zookeeper.connection.timeout.ms=18000
group.initial.rebalance.delay.ms=0
"""


class Started:
    """A broker whose properties file is given as text."""

    def __init__(self, folder: Path, text: str, *overrides: str) -> None:
        self._port_file = folder / "port"
        self._port_file.unlink(missing_ok=True)
        (folder / "server.properties").write_text(text)
        command = [sys.executable, "-P", "-m", "kafka_zk.tools.server_start", str(folder / "server.properties")]
        for override in ("listeners=PLAINTEXT://127.0.0.1:0", *overrides):
            command += ["--override", override]
        self.process = ChildProcess(
            [*command, "--port-file", str(self._port_file)], folder / "broker.log", {"LOG_DIR": str(folder / "logs")}
        )

    def __enter__(self) -> Started:
        self.process.start()
        self.process.wait_ready(self._port_file.exists, "the broker serves")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stop()

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._port_file.read_text().strip()}"

    def warnings(self) -> list[str]:
        return re.findall(r" WARN (.*) \(", self.process.output())


def test_apaches_own_server_properties_start_as_they_are_without_a_warning(
    tmp_path: Path, zookeeper_connect: str
) -> None:
    with Started(tmp_path, APACHES_KEYS.format(folder=tmp_path, zookeeper=zookeeper_connect)) as broker:
        assert broker.warnings() == []


def test_our_server_properties_start_without_a_warning(tmp_path: Path, zookeeper_connect: str) -> None:
    text = shipped_config("server.properties").read_text()
    overrides = (f"zookeeper.connect={zookeeper_connect}", f"log.dirs={tmp_path}/data")
    with Started(tmp_path, text, *overrides) as broker:
        assert broker.warnings() == []


def test_what_changes_nothing_is_said_in_one_line_each(tmp_path: Path, zookeeper_connect: str) -> None:
    text = APACHES_KEYS.format(folder=tmp_path, zookeeper=zookeeper_connect)
    text += "metric.reporters=com.example.Reporter\nconfluent.support.metrics.enable=false\n"
    text += "offsets.load.buffer.size=1000\n"
    with Started(tmp_path, text) as broker:
        unknown, ignored, unread = broker.warnings()
    assert "confluent.support.metrics.enable is unknown" in unknown
    assert "ignoring com.example.Reporter" in ignored
    assert "offsets.load.buffer.size is not supported yet" in unread


def test_a_broker_without_an_id_gets_one_above_the_reserved_ones_and_keeps_it(
    tmp_path: Path, zookeeper_connect: str
) -> None:
    text = "".join(
        line
        for line in APACHES_KEYS.format(folder=tmp_path, zookeeper=zookeeper_connect).splitlines(keepends=True)
        if not line.startswith(("broker.id", "log.dirs"))
    )
    text += f"log.dirs={tmp_path}/a,{tmp_path}/b\n"
    for _ in range(2):
        with Started(tmp_path, text, "reserved.broker.max.id=40"):
            ids = {read_file(tmp_path / name / "meta.properties")["broker.id"] for name in "ab"}
        assert ids == {"41"}


def test_logs_go_to_their_files_in_the_log_folder(tmp_path: Path, zookeeper_connect: str) -> None:
    broker = OurBroker(tmp_path, zookeeper_connect).start()
    try:
        with RawClient(broker.bootstrap) as client:
            create_topic(client, "planes")
    finally:
        broker.stop()
    logs = {path.name: path.read_text() for path in (tmp_path / "logs").iterdir()}
    assert set(logs) == {"server.log", "controller.log", "state-change.log", "log-cleaner.log"}
    assert "[KafkaServer id=0] started (kafka.server.KafkaServer)" in logs["server.log"]
    assert "[KafkaServer id=0] shut down completed (kafka.server.KafkaServer)" in logs["server.log"]
    assert "0 successfully elected as the controller. Epoch incremented to 1" in logs["controller.log"]
    assert "Starting the log cleaner (kafka.log.LogCleaner)" in logs["log-cleaner.log"]
    assert "planes" in logs["controller.log"]
    assert "planes-0" in logs["state-change.log"]
    assert "elected as the controller" not in logs["server.log"], "the controller has a file of its own"


def test_a_daemon_leaves_the_terminal_and_writes_where_apaches_does(tmp_path: Path, zookeeper_connect: str) -> None:
    (tmp_path / "server.properties").write_text(APACHES_KEYS.format(folder=tmp_path, zookeeper=zookeeper_connect))
    output, port_file = tmp_path / "logs" / "kafkaServer.out", tmp_path / "port"
    done = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "kafka_zk.tools.server_start", "-daemon", "server.properties"),
            *("--override", "listeners=PLAINTEXT://127.0.0.1:0", "--port-file", str(port_file)),
        ],
        cwd=tmp_path,
        env={**os.environ, "LOG_DIR": str(tmp_path / "logs")},
        capture_output=True,
        timeout=120,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    wait_until(port_file.exists, "the daemon serves")
    daemons = [pid for pid in broker_pids() if Path(f"/proc/{pid}/cwd").resolve() == tmp_path]
    assert len(daemons) == 1
    assert os.getsid(daemons[0]) == daemons[0], "a session of its own"
    os.kill(daemons[0], signal.SIGTERM)
    wait_until(lambda: "shut down completed" in output.read_text(), "the daemon has stopped")


@pytest.fixture(scope="module")
def limited(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """A broker with narrow limits for its connections."""
    overrides = {
        "socket.request.max.bytes": "4096",
        "max.connections.per.ip.overrides": "127.0.0.2:1",
        "connections.max.idle.ms": "700",
        "connection.failed.authentication.delay.ms": "10",
        "queued.max.requests": "1",
    }
    broker = OurBroker(tmp_path_factory.mktemp("limited"), fresh_chroot(zookeeper, "limited"), overrides=overrides)
    yield broker.start()
    broker.stop()


def connect(broker: OurBroker, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", broker.port), timeout=20, source_address=(source, 0))


def is_ended(connection: socket.socket) -> bool:
    """Whether the broker ends the connection without a word; fails when nothing happens for 20 s."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_frame_larger_than_socket_request_max_bytes_ends_its_connection(limited: OurBroker) -> None:
    with connect(limited) as connection:
        connection.sendall((4097).to_bytes(4, "big"))
        assert is_ended(connection)
    wait_until(lambda: "larger than 4096" in limited.process.output(), "the reason is in the log")


def test_a_quiet_connection_ends_after_connections_max_idle_ms(limited: OurBroker) -> None:
    with connect(limited) as connection:
        began = time.monotonic()
        assert is_ended(connection)
        assert time.monotonic() - began >= 0.7


def test_an_address_has_the_number_of_connections_of_its_override(limited: OurBroker) -> None:
    with connect(limited, "127.0.0.2") as first, connect(limited, "127.0.0.2") as second:
        first.settimeout(0.2)
        assert is_ended(second)
        with pytest.raises(TimeoutError):
            first.recv(1)


def test_one_place_in_the_queue_serves_many_clients(limited: OurBroker) -> None:
    with RawClient(limited.bootstrap) as one, RawClient(limited.bootstrap) as other:
        for client in (one, other, one, other):
            wait_for_brokers(client)


def test_every_api_in_use_is_measured_as_kafka_measures_it(tmp_path: Path, zookeeper_connect: str) -> None:
    overrides = {"kafka_zk.metrics.port": "0", "kafka_zk.metrics.host": "localhost"}
    broker = OurBroker(tmp_path, zookeeper_connect, overrides=overrides).start()
    try:
        with RawClient(broker.bootstrap) as client:
            create_topic(client, "planes", partitions=2)
            write(client, "planes", [b"N14228", b"N24211"])
            assert len(list(read(client, "planes"))) == 2
        page = Scrape(metrics_port(broker), "localhost")
    finally:
        broker.stop()
    for request in ("CreateTopics", "Metadata", "Produce", "FetchConsumer", "LeaderAndIsr", "UpdateMetadata"):
        assert sum(page.values("kafka_network_requestmetrics_requests_total", request=request)) >= 1, request
        # As in Apache's, errors stand under Fetch, not under the two kinds of fetches.
        errors = {"request": request.removesuffix("Consumer"), "error": "NONE"}
        assert page.value("kafka_network_requestmetrics_errors_total", **errors) >= 1, request
        for part in ("Total", "RequestQueue", "Local", "Remote", "ResponseQueue", "ResponseSend", "Throttle"):
            assert page.value(f"kafka_network_requestmetrics_{part.lower()}timems_count", request=request) >= 1
        assert page.values("kafka_network_requestmetrics_totaltimems", request=request, quantile="0.99")
    assert page.value("kafka_server_brokertopicmetrics_messagesin_total", topic="planes") == 2
    assert page.value("kafka_server_brokertopicmetrics_bytesin_total", topic="planes") > 60
    assert page.value("kafka_server_brokertopicmetrics_bytesout_total", topic="planes") > 60
    assert page.value("kafka_log_log_logendoffset", topic="planes", partition="0") == 2
    assert page.value("kafka_log_log_size", topic="planes", partition="0") > 60
    for name, value in {
        "controller_kafkacontroller_activecontrollercount": 1,
        "controller_kafkacontroller_offlinepartitionscount": 0,
        "controller_kafkacontroller_globalpartitioncount": 2,
        "server_replicamanager_underreplicatedpartitions": 0,
        "server_replicamanager_underminisrpartitioncount": 0,
        "server_replicamanager_partitioncount": 2,
        "server_replicamanager_leadercount": 2,
        "server_kafkaserver_brokerstate": 3,
        "coordinator_group_groupmetadatamanager_numgroups": 0,
        "log_logmanager_offlinelogdirectorycount": 0,
    }.items():
        assert page.value(f"kafka_{name}") == value, name
    assert 0 <= page.value("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent") <= 1
    assert page.values("kafka_server_sessionexpirelistener_sessionstate", value="CONNECTED") == [1]
    assert page.values("kafka_server_app_info_version", id="0", value="3.9.1") == [1]
    assert page.value("kafka_log_logflushstats_logflushrateandtimems_count") >= 0
    assert page.value("process_resident_memory_bytes") < 80_000_000
