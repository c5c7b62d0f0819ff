"""Jobs where Python has no kafka_zk: workers of a Spark standalone cluster get it packed, and do all of the work; with
--full, spark-submit runs what --package made, driver and all.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset
import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import NewTopic
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.spark.client_secrets import write_properties
from kafka_zk.tools.pipeline.__main__ import java_home
from kafka_zk.zk.embedded import find_java, package_folder
from tests.support.broker import OurBroker
from tests.support.certificates import PASSWORD, CertificateAuthority
from tests.support.librdkafka import Librdkafka, Written
from tests.support.pipeline import PipelineJob
from tests.support.processes import ChildProcess, accepts_connections, free_port
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

WORKERS, PARTITIONS, EACH = 2, 4, 500


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path_factory.mktemp("standalone"), fresh_chroot(zookeeper, "standalone")).start()
    yield running
    running.stop()


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """A Python with our dependencies and without us: a path file names no editable install of its folder."""
    environment = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return environment / "bin" / "python"


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """A master and its workers, started like Spark's own scripts do; their environment knows no path of ours."""
    port = free_port()
    environ = {"SPARK_HOME": str(package_folder("pyspark")), "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": ""}
    environ["SPARK_SCALA_VERSION"] = "2.13"  # as Spark's own start scripts set it
    url = f"spark://127.0.0.1:{port}"

    def program(name: str, *arguments: str) -> ChildProcess:
        command = [str(find_java().launcher), "-Xmx256m", "-cp", f"{package_folder('pyspark')}/jars/*", *arguments]
        return ChildProcess([*command], tmp_path / f"{name}.log", environ)

    place = ("--host", "127.0.0.1", "--webui-port", "0")
    started = [program("master", "org.apache.spark.deploy.master.Master", *place, "--port", str(port))]
    started[0].start()
    try:
        started[0].wait_ready(lambda: accepts_connections(port), "the master listens")
        for number in range(WORKERS):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / f"worker-{number}"))
            started.append(program(f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *place, *size, url))
            started[-1].start()
        for worker in started[1:]:
            worker.wait_ready(
                lambda worker=worker: "Successfully registered" in worker.output(), "the worker is registered"
            )
        yield url
    finally:
        for each in reversed(started):
            each.stop()


def test_two_workers_without_a_checkout_run_a_job(
    broker: OurBroker, kafka: Librdkafka, master: str, bare_python: Path, tmp_path: Path
) -> None:
    without_us = {**os.environ, "PYTHONPATH": ""}
    refused = subprocess.run([bare_python, "-c", "import kafka_zk"], env=without_us, cwd="/", capture_output=True)
    assert b"No module named 'kafka_zk'" in refused.stderr
    topic = kafka.topic(partitions=PARTITIONS)
    for partition in range(PARTITIONS):
        kafka.write(topic, [Written(b"%d" % n) for n in range(EACH)], partition=partition, compression_type="zstd")
    conf = {"spark.driver.host": "127.0.0.1", "spark.executor.memory": "512m", "spark.executor.cores": "1"}
    options = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    PipelineJob(
        tmp_path / "job",
        *("archive", "--bootstrap-server", broker.bootstrap, "--topics", topic, "--path", str(tmp_path / "archive")),
        *options,
        master=master,
        env={"PYSPARK_PYTHON": str(bare_python)},
    ).run()
    assert_archived(tmp_path / "archive")
    unpacked = [list((tmp_path / f"worker-{number}").glob("app-*/*/kafka_zk_env")) for number in range(WORKERS)]
    assert all(unpacked), "each worker had the package"


