"""Sessions of seconds and clients at work: they log in again, or anew, and no error reaches their users."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import kafka
import pytest

from kafka_zk.sasl.scram_credentials import Mechanism
from tests.integration.security.sasl_broker import PREFIX, SCRAM_MODULE, sasl_overrides
from tests.interop.sasl.users import put_scram_user
from tests.support.apache import run_tool
from tests.support.broker import OurBroker
from tests.support.metrics import Scrape, metrics_port
from tests.support.processes import wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

SESSION_MS = 2000
WORK_S = 7.0
PATIENCE_S = 60
MECHANISMS = ("PLAIN", "SCRAM-SHA-512")


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    chroot = fresh_chroot(zookeeper, "renewed")
    put_scram_user(chroot, "alice", *Mechanism)
    overrides = {f"{PREFIX}{mechanism.lower()}.connections.max.reauth.ms": str(SESSION_MS) for mechanism in MECHANISMS}
    running = OurBroker(
        tmp_path_factory.mktemp("renewed"),
        chroot,
        overrides=sasl_overrides({**overrides, "kafka_zk.metrics.port": "0"}),
    ).start()
    yield running
    running.stop()
    assert " ERROR " not in running.process.output()


def total(broker: OurBroker, attribute: str) -> float:
    labels = {"listener": "SASL_PLAINTEXT", "networkprocessor": "0"}
    return Scrape(metrics_port(broker)).value(f"kafka_server_socket_server_metrics_{attribute}", **labels)


def client_properties(folder: Path, mechanism: str = "SCRAM-SHA-512", password: str = "alice-secret") -> str:
    file = folder / f"client-{mechanism}-{password}.properties"
    file.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
        f'sasl.jaas.config={SCRAM_MODULE} required username="alice" password="{password}";\n'
    )
    return str(file)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_writes_on_over_the_ends_of_its_sessions(broker: OurBroker, mechanism: str) -> None:
    """(security 12.26)"""
    failures: list[object] = []
    again = total(broker, "successful_reauthentication_total")
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": "alice",
            "sasl.password": "alice-secret",
            "linger.ms": 1,
            "error_cb": failures.append,
        }
    )
    end_s = time.monotonic() + WORK_S
    while time.monotonic() < end_s:
        producer.produce("renewed", b"x", on_delivery=lambda error, _: error and failures.append(error))
        producer.poll(0.01)
    assert producer.flush(10) == 0
    assert failures == []
    assert total(broker, "successful_reauthentication_total") > again


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_writes_on_over_the_ends_of_its_sessions(broker: OurBroker, mechanism: str) -> None:
    """(security 12.26)"""
    producer = kafka.KafkaProducer(
        bootstrap_servers=broker.bootstrap,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        sasl_plain_username="alice",
        sasl_plain_password="alice-secret",
        acks="all",
    )
    end_s = time.monotonic() + WORK_S
    count = 0
    while time.monotonic() < end_s or count < 100:
        producer.send("renewed", b"x").get(10)
        count += 1
        assert time.monotonic() < end_s + PATIENCE_S, f"only {count} records are written"
    producer.close()


def test_the_java_producer_writes_on_over_the_ends_of_its_sessions(broker: OurBroker, tmp_path: Path) -> None:
    """(security 12.26)"""
    again = total(broker, "successful_reauthentication_total")
    done = run_tool(
        "org.apache.kafka.tools.ProducerPerformance",
        *("--topic", "renewed", "--num-records", "1400", "--record-size", "10", "--throughput", "200"),
        *("--producer-props", f"bootstrap.servers={broker.bootstrap}"),
        *("--producer.config", client_properties(tmp_path)),
    )
    assert done.exit_code == 0, done
    assert "1400 records sent" in done.stdout
    assert " WARN " not in done.stderr and " ERROR " not in done.stderr, done.stderr
    assert total(broker, "successful_reauthentication_total") > again
    assert total(broker, "reauthentication_latency_max") >= 0


def test_a_password_changed_by_apaches_tool_counts_for_the_next_login(broker: OurBroker, tmp_path: Path) -> None:
    """(security 12.19)"""

    def alter(user: str, password: str) -> None:
        done = run_tool(
            "kafka.admin.ConfigCommand",
            *("--bootstrap-server", broker.bootstrap, "--command-config", client_properties(tmp_path)),
            *("--alter", "--entity-type", "users", "--entity-name", user),
            *("--add-config", f"SCRAM-SHA-256=[password={password}]"),
        )
        assert done.exit_code == 0, done

    def consumer(password: str) -> confluent_kafka.Consumer:
        return confluent_kafka.Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "g",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.username": "carol",
                "sasl.password": password,
            }
        )

    def may_log_in(password: str) -> bool:
        client = consumer(password)
        try:
            return bool(client.list_topics(timeout=5).topics is not None)
        except confluent_kafka.KafkaException:
            return False
        finally:
            client.close()

    alter("carol", "first")
    wait_until(lambda: may_log_in("first"), "the first password is known")
    open_session = consumer("first")
    open_session.list_topics(timeout=PATIENCE_S)
    alter("carol", "second")
    wait_until(lambda: may_log_in("second"), "the new password is known")
    assert not may_log_in("first")
    assert open_session.list_topics(timeout=PATIENCE_S).topics is not None, "an open session lives on"
    open_session.close()
