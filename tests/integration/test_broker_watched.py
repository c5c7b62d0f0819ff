"""What an operator sees of a running broker: its metrics, its state on SIGUSR1."""

from __future__ import annotations

import os
import re
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from kafka_zk.protocol.messages import fetch
from tests.support import wire
from tests.support.broker import OurBroker
from tests.support.processes import free_port, wait_until
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

TOPIC = "watched"


@pytest.fixture(scope="module")
def metrics_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def broker(
    zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory, metrics_port: int
) -> Iterator[OurBroker]:
    running = OurBroker(
        tmp_path_factory.mktemp("watched"),
        fresh_chroot(zookeeper, "watched"),
        overrides={"kafka_zk.metrics.port": str(metrics_port)},
    ).start()
    with RawClient(running.bootstrap) as client:
        wire.create_topic(client, TOPIC, 2)
    yield running
    running.kill()


def scrape(port: int) -> dict[str, float]:
    """The samples by their names and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        lines = answer.read().decode().splitlines()
    samples = [line.rpartition(" ") for line in lines if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in samples}


def the(samples: dict[str, float], pattern: str) -> float:
    """The one sample whose name matches."""
    found = {name: value for name, value in samples.items() if re.fullmatch(pattern, name)}
    assert len(found) == 1, f"{pattern}: {sorted(found)}"
    return next(iter(found.values()))


def test_the_metrics_show_what_was_produced_and_fetched(broker: OurBroker, metrics_port: int) -> None:
    value = bytes(1000)
    with RawClient(broker.bootstrap) as client:
        for _ in range(30):
            wire.write(client, TOPIC, [value] * 2)
        assert len(list(wire.read(client, TOPIC))) == 60
    of_topic = rf'\{{topic="{TOPIC}"\}}'
    messages_in = r"kafka_server_brokertopicmetrics_messagesin_total"
    wait_until(lambda: the(scrape(metrics_port), messages_in + of_topic) == 60, "the produced records are counted")
    samples = scrape(metrics_port)
    bytes_in = the(samples, r"kafka_server_brokertopicmetrics_bytesin_total" + of_topic)
    assert 60 * 1000 < bytes_in < 60 * 1200
    assert the(samples, r"kafka_server_brokertopicmetrics_bytesout_total" + of_topic) == bytes_in
    assert the(samples, messages_in) >= 60
    assert the(samples, r"kafka_controller_kafkacontroller_activecontrollercount") == 1
    assert the(samples, r"kafka_server_replicamanager_partitioncount") == 2
    assert the(samples, r"kafka_server_replicamanager_underreplicatedpartitions") == 0
    assert the(samples, rf'kafka_log_log_logendoffset\{{partition="0",topic="{TOPIC}"\}}') == 60
    assert the(samples, r'kafka_network_requestmetrics_requests_total\{request="Produce",version="9"\}') >= 30


def wait_for_state(broker: OurBroker, *, after: str) -> None:
    wait_until(lambda: "\ngreenlets (" in broker.process.output()[len(after) :], "the state is printed")


def test_sigusr1_and_a_jvms_sigquit_print_a_readable_state_and_nothing_stops(broker: OurBroker) -> None:
    with ExitStack() as crowd:
        waiting = [crowd.enter_context(RawClient(broker.bootstrap)) for _ in range(50)]
        for client in waiting:
            client.post(fetch.FETCH_REQUEST, wire.fetch_request(TOPIC, 0, partition=1, max_wait_ms=30_000), 11)
        with RawClient(broker.bootstrap) as other:
            wire.wait_for_brokers(other)
            for asked in (signal.SIGUSR1, signal.SIGQUIT):
                before = broker.process.output()
                os.kill(broker.process.pid, asked)
                wait_for_state(broker, after=before)
            state = broker.process.output()[len(before) :]
            assert re.search(r"^broker 0 epoch=\d+ cluster=\S{22}$", state, re.MULTILINE)
            assert re.search(r"^zookeeper \S+ state=CONNECTED session=0x", state, re.MULTILINE)
            assert re.search(r"^controller active=True epoch=1 queued=0$", state, re.MULTILINE)
            assert re.search(r"^  Fetch waiting=50 keys=1$", state, re.MULTILINE)
            assert re.search(r"^connections: \d+ open, these have unanswered requests \(50\)$", state, re.MULTILINE)
            assert re.search(rf"^  {TOPIC}-1 leader=0 epoch=0 isr=.*0.* lso=0 hw=0 leo=0$", state, re.MULTILINE)
            assert re.search(
                r"^  5\d x \w+\n(      kafka_zk/\S+\.py:\d+ \w+\n|      in compiled code)", state, re.MULTILINE
            )
            assert "controller/loop.py" in state
            assert wire.write(other, TOPIC, [b"the long polls end"], partition=1) == 0
        for client in waiting:
            client.receive_frame()
