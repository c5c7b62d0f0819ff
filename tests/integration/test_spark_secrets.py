"""Secrets of clients reach Spark's workers, and nothing that Spark shows or writes down holds them (security 12.38)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.spark.client_secrets import write_properties
from kafka_zk.tools.pipeline.__main__ import java_home
from tests.support.broker import OurBroker
from tests.support.certificates import PASSWORD, CertificateAuthority, Stores
from tests.support.pipeline import FOR_SHORT_LIVES
from tests.support.processes import free_port
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

PROJECT = Path(__file__).resolve().parents[2]
PATIENCE_S = 240


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return CertificateAuthority().issue("spark", tmp_path_factory.mktemp("stores"))


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """It lets nobody in without a certificate."""
    overrides = {
        "listeners": f"SSL://127.0.0.1:{free_port()}",
        "security.inter.broker.protocol": "SSL",
        "ssl.client.auth": "required",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(stores.keystore_pem),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(stores.ca_pem),
        "auto.create.topics.enable": "true",
    }
    made = OurBroker(tmp_path_factory.mktemp("broker"), fresh_chroot(zookeeper, "secrets"), overrides=overrides)
    made.start()
    yield made
    made.stop()


def client(stores: Stores) -> dict[str, str]:
    """Key and chain as PEM text: what no pattern of Spark's own takes for a secret."""
    key, chain = stores.encrypted_pem.read_text().split("-----BEGIN CERTIFICATE-----", 1)
    return {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(stores.ca_pem),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": key,
        "ssl.keystore.certificate.chain": f"-----BEGIN CERTIFICATE-----{chain}",
        "ssl.key.password": PASSWORD,
    }


def planted(stores: Stores) -> list[bytes]:
    key = stores.encrypted_pem.read_text().splitlines()
    return [PASSWORD.encode(), key[1].encode(), key[2].encode()]


def environ(folder: Path, **more: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(PROJECT), os.environ.get("PYTHONPATH"))))
    java = {"JAVA_HOME": str(java_home(folder / "java"))}
    return {**os.environ, **FOR_SHORT_LIVES, **java, "PYTHONPATH": path, **more}


def holders(folder: Path, output: bytes, secrets: list[bytes]) -> list[str]:
    """What of a run's output and files holds a secret."""
    found = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    found["its output"] = output
    return [name for name, content in found.items() if any(secret in content for secret in secrets)]


def test_queries_read_and_write_behind_tls_and_show_no_secret(
    broker: OurBroker, stores: Stores, tmp_path: Path
) -> None:
    given = client(stores)
    file = tmp_path / "client.properties"
    write_properties(file, {**given, "ssl.key.password": "${env:KEY_PASSWORD}"})
    run = tmp_path / "run"
    run.mkdir()
    inline = {f"kafka.{name}": value for name, value in given.items()}
    program = [sys.executable, "-m", "tests.integration.spark_with_secrets", broker.bootstrap, str(run)]
    ended = subprocess.run(
        [*program, json.dumps(inline), json.dumps({"kafka.config.file": str(file)})],
        env=environ(tmp_path, KEY_PASSWORD=PASSWORD),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE_S,
        check=False,
    )
    text = ended.stdout.decode()
    assert ended.returncode == 0, text[-3000:]
    assert "there are 10\n" in text
    assert "there are 20\n" in text
    # The second query has another checkpoint.
    assert "copied 30\n" in text
    assert list((run / "events").iterdir())
    assert holders(run, ended.stdout, planted(stores)) == []


def test_a_job_takes_a_file_of_client_settings_and_shows_no_secret(
    broker: OurBroker, stores: Stores, tmp_path: Path
) -> None:
    file, run = tmp_path / "client.properties", tmp_path / "run"
    write_properties(file, client(stores))
    (run / "events").mkdir(parents=True)
    (run / "in.csv").write_text("a\n1\n2\n")
    conf = {"eventLog.enabled": "true", "eventLog.dir": str(run / "events"), "eventLog.compress": "false"}
    arguments = ["--command-config", str(file), "--path", str(run / "in.csv"), "--topic", "jobs"]
    arguments += ["--create-partitions", "1", "--checkpoint", str(run / "checkpoint")]
    arguments += [part for name, value in conf.items() for part in ("--conf", f"spark.{name}={value}")]
    ended = subprocess.run(
        [sys.executable, "-m", "kafka_zk.tools.pipeline", "ingest", "--bootstrap-server", broker.bootstrap, *arguments],
        env=environ(tmp_path, KAFKA_PIPELINE_TRACEBACK="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout.decode()[-3000:]
    assert holders(run, ended.stdout, planted(stores)) == []
