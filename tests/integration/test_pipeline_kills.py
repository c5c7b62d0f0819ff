"""archive and transform while driver, workers and broker are killed: in the files each record is there once.

Three seeds in CI, one for each victim; twenty with --full. What a seed decides: the job, whom it kills, after which
batch and how long into the next one.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset
import pytest

from tests.support.broker import OurBroker
from tests.support.librdkafka import Librdkafka, Written
from tests.support.pipeline import PipelineJob
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

PARTITIONS, EACH = 3, 2_000
A_BATCH = 1_500
KILLS = 2
RUNS = 8
CI_SEEDS = range(3)
ALL_SEEDS = range(20)
VICTIMS = ("driver", "worker", "broker")
SQL = "SELECT partition, offset, CAST(value.n AS BIGINT) AS n FROM records"


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path_factory.mktemp("pipeline-kills"), fresh_chroot(zookeeper, "pipeline-kills")).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def topic(broker: OurBroker) -> str:
    clients = Librdkafka(broker.bootstrap)
    name = clients.topic(partitions=PARTITIONS)
    for partition in range(PARTITIONS):
        clients.write(name, [Written(b'{"n": %d}' % n) for n in range(EACH)], partition=partition, linger_ms=20)
    clients.close()
    return name


def job_of(chance: random.Random, broker: OurBroker, topic: str, folder: Path) -> PipelineJob:
    common = ("--bootstrap-server", broker.bootstrap, "--topics", topic, "--max-offsets-per-trigger", str(A_BATCH))
    if chance.random() < 0.5:
        return PipelineJob(folder, "archive", *common, "--path", str(folder / "data"))
    decoding = ("--decode", "json", "--schema", "n BIGINT", "--sql", SQL)
    return PipelineJob(folder, "transform", *common, *decoding, "--to-path", str(folder / "data"))


def kill(victim: str, job: PipelineJob, broker: OurBroker, chance: random.Random) -> None:
    if victim == "driver":
        job.kill_driver()
    elif victim == "broker":
        broker.kill()
        broker.start()
    elif workers := sorted(job.python_workers()):
        try:
            os.kill(chance.choice(workers), signal.SIGKILL)
        except ProcessLookupError:
            return


@pytest.mark.parametrize(
    "seed", [seed if seed in CI_SEEDS else pytest.param(seed, marks=pytest.mark.slow) for seed in ALL_SEEDS]
)
def test_each_record_is_there_once_whoever_is_killed(
    broker: OurBroker, topic: str, tmp_path: Path, seed: int, pytestconfig: pytest.Config
) -> None:
    chance = random.Random(seed)
    job = job_of(chance, broker, topic, tmp_path)
    commits = tmp_path / "data" / "_checkpoint" / "commits"
    kills, victim = 0, VICTIMS[seed % len(VICTIMS)]
    for _ in range(RUNS):
        job.start()
        while kills < (KILLS if pytestconfig.getoption("--full") else 1):
            after = commits / str(chance.randrange(2))
            if not job.wait_for(after.exists, f"batch {after.name} is done"):
                break
            # How far into the next batch it is when it is hit: chance, not a wait for anything.
            time.sleep(chance.random())
            kill(victim, job, broker, chance)
            kills += 1
            victim = chance.choice(VICTIMS)
        if job.process.wait(240) == 0:
            break
    else:
        raise AssertionError(f"the job did not end well in {RUNS} runs:\n{job.process.output()}")
    assert kills, "nobody was killed"
    # As any reader sees it that knows nothing of Spark's log.
    table = pyarrow.dataset.dataset(tmp_path / "data", format="parquet").to_table(columns=["partition", "offset"])
    places = sorted(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True))
    assert places == [(partition, offset) for partition in range(PARTITIONS) for offset in range(EACH)]
