"""Jars from Maven Central: what a pom names, fetched once, kept in `.cache`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.support.one_at_a_time import CACHE, one_at_a_time

INTEROP = Path(__file__).resolve().parents[1] / "interop"
ORACLE = (INTEROP / "pom.xml", CACHE / "apache-kafka")
"""Apache Kafka 3.9.1: broker, clients, tools."""
KAFKA_3_4 = (INTEROP / "kafka34" / "pom.xml", CACHE / "apache-kafka-3.4")
"""A broker of a release that a cluster may come from."""
KAFKA_2_8 = (INTEROP / "kafka28" / "pom.xml", CACHE / "apache-kafka-2.8")
"""The last release whose tools speak to ZooKeeper themselves."""
ZOOKEEPER_3_5 = (INTEROP / "zookeeper35" / "pom.xml", CACHE / "apache-zookeeper-3.5")
"""The last ZooKeeper that does not know MultiRead."""
CLIENTS_4 = (INTEROP / "clients4" / "pom.xml", CACHE / "apache-clients-4")
APPS = (INTEROP / "apps" / "pom.xml", CACHE / "apache-apps")
SPARK_CONNECTOR = (INTEROP / "spark" / "pom.xml", CACHE / "spark-connector")


def jars(source: tuple[Path, Path]) -> Path:
    """Blocks. The folder with the jars of a pom; Maven fetches them the first time, and when the pom has changed."""
    pom, cache = source
    folder = cache / "libs"
    with one_at_a_time("maven"):
        stamp = cache / "pom.xml"
        if not stamp.exists() or stamp.read_bytes() != pom.read_bytes():
            maven = shutil.which("mvn")
            assert maven, "the interop tests need Maven (Debian: apt-get install maven) to fetch jars"
            shutil.rmtree(cache, ignore_errors=True)
            command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
            subprocess.run(command, check=True)
            shutil.copy(pom, stamp)
    return folder
