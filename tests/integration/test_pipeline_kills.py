"""archive and transform while driver, workers and broker are killed: in files and topic each record is there once.

In CI one archive outlives each of them in turn, and Ctrl-C; with --full twenty seeds. What a seed decides: the job,
whom it kills, after which batch and how long into the next one. Into a topic, six more runs.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset
import pytest

from kafka_zk.protocol.types import TopicPartition
from tests.support.broker import OurBroker
from tests.support.librdkafka import Librdkafka
from tests.support.our_consumer import Consumers, poll_until
from tests.support.pipeline import VICTIMS, PipelineJob, kill_one, run_among_kills, topic_of_numbers
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

PARTITIONS, EACH = 3, 2_000
A_BATCH = 1_500
KILLS = 2
RUNS = 8
SEEDS = range(20)
CTRL_C = "kafka-pipeline.sh: interrupted; run the same command again to continue."
SQL = "SELECT partition, offset, CAST(value.n AS BIGINT) AS n FROM records"


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path_factory.mktemp("pipeline-kills"), fresh_chroot(zookeeper, "pipeline-kills")).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def topic(broker: OurBroker) -> str:
    return topic_of_numbers(broker.bootstrap, partitions=PARTITIONS, each=EACH, form=b'{"n": %d}')


def job_of(chance: random.Random, broker: OurBroker, topic: str, folder: Path) -> PipelineJob:
    common = ("--bootstrap-server", broker.bootstrap, "--topics", topic, "--max-offsets-per-trigger", str(A_BATCH))
    if chance.random() < 0.5:
        return PipelineJob(folder, "archive", *common, "--path", str(folder / "data"))
    decoding = ("--decode", "json", "--schema", "n BIGINT", "--sql", SQL)
    return PipelineJob(folder, "transform", *common, *decoding, "--to-path", str(folder / "data"))


def test_an_archive_outlives_worker_broker_ctrl_c_and_driver(broker: OurBroker, topic: str, tmp_path: Path) -> None:
    given = ("--bootstrap-server", broker.bootstrap, "--topics", topic, "--max-offsets-per-trigger", "600")
    job = PipelineJob(tmp_path, "archive", *given, "--path", str(tmp_path / "data"))
    with job:
        job.start()
        for victim in ("worker", "broker", "Ctrl-C", "driver"):
            wait_for_the_next_batch(job, tmp_path / "data" / "_checkpoint")
            if victim == "Ctrl-C":
                assert job.interrupt() == 130
                assert job.process.output().splitlines()[-1] == CTRL_C
            else:
                kill_one(victim, job, broker, random.Random(0))
            if not job.process.is_running:
                job.start()
        assert job.wait() == 0, job.process.output()
    assert "Traceback" not in job.process.output()
    assert_each_record_is_there_once(tmp_path)


def wait_for_the_next_batch(job: PipelineJob, checkpoint: Path) -> None:
    """One more is done than there are, and the one behind it is planned and not done."""

    def numbers(kind: str) -> set[str]:
        return {path.name for path in (checkpoint / kind).glob("[0-9]*")}

    before = numbers("commits")
    under_way = job.wait_for(
        lambda: numbers("commits") - before and numbers("offsets") - numbers("commits"), "the next batch is under way"
    )
    assert under_way, f"the job ended too early:\n{job.process.output()}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_each_record_is_there_once_whoever_is_killed(broker: OurBroker, topic: str, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    job = job_of(chance, broker, topic, tmp_path)
    commits = tmp_path / "data" / "_checkpoint" / "commits"

    def in_the_next_batch() -> bool:
        after = commits / str(chance.randrange(2))
        if not job.wait_for(after.exists, f"batch {after.name} is done"):
            return False
        # How far into the next batch it is when it is hit: chance, not a wait for anything.
        time.sleep(chance.random())
        return True

    first = VICTIMS[seed % len(VICTIMS)]
    run_among_kills(job, broker, chance, first=first, kills=KILLS, runs=RUNS, moment=in_the_next_batch)
    assert_each_record_is_there_once(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", VICTIMS)
@pytest.mark.parametrize("mode", ["append", "update"])
def test_each_row_is_in_the_topic_once_whoever_is_killed(
    broker: OurBroker, topic: str, tmp_path: Path, first: str, mode: str
) -> None:
    chance = random.Random(f"{first} {mode}")
    clients = Librdkafka(broker.bootstrap)
    target, state = clients.topic(partitions=PARTITIONS), tmp_path / "state"
    given = ("--bootstrap-server", broker.bootstrap, "--topics", topic, "--max-offsets-per-trigger", str(A_BATCH))
    given += ("--decode", "json", "--schema", "n BIGINT", "--sql", SQL, "--to-topic", target)
    job = PipelineJob(tmp_path, "transform", *given, "--output-mode", mode, "--checkpoint", str(state))

    def before_a_batch_is_noted() -> bool:
        """Somewhere in it: tasks have committed, or not."""
        after = state / "commits" / str(chance.randrange(3))
        if not job.wait_for(after.exists, f"batch {after.name} is done"):
            return False
        time.sleep(chance.random())
        return True

    run_among_kills(job, broker, chance, first=first, kills=KILLS, runs=RUNS, moment=before_a_batch_is_noted)
    places = [TopicPartition(target, partition) for partition in range(PARTITIONS)]
    with Consumers(broker.bootstrap) as consumers:
        consumer = consumers(isolation_level="read_committed")
        consumer.assign(places)
        ends = consumer.end_offsets(places)
        found = poll_until([consumer], lambda: all(consumer.position(each) >= ends[each] for each in places))
    rows = sorted((row["partition"], row["offset"]) for row in (json.loads(record.value) for record in found))
    assert rows == [(partition, offset) for partition in range(PARTITIONS) for offset in range(EACH)]
    clients.close()


def assert_each_record_is_there_once(folder: Path) -> None:
    """As any reader sees it that knows nothing of Spark's log."""
    table = pyarrow.dataset.dataset(folder / "data", format="parquet").to_table(columns=["partition", "offset"])
    places = sorted(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True))
    assert places == [(partition, offset) for partition in range(PARTITIONS) for offset in range(EACH)]
