"""One Spark session for all tests of a run, with our data sources; the jars of Spark's own connector, to compare with.

Spark itself comes with the package pyspark; of its own connector the jars come from Maven Central through
tests/interop/spark/pom.xml and stay in `.cache/spark-connector`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_zk.spark.cli.session import make_session
from kafka_zk.spark.jobs.outcome import Outcome
from kafka_zk.spark.settings.declaration import Settings
from kafka_zk.spark.settings.jobs import JOBS
from kafka_zk.tools.pipeline.__main__ import java_home
from tests.support.maven import SPARK_CONNECTOR, jars
from tests.support.pipeline import FOR_SHORT_LIVES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROJECT = Path(__file__).resolve().parents[2]
CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.memory": "1g",
    # What fails in a test fails at once.
    "spark.task.maxFailures": "1",
    "spark.sql.streaming.minBatchesToRetain": "5",
    "spark.sql.adaptive.enabled": "false",
}


RunJob = Callable[..., Outcome]


def job_runner(session: SparkSession, bootstrap: str) -> RunJob:
    """Runs a job by its name in this session; settings are keywords, `create_topics=True` for create-topics."""

    def run(name: str, **given: object) -> Outcome:
        settings = {key.replace("_", "-"): value for key, value in given.items()}
        settings.setdefault("bootstrap-server", bootstrap)
        return import_module(f"kafka_zk.spark.jobs.{name}").run(session, Settings(JOBS[name], settings))

    return run


def connector_jars() -> list[Path]:
    """Spark's own connector for Kafka; fetched by Maven the first time."""
    return sorted(jars(SPARK_CONNECTOR).glob("*.jar"))


def start_spark(warehouse: Path, **conf: str) -> SparkSession:
    """A session of two threads. Its workers see this project, and the environment of the tests stays as it was."""
    before = {name: os.environ.get(name) for name in ("JAVA_HOME", "PYTHONPATH", *FOR_SHORT_LIVES)}
    os.environ |= {"JAVA_HOME": str(java_home(warehouse / "java")), **FOR_SHORT_LIVES}
    # Spark hands it on to its workers when they start with the JVM.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(PROJECT), before["PYTHONPATH"])))
    try:
        given = {"spark.sql.warehouse.dir": str(warehouse), **CONF, **conf}
        return make_session("tests", "local[2]", given)
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