@pytest.mark.slow
def test_two_workers_get_the_secrets_of_a_file_that_they_do_not_have(
    zookeeper: ZooKeeperServer, master: str, bare_python: Path, tmp_path: Path
) -> None:
    """As a file of Spark's: key, chain and password of a client that the broker asks for its certificate."""
    stores = CertificateAuthority().issue("standalone", tmp_path / "stores")
    overrides = {"listeners": f"SSL://127.0.0.1:{free_port()}", "security.inter.broker.protocol": "SSL"}
    overrides |= {"ssl.client.auth": "required", "ssl.keystore.type": "PEM", "ssl.truststore.type": "PEM"}
    overrides |= {"ssl.keystore.location": str(stores.keystore_pem), "ssl.truststore.location": str(stores.ca_pem)}
    key, chain = stores.encrypted_pem.read_text().split("-----BEGIN CERTIFICATE-----", 1)
    client = {"security.protocol": "SSL", "ssl.keystore.type": "PEM", "ssl.truststore.type": "PEM"}
    client |= {"ssl.keystore.key": key, "ssl.keystore.certificate.chain": f"-----BEGIN CERTIFICATE-----{chain}"}
    client |= {"ssl.key.password": PASSWORD, "ssl.truststore.certificates": stores.ca_pem.read_text()}
    (tmp_path / "driver").mkdir()
    write_properties(tmp_path / "driver" / "client.properties", client)
    running = OurBroker(tmp_path / "broker", fresh_chroot(zookeeper, "standalone-tls"), overrides=overrides).start()
    try:
        serializers = dict.fromkeys(("key.serializer", "value.serializer"), "ByteArraySerializer")
        with KafkaProducer({"bootstrap.servers": running.bootstrap, **client, **serializers}) as producer:
            with AdminClient({"bootstrap.servers": running.bootstrap, **client}) as admin:
                admin.create_topics([NewTopic("t", PARTITIONS, 1)])
            for number in range(PARTITIONS * EACH):
                producer.send("t", b"%d" % number, partition=number % PARTITIONS)
        options = ["--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.executor.memory=512m"]
        options += ["--conf", "spark.executor.cores=1"]
        PipelineJob(
            tmp_path / "job",
            *("archive", "--bootstrap-server", running.bootstrap, "--topics", "t", "--path", str(tmp_path / "archive")),
            *("--command-config", str(tmp_path / "driver" / "client.properties")),
            *options,
            master=master,
            env={"PYSPARK_PYTHON": str(bare_python)},
        ).run()
    finally:
        running.stop()
    assert pyarrow.dataset.dataset(tmp_path / "archive", partitioning="hive").count_rows() == PARTITIONS * EACH
    logs = [path for folder in ("job", "worker-0", "worker-1") for path in (tmp_path / folder).rglob("std*")]
    assert not [path for path in logs if path.is_file() and PASSWORD.encode() in path.read_bytes()]


@pytest.mark.slow
def test_spark_submit_runs_the_package_where_no_checkout_is(
    broker: OurBroker, kafka: Librdkafka, bare_python: Path, tmp_path: Path
) -> None:
    topic = kafka.topic(partitions=PARTITIONS)
    for partition in range(PARTITIONS):
        kafka.write(topic, [Written(b"%d" % n) for n in range(EACH)], partition=partition, compression_type="zstd")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    package = elsewhere / "kafka_zk.tar.gz"
    subprocess.run([sys.executable, "-P", "-m", "kafka_zk.tools.pipeline", "--package", str(package)], check=True)
    with tarfile.open(package) as archive:
        archive.extractall(elsewhere / "kafka_zk_env", filter="data")
    spark = package_folder("pyspark")
    assert spark is not None
    # As docs/pipeline.md says, in a folder that has nothing else.
    command = [str(spark / "bin" / "spark-submit"), "--master", "local[2]"]
    command += ["--archives", "kafka_zk.tar.gz#kafka_zk_env", "--conf", "spark.executorEnv.PYTHONPATH=kafka_zk_env"]
    command += ["kafka_zk_env/pipeline.py", "archive", "--bootstrap-server", broker.bootstrap, "--topics", topic]
    environ = {"PYTHONPATH": "kafka_zk_env", "PYSPARK_PYTHON": str(bare_python), "SPARK_LOCAL_IP": "127.0.0.1"}
    environ["JAVA_HOME"] = str(java_home(tmp_path / "java"))
    done = subprocess.run(
        [*command, "--path", str(tmp_path / "archive")],
        cwd=elsewhere,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith(f"archive: {PARTITIONS * EACH:,} records")
    assert_archived(tmp_path / "archive")


def assert_archived(path: Path) -> None:
    table = pyarrow.dataset.dataset(path, format="parquet").to_table(columns=["partition", "offset"])
    places = sorted(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True))
    assert places == [(partition, offset) for partition in range(PARTITIONS) for offset in range(EACH)]
