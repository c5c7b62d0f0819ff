"""A mirror in transactions while its driver and workers are killed, or another run takes it over: readers of the target
see each transaction of the source whole, at any moment, and once. The target is our broker, or Apache's."""

from __future__ import annotations

import os
import random
import signal
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pyarrow.dataset
import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import NewTopic
from kafka_zk.client.admin.transaction_results import TransactionDescription, TransactionState
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs.mirror import PREFIX
from kafka_zk.spark.jobs.sole_run import LOCK
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.our_consumer import Consumers, poll_until
from tests.support.pipeline import PipelineJob
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

pytestmark = pytest.mark.slow
Broker = ApacheBroker | OurBroker
PARTITIONS, TRANSACTIONS, EACH = 2, 60, 25
"""`EACH` records of a transaction go to each partition; every fourth transaction is aborted."""
A_BATCH = 400
RUNS, KILLS = 8, 2
TAKEN_OVER = 3
PATIENCE_S = 600
"""Two runs, one after the other, on a machine that has other things to do."""
NUMBERS = count()


@pytest.fixture(scope="module")
def source(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path_factory.mktemp("mirrored"), fresh_chroot(zookeeper, "mirrored")).start()
    yield running
    running.stop()


@pytest.fixture(scope="module", params=[OurBroker, ApacheBroker])
def target(
    request: pytest.FixtureRequest, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    running = request.param(tmp_path_factory.mktemp("target"), fresh_chroot(zookeeper, "target")).start()
    yield running
    running.stop()


class Mirror:
    """A filled topic of the source, its mirror and the job. Close it."""

    def __init__(self, source: OurBroker, target: Broker, folder: Path) -> None:
        self.topic = f"mirrored-{next(NUMBERS)}"
        self.places = [TopicPartition(self.topic, number) for number in range(PARTITIONS)]
        self.folder = folder
        self.admin = AdminClient({"bootstrap.servers": target.bootstrap})
        self._target = target.bootstrap
        self.admin.create_topics([NewTopic(self.topic, PARTITIONS, 1)])
        self._fill(source.bootstrap)
        self._given = ("mirror", "--bootstrap-server", source.bootstrap, "--target-bootstrap-server", target.bootstrap)
        self._given += ("--topics", self.topic, "--transactional", "--max-offsets-per-trigger", str(A_BATCH))
        self._given += ("--checkpoint", str(folder / "state"), "--offsets-path", str(folder / "offsets"))
        # A run that stands still is fenced by the one that takes over, not by the clock.
        self._given += ("--target-kafka", "transaction.timeout.ms=900000")
        self._given += ("--conf", "spark.network.timeout=3600s")

    def __enter__(self) -> Mirror:
        return self

    def __exit__(self, *_: object) -> None:
        self.admin.close()

    def _fill(self, bootstrap: str) -> None:
        serializers = dict.fromkeys(("key.serializer", "value.serializer"), "StringSerializer")
        client = {"bootstrap.servers": bootstrap}
        with AdminClient(client) as admin:
            admin.create_topics([NewTopic(self.topic, PARTITIONS, 1)])
        with KafkaProducer({**client, **serializers, "transactional.id": f"{self.topic}-writer"}) as producer:
            producer.init_transactions()
            for number in range(TRANSACTIONS):
                producer.begin_transaction()
                for record in range(PARTITIONS * EACH):
                    producer.send(self.topic, f"{number} {record // PARTITIONS}", partition=record % PARTITIONS)
                if number % 4 == 3:
                    producer.abort_transaction()
                else:
                    producer.commit_transaction()

    def job(self, name: str) -> PipelineJob:
        # As it is started without a master: a task that fails is not tried again.
        return PipelineJob(self.folder / name, *self._given, master="local[2,1]", patience_s=PATIENCE_S)

    def transaction(self) -> TransactionDescription | None:
        """The mirror's, if its coordinator knows one."""
        owner = self.folder / "state" / "mirrored" / "_mirror"
        if not owner.exists():
            return None
        name = f"{PREFIX}{owner.read_text()}"
        found = self.admin.describe_transactions([name])[name]
        return found if isinstance(found, TransactionDescription) else None

    def is_in_a_batch(self, after: int = -1) -> bool:
        """A transaction has begun whose epoch is greater than that: its batch is noted, and not committed."""
        found = self.transaction()
        return found is not None and found.state is TransactionState.ONGOING and found.producer_epoch > after

    def seen(self) -> list[list[str]]:
        """What readers of committed records see in each partition."""
        found: list[list[str]] = []
        with Consumers(self._target) as consumers:
            for place in self.places:
                consumer = consumers(isolation_level="read_committed")
                consumer.assign([place])
                end = consumer.end_offsets([place])[place]
                records = poll_until([consumer], lambda c=consumer, p=place, e=end: c.position(p) >= e)  # type: ignore[misc]
                found.append([str(record.value) for record in records])
        return found

    def is_whole(self) -> None:
        """In each partition: the first committed transactions of the source, all of each, in order, once."""
        for values in self.seen():
            by_transaction: dict[int, list[int]] = defaultdict(list)
            for value in values:
                number, _, record = value.partition(" ")
                by_transaction[int(number)].append(int(record))
            assert all(records == list(range(EACH)) for records in by_transaction.values()), by_transaction
            committed = [number for number in range(TRANSACTIONS) if number % 4 != 3]
            assert list(by_transaction) == committed[: len(by_transaction)]

    def is_done(self) -> None:
        self.is_whole()
        assert [len(values) for values in self.seen()] == [TRANSACTIONS * 3 // 4 * EACH] * PARTITIONS
        table = pyarrow.dataset.dataset(self.folder / "offsets", format="parquet").to_table().to_pylist()
        told = sorted((row["partition"], row["source_offset"] + n) for row in table for n in range(row["record_count"]))
        assert len(told) == len(set(told)) == PARTITIONS * TRANSACTIONS * 3 // 4 * EACH


@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_readers_of_a_mirror_see_whole_transactions_whoever_is_killed(
    source: OurBroker, target: Broker, tmp_path: Path, victim: str
) -> None:
    chance = random.Random(victim)
    killed, epoch = 0, -1
    with Mirror(source, target, tmp_path) as mirror, mirror.job("job") as job:
        for _ in range(RUNS):
            job.start()
            while killed < KILLS and job.wait_for(
                partial(mirror.is_in_a_batch, epoch), f"a batch is under way after epoch {epoch}"
            ):
                found = mirror.transaction()
                assert found is not None
                epoch = found.producer_epoch
                if victim == "driver":
                    job.kill_driver()
                elif workers := sorted(job.python_workers()):
                    os.kill(chance.choice(workers), signal.SIGKILL)
                killed += 1
                mirror.is_whole()
            if job.wait() == 0:
                break
        else:
            raise AssertionError(f"the mirror did not end well in {RUNS} runs:\n{job.process.output()}")
        assert killed == KILLS
        mirror.is_done()


def test_a_mirror_that_another_run_takes_over_ends_in_plain_words(
    source: OurBroker, target: Broker, tmp_path: Path
) -> None:
    """As where no locks are: the first run stands still in a batch, the second begins and ends, the first goes on."""
    with Mirror(source, target, tmp_path) as mirror, mirror.job("first") as first, mirror.job("second") as second:
        first.start()
        # It is in a batch when it has been stopped, too: what it had sent is answered by then, and no commit was.
        while True:
            assert first.wait_for(mirror.is_in_a_batch, "a batch of the first run is under way"), first.process.output()
            os.killpg(first.process.pid, signal.SIGSTOP)
            if mirror.is_in_a_batch():
                break
            os.killpg(first.process.pid, signal.SIGCONT)
        try:
            mirror.is_whole()
            (tmp_path / "state" / LOCK).unlink()
            second.start()
            assert second.wait() == 0, second.process.output()
            mirror.is_done()
        finally:
            os.killpg(first.process.pid, signal.SIGCONT)
        assert first.wait() == TAKEN_OVER, first.process.output()
        assert "another run of this job has begun with the same checkpoint" in first.process.output()
        assert "Traceback" not in first.process.output()
        mirror.is_done()
