"""What a job refuses instead of dropping records: another checkpoint or directory, another topic of the same name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import NewTopic
from kafka_zk.client.admin.offset_listing import ListedOffset, OffsetSpec
from kafka_zk.protocol.errors import TopicAlreadyExists
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs import mirror
from kafka_zk.spark.jobs.cluster import topic_names
from kafka_zk.spark.jobs.file_replacement import replace_remote
from kafka_zk.spark.jobs.file_store import FileStore
from kafka_zk.spark.jobs.ordered_copy import copy_batch
from kafka_zk.spark.jobs.outcome import JobError
from tests.support.broker import OurBroker
from tests.support.librdkafka import Librdkafka, Written
from tests.support.processes import wait_until
from tests.support.spark import RunJob, job_runner
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    folder = tmp_path_factory.mktemp("pipeline-refusals")
    soon = {"log.cleaner.backoff.ms": "100"}
    running = OurBroker(folder, fresh_chroot(zookeeper, "pipeline-refusals"), overrides=soon).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def job(spark: SparkSession, broker: OurBroker) -> RunJob:
    return job_runner(spark, broker.bootstrap)


def write(kafka: Librdkafka, topic: str, *words: str) -> None:
    kafka.write(topic, [Written(word.encode()) for word in words])


def values(spark: SparkSession, path: Path) -> list[str]:
    return sorted(bytes(row["value"]).decode() for row in spark.read.parquet(str(path)).collect())


def test_an_archive_goes_on_with_the_checkpoint_that_it_was_begun_with_only(
    job: RunJob, kafka: Librdkafka, spark: SparkSession, tmp_path: Path
) -> None:
    topic, path = kafka.topic(), tmp_path / "archive"
    write(kafka, topic, "a", "b")
    job("archive", topics=topic, path=str(path), checkpoint=str(tmp_path / "one"))
    write(kafka, topic, "c")
    with pytest.raises(JobError, match=r"archive was written with a checkpoint other than .*/two"):
        job("archive", topics=topic, path=str(path), checkpoint=str(tmp_path / "two"))
    with pytest.raises(JobError, match=r"one has completed 1 batches, but .*elsewhere lacks the last"):
        job("archive", topics=topic, path=str(tmp_path / "elsewhere"), checkpoint=str(tmp_path / "one"))
    job("archive", topics=topic, path=str(path), checkpoint=str(tmp_path / "one"))
    assert values(spark, path) == ["a", "b", "c"]


@pytest.mark.parametrize("to", ["to_path", "to_table"])
def test_a_transform_goes_on_with_its_checkpoint_only(
    job: RunJob, kafka: Librdkafka, spark: SparkSession, tmp_path: Path, to: str
) -> None:
    topic = kafka.topic()
    place = str(tmp_path / "rows") if to == "to_path" else "rows_of_one_checkpoint"
    given = {"topics": topic, "decode": "string", "sql": "SELECT value FROM records", to: place}
    write(kafka, topic, "a")
    job("transform", **given, checkpoint=str(tmp_path / "one"))
    write(kafka, topic, "b")
    with pytest.raises(JobError, match="was written with a checkpoint other than"):
        job("transform", **given, checkpoint=str(tmp_path / "two"))
    job("transform", **given, checkpoint=str(tmp_path / "one"))
    rows = spark.read.parquet(place) if to == "to_path" else spark.table(place)
    assert sorted(row["value"] for row in rows.collect()) == ["a", "b"]


def make_anew(broker: OurBroker, topic: str) -> None:
    with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin:
        admin.delete_topics([topic])

        def is_made() -> bool:
            with suppress(TopicAlreadyExists):  # The old one is being deleted.
                admin.create_topics([NewTopic(topic, 1, 1)])
                return True
            return False

        wait_until(is_made, "the old topic is gone and the new one made")
        place = TopicPartition(topic, 0)
        wait_until(
            lambda: isinstance(admin.list_offsets({place: OffsetSpec.LATEST})[place], ListedOffset), "it is led again"
        )


def test_a_topic_that_was_made_anew_and_has_grown_is_not_read_from_the_middle(
    job: RunJob, kafka: Librdkafka, broker: OurBroker, spark: SparkSession, tmp_path: Path
) -> None:
    topic, archive, rows = kafka.topic(), str(tmp_path / "archive"), str(tmp_path / "rows")
    query = {"topics": topic, "decode": "string", "sql": "SELECT encode(value, 'utf-8') AS value FROM records"}
    write(kafka, topic, "a", "b")
    job("archive", topics=topic, path=archive)
    job("transform", **query, to_path=rows)
    make_anew(broker, topic)
    write(kafka, topic, "A", "B", "C")
    for given in ({}, {"allow_data_loss": True}):
        with pytest.raises(StreamingQueryException, match=f"Topic {topic} was deleted and created again"):
            job("archive", topics=topic, path=archive, **given)
    with pytest.raises(StreamingQueryException, match=f"Topic {topic} was deleted and created again"):
        job("transform", **query, to_path=rows)
    assert values(spark, Path(archive)) == values(spark, Path(rows)) == ["a", "b"]
    job("transform", **query, to_path=rows, allow_data_loss=True)
    assert values(spark, Path(rows)) == ["A", "B", "C", "a", "b"]


def test_a_topic_that_is_made_anew_while_it_is_mirrored_leaves_nothing_in_the_table(
    job: RunJob,
    kafka: Librdkafka,
    broker: OurBroker,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not even where the loss of records is allowed: its offsets begin again, and the table tells of the old one's."""
    topic, offsets = kafka.topic(), tmp_path / "offsets"
    mirrored = {
        "topics": topic,
        "target_bootstrap_server": broker.bootstrap,
        "rename": {topic: f"{topic}-mirrored"},
        "create_topics": True,
        "checkpoint": str(tmp_path / "state"),
        "offsets_path": str(offsets),
        "allow_data_loss": True,
    }
    write(kafka, topic, "a", "b")
    job("mirror", **mirrored)
    write(kafka, topic, "c", "d")

    def copy_late(records: Any, **given: Any) -> Any:
        make_anew(broker, topic)
        write(kafka, topic, "A", "B", "C", "D")
        return copy_batch(records, **given)

    monkeypatch.setattr(mirror, "copy_batch", copy_late)
    with pytest.raises(StreamingQueryException, match=f"topic {topic} of the source was deleted and created again"):
        job("mirror", **mirrored)
    assert [row["source_offset"] for row in spark.read.parquet(str(offsets)).collect()] == [0]


