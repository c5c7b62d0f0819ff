"""Fetches what the suites need from elsewhere before they ask for it: ZooKeeper's image, jars, modules of Go.

    python -m tests.support.fetch SUITE...

Only time is won: a suite that finds something missing fetches it itself, and says what is wrong.
"""

from __future__ import annotations

import sys

from tests.support import apache, golang, spark
from tests.support.maven import ZOOKEEPER_3_5, jars
from tests.support.zookeeper_container import NoContainerError, connect_to_engine, find_image


def main(suites: set[str]) -> None:
    try:
        print(f"fetched: {find_image(connect_to_engine())}")
    except NoContainerError as reason:
        print(f"not fetched: {reason}")
    if "interop" in suites:
        for class_path in (
            apache.classpath_with_apps(),
            apache.classpath_of_clients_4(),
            apache.classpath_of_kafka_3_4(),
        ):
            print(f"fetched: {class_path}")
        print(f"fetched: {jars(ZOOKEEPER_3_5)}")
        print(f"fetched: {len(spark.connector_jars())} jars of Spark's connector")
        print(f"built: {golang.built(golang.FRANZ_GO)}")


if __name__ == "__main__":
    main(set(sys.argv[1:]))
