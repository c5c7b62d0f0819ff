"""restore and mirror while driver, workers and broker are killed: in the target each record stands once, in its place.

In CI a mirror whose broker is killed first; with --full six seeds. What a seed decides: the job, whom it kills, and at
which record.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.dataset
import pytest

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs.cluster import end_offsets
from tests.support.broker import OurBroker
from tests.support.librdkafka import Librdkafka
from tests.support.pipeline import VICTIMS, PipelineJob, run_among_kills, topic_of_numbers
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

PARTITIONS, EACH = 3, 10_000
A_BATCH = 10_000
RUNS = 6
KILLS = 2
IN_CI = 5
SEEDS = [pytest.param(seed, marks=() if seed == IN_CI else pytest.mark.slow) for seed in range(6)]
JOBS = ("restore", "mirror")


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path_factory.mktemp("copy-kills"), fresh_chroot(zookeeper, "copy-kills")).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def topic(broker: OurBroker) -> str:
    return topic_of_numbers(broker.bootstrap, partitions=PARTITIONS, each=EACH)


@pytest.fixture(scope="module")
def archive(broker: OurBroker, topic: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    given = ("--bootstrap-server", broker.bootstrap, "--topics", topic, "--path", str(folder / "data"))
    PipelineJob(folder, "archive", *given).run()
    return folder / "data"


def written(broker: OurBroker, target: str) -> int:
    places = [TopicPartition(target, partition) for partition in range(PARTITIONS)]
    return sum(end_offsets({"bootstrap.servers": broker.bootstrap}, places).values())


def grown_to(broker: OurBroker, target: str, count: int) -> Callable[[], bool]:
    """Looked at ten times a second: the job needs the processors."""

    def look() -> bool:
        time.sleep(0.08)
        return written(broker, target) >= count

    return look


@pytest.mark.parametrize("seed", SEEDS)
def test_each_record_is_copied_once_whoever_is_killed(
    broker: OurBroker, topic: str, request: pytest.FixtureRequest, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    clients = Librdkafka(broker.bootstrap)
    target = clients.topic(partitions=PARTITIONS)
    state = ("--checkpoint", str(tmp_path / "state"), "--rename", f"{topic}={target}")
    if JOBS[seed % len(JOBS)] == "restore":
        archive = str(request.getfixturevalue("archive"))
        given = ("restore", "--bootstrap-server", broker.bootstrap, "--path", archive)
    else:
        given = ("mirror", "--bootstrap-server", broker.bootstrap, "--target-bootstrap-server", broker.bootstrap)
        given += ("--topics", topic, "--offsets-path", str(tmp_path / "offsets"))
        given += ("--max-offsets-per-trigger", str(A_BATCH))
    # As these jobs are started without a master: a task that fails is not tried again.
    job = PipelineJob(tmp_path, *given, *state, master="local[2,1]")
    found: list[int] = []

    def some_records_later() -> bool:
        before = written(broker, target)
        after = before + chance.randrange(1, max(2, (PARTITIONS * EACH - before) // 2))
        if not job.wait_for(grown_to(broker, target, after), f"{after} records are written"):
            return False
        found.append(written(broker, target))
        return True

    first = VICTIMS[seed % len(VICTIMS)]
    killed = run_among_kills(job, broker, chance, first=first, kills=KILLS, runs=RUNS, moment=some_records_later)
    assert killed[0] == first
    print(f"seed {seed}: {given[0]}, killed when so many records were written: {list(zip(killed, found, strict=True))}")
    for partition in range(PARTITIONS):
        messages = clients.read(target, EACH, partition=partition)
        assert [int(message.value() or b"") for message in messages] == list(range(EACH))
    assert written(broker, target) == PARTITIONS * EACH
    if given[0] == "mirror":
        table = pyarrow.dataset.dataset(tmp_path / "offsets", format="parquet").to_table().to_pylist()
        assert all(row["source_offset"] == row["target_offset"] for row in table)
        assert sum(row["record_count"] for row in table) == PARTITIONS * EACH
    clients.close()