def test_a_mirror_whose_pattern_means_its_own_target_is_refused_before_that_is_made(
    job: RunJob, kafka: Librdkafka, broker: OurBroker, tmp_path: Path
) -> None:
    topic = kafka.topic()
    write(kafka, topic, "a", "b")
    with pytest.raises(StreamingQueryException, match=f"topic {topic}-mirrored is also a source of this job"):
        job(
            "mirror",
            topics_pattern=f"{topic}.*",
            target_bootstrap_server=broker.bootstrap,
            rename={topic: f"{topic}-mirrored"},
            create_topics=True,
            checkpoint=str(tmp_path / "state"),
            offsets_path=str(tmp_path / "offsets"),
        )
    assert f"{topic}-mirrored" not in topic_names({"bootstrap.servers": broker.bootstrap})


@pytest.mark.parametrize(
    ("batching", "missing"),
    [
        pytest.param({"linger.ms": "60000"}, "0 to 2", id="one-batch"),
        pytest.param({"batch.size": "1"}, "0 to 0", id="batch-each"),
    ],
)
def test_an_ingest_that_was_cut_off_sends_nothing_behind_the_newer_values_of_a_compacted_topic(
    job: RunJob, kafka: Librdkafka, broker: OurBroker, tmp_path: Path, batching: dict[str, str], missing: str
) -> None:
    """The cleaner took the first of two values of a key; sent again, it would be the last one. It takes the record out
    of its batch, or the batch: left to itself the producer makes as many as the machine is fast."""
    topic = kafka.topic(cleanup_policy="compact", min_cleanable_dirty_ratio=0, segment_bytes=600)
    state = tmp_path / "state"
    (tmp_path / "rows.csv").write_text("carrier,n\nUA,1\nAA,2\nUA,3\n")
    given = {"path": str(tmp_path / "rows.csv"), "topic": topic, "key": "carrier", "checkpoint": str(state)}
    job("ingest", **given, kafka=batching)
    kafka.write(topic, [Written(b"later" * 100, b"other")])
    (state / "0.done").unlink()
    log_file = broker.log_dir / f"{topic}-0" / f"{0:020}.log"
    before = log_file.stat().st_ino
    wait_until(lambda: log_file.stat().st_ino != before, "the cleaner was there")
    with pytest.raises(JobError, match=f"some of the offsets {missing} of {topic}-0 were deleted"):
        job("ingest", **given)
    left = [b'{"carrier":"AA","n":"2"}', b'{"carrier":"UA","n":"3"}', b"later" * 100]
    assert [message.value() for message in kafka.read(topic, 3)] == left


def test_a_state_file_that_cannot_be_replaced_stays_as_it_was(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileStore(spark, str(tmp_path / "state"))
    store.write("batch/0", "old")

    class Failing:
        """A file system that renames nothing."""

        def __init__(self, fs: Any) -> None:
            self._fs = fs

        def __getattr__(self, name: str) -> Any:
            return (lambda *_: False) if name == "rename" else getattr(self._fs, name)

    def refuse(*_: object) -> None:
        raise OSError("no room")

    with monkeypatch.context() as patched:
        patched.setattr(store, "_fs", Failing(store._fs))
        patched.setattr(os, "replace", refuse)
        with pytest.raises(OSError, match=r"no room|rename"):
            store.write("batch/0", "new")
    assert store.read("batch/0") == "old"
    store.write("batch/0", "new")
    assert store.read("batch/0") == "new"
    # What is no local file system: renamed by Hadoop, over the old file.
    at = store._path(f"file:{tmp_path}/state/batch/0")
    replace_remote(spark._jvm, spark.sparkContext._gateway, store._configuration, store._fs, at, b"newest")
    assert (tmp_path / "state/batch/0").read_bytes() == b"newest"
    assert store.names("batch") == ["0"]
