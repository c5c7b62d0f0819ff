"""One Spark session for all tests of a run, with our data sources; the jars of Spark's own connector, to compare with.

Spark itself comes with the package pyspark; of its own connector the jars come from Maven Central through
tests/interop/spark/pom.xml and stay in `.cache/spark-connector`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_zk.spark.cli.session import make_session
from kafka_zk.tools.pipeline import choose_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROJECT = Path(__file__).resolve().parents[2]
CACHE = PROJECT / ".cache" / "spark-connector"
POM = PROJECT / "tests" / "interop" / "spark" / "pom.xml"
CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.memory": "1g",
    # What fails in a test fails at once.
    "spark.task.maxFailures": "1",
    "spark.sql.streaming.minBatchesToRetain": "5",
    "spark.sql.adaptive.enabled": "false",
}


def connector_jars() -> list[Path]:
    """Spark's own connector for Kafka; fetched by Maven the first time."""
    stamp = CACHE / "pom.xml"
    if not stamp.exists() or stamp.read_bytes() != POM.read_bytes():
        maven = shutil.which("mvn")
        assert maven, "the interop tests need Maven (Debian: apt-get install maven) to fetch Spark's connector"
        shutil.rmtree(CACHE, ignore_errors=True)
        subprocess.run(
            [maven, "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={CACHE}/libs"],
            check=True,
        )
        shutil.copy(POM, stamp)
    return sorted((CACHE / "libs").glob("*.jar"))


def start_spark(warehouse: Path, **conf: str) -> SparkSession:
    """A session of two threads. Its workers see this project, and the environment of the tests stays as it was."""
    java_home = os.environ.get("JAVA_HOME")
    python_path = os.environ.get("PYTHONPATH")
    choose_java(warehouse / "java")
    # Spark hands it on to its workers when they start with the JVM.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(PROJECT), python_path)))
    try:
        given = {"spark.sql.warehouse.dir": str(warehouse), **CONF, **conf}
        return make_session("tests", "local[2]", given)
    finally:
        _restore("JAVA_HOME", java_home)
        _restore("PYTHONPATH", python_path)


def _restore(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
