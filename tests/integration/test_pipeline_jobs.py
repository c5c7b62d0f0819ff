"""The pipeline's jobs on a real broker: what each one promises, also when it was cut off in the middle."""

from __future__ import annotations

import io
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import fastavro
import pyarrow.dataset
import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.offset_listing import ListedOffset, OffsetSpec
from kafka_zk.client.consumer.records import ConsumerRecord
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.client.range_writing.arrivals import ProducerIdentity
from kafka_zk.client.range_writing.sequenced_writer import BYTES, SequencedWriter
from kafka_zk.client.range_writing.shared_transaction import SharedTransaction
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import Record
from kafka_zk.spark.jobs import audit
from kafka_zk.spark.jobs.cluster import commit_offsets
from kafka_zk.spark.jobs.copy_plan import Note, Sending
from kafka_zk.spark.jobs.file_store import FileStore
from kafka_zk.spark.jobs.outcome import JobError
from kafka_zk.spark.settings.declaration import Settings
from kafka_zk.spark.settings.jobs import JOBS
from kafka_zk.spark.sources.kafka.exactly_once import Part
from tests.support.broker import OurBroker
from tests.support.librdkafka import Librdkafka, Written, as_written
from tests.support.our_consumer import Consumers, poll_until
from tests.support.spark import RunJob, job_runner
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T0 = 1_700_000_000_000
PARTITIONS, EACH = 2, 40
RECORDS = [
    Written(b'{"n": %d}' % n if n % 9 else None, b"k%d" % (n % 5) if n % 4 else None, (("h", b"%d" % n),), T0 + n)
    for n in range(EACH)
]


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    # The records are of 2023: retention would delete them from topics that jobs create, some time after the start.
    forever = {"log.retention.ms": "-1"}
    folder = tmp_path_factory.mktemp("pipeline-jobs")
    running = OurBroker(folder, fresh_chroot(zookeeper, "pipeline-jobs"), overrides=forever).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def job(spark: SparkSession, broker: OurBroker) -> RunJob:
    return job_runner(spark, broker.bootstrap)


@pytest.fixture(scope="module")
def filled(broker: OurBroker) -> str:
    """A topic with the same records in each of its partitions but the last one, which is empty."""
    clients = Librdkafka(broker.bootstrap)
    name = clients.topic(partitions=PARTITIONS + 1)
    for partition in range(PARTITIONS):
        clients.write(name, RECORDS, partition=partition)
    clients.close()
    return name


@pytest.fixture(scope="module")
def archive(job: RunJob, filled: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("archive") / "data")
    done = job("archive", topics=filled, path=path, group=f"{filled}-archive")
    assert done.text.startswith(f"archive: {PARTITIONS * EACH} records")
    return path


def content(kafka: Librdkafka, topic: str, partition: int, count: int = EACH) -> list[Written]:
    messages = kafka.read(topic, count, partition=partition)
    assert end_of(kafka, topic, partition) == count
    return [as_written(message, with_timestamp=True) for message in messages]


def end_of(kafka: Librdkafka, topic: str, partition: int = 0) -> int:
    with AdminClient({"bootstrap.servers": kafka.bootstrap}) as admin:
        place = TopicPartition(topic, partition)
        found = admin.list_offsets({place: OffsetSpec.LATEST})[place]
    assert isinstance(found, ListedOffset), found
    return found.offset


def test_archive_and_restore_bring_every_record_back_as_it_was(
    job: RunJob, kafka: Librdkafka, filled: str, archive: str, tmp_path: Path
) -> None:
    with AdminClient({"bootstrap.servers": kafka.bootstrap}) as admin:
        lag = admin.list_consumer_group_offsets(f"{filled}-archive")
    ends = [*[EACH] * PARTITIONS, 0]
    assert lag == {TopicPartition(filled, partition): end for partition, end in enumerate(ends)}
    job(
        "restore",
        path=archive,
        rename={filled: f"{filled}-back"},
        create_topics=True,
        checkpoint=str(tmp_path / "restore"),
    )
    for partition in range(PARTITIONS):
        assert content(kafka, f"{filled}-back", partition) == RECORDS
    assert end_of(kafka, f"{filled}-back", PARTITIONS) == 0, "the empty partition is there, too"


def test_a_broken_off_restore_goes_on_behind_what_is_there(
    job: RunJob, kafka: Librdkafka, filled: str, archive: str, tmp_path: Path
) -> None:
    target = kafka.topic(partitions=PARTITIONS)
    # As a restore leaves it that was killed: what it sends is noted, some of one partition written.
    (tmp_path / "restore").mkdir()
    with SequencedWriter({"bootstrap.servers": kafka.bootstrap}) as writer:
        identity = writer.new_identity()
        begun = {TopicPartition(filled, index): Sending(0, identity, ((0, EACH),)) for index in range(PARTITIONS)}
        (tmp_path / "restore" / "restore.note-1").write_text(Note(begun).encode())
        sent = [Record(0, each.timestamp_ms or -1, each.key, each.value, each.headers) for each in RECORDS[:13]]
        writer.append(TopicPartition(target, 1), identity, 0, sent, behind=0)
    again = {"path": archive, "rename": {filled: target}, "checkpoint": str(tmp_path / "restore")}
    for _ in range(2):
        job("restore", **again)
        for partition in range(PARTITIONS):
            assert content(kafka, target, partition) == RECORDS


def test_what_a_killed_archive_left_is_swept_away_and_nothing_is_there_twice(
    job: RunJob, spark: SparkSession, filled: str, tmp_path: Path
) -> None:
    archive = tmp_path / "archive"
    job("archive", topics=filled, path=str(archive))
    written = next(archive.glob("topic=*/date=*/*.parquet"))
    shutil.copy(written, written.with_name("part-99999-of-a-killed-task.snappy.parquet"))
    assert "1 leftover files of failed tasks deleted" in job("archive", topics=filled, path=str(archive)).text
    assert spark.read.parquet(f"file:{archive}/topic={filled}").count() == PARTITIONS * EACH


def test_an_audit_finds_what_is_missing_twice_or_changed_in_an_archive(
    job: RunJob, spark: SparkSession, archive: str, tmp_path: Path
) -> None:
    report = tmp_path / "report"
    sound = job("audit", archive=archive)
    assert not sound.found_wrong and sound.text == "audit: 0 errors, 0 warnings, 0 info"
    records = spark.read.parquet(archive).where("partition = 0").toLocalIterator()
    rows = [row for row in records if row.offset not in (3, 4)]
    rows.append(rows[0])
    other = {7: {"value": bytearray(b"other")}, 8: {"key": rows[6].value, "value": None}, 9: {"value": bytearray()}}
    assert [(row.offset, row.key, row.value) for row in rows[6:8]] == [(8, None, b'{"n": 8}'), (9, b"k4", None)]
    changed = [type(row)(**{**row.asDict(), **other.get(row.offset, {})}) for row in rows]
    frame = spark.createDataFrame(changed, spark.read.parquet(archive).schema)
    frame.write.partitionBy("topic", "date").parquet(str(tmp_path / "damaged"))
    assert job("audit", archive=str(tmp_path / "damaged"), report=str(report)).found_wrong
    found = {(row.kind, row.first_offset) for row in spark.read.parquet(str(report)).collect()}
    assert found == {
        ("missing", 3),
        ("missing", 4),
        ("twice", rows[0].offset),
        ("differs", 7),
        ("differs", 8),
        ("differs", 9),
    }


def test_an_audit_of_the_live_replicas_and_of_directories(
    job: RunJob, broker: OurBroker, filled: str, tmp_path: Path, spark: SparkSession
) -> None:
    assert not job("audit", live=True, topics=[filled]).found_wrong
    copies = []
    for name in ("one", "two"):
        copies.append(tmp_path / name)
        for partition in range(PARTITIONS):
            shutil.copytree(broker.log_dir / f"{filled}-{partition}", tmp_path / name / f"{filled}-{partition}")
    alike = Settings(JOBS["audit"], {"log-dirs": [str(copy) for copy in copies]})
    assert not audit.run(spark, alike).found_wrong
    log = next((tmp_path / "two" / f"{filled}-1").glob("*.log"))
    data = bytearray(log.read_bytes())
    data[100] ^= 0xFF
    log.write_bytes(data)
    for left in (tmp_path / "two" / f"{filled}-0").iterdir():
        left.unlink()
    report = Settings(JOBS["audit"], {"log-dirs": [str(copy) for copy in copies], "report": str(tmp_path / "report")})
    assert audit.run(spark, report).found_wrong
    rows = spark.read.parquet(str(tmp_path / "report")).collect()
    assert {(row.kind, row.partition) for row in rows if row.severity == "error"} == {("bad-crc", 1)}
    (empty,) = [row for row in rows if row.kind == "replica-shorter"]
    assert (empty.partition, empty.first_offset, empty.last_offset) == (0, 0, EACH - 1)


def test_a_mirror_keeps_partitions_and_order_and_carries_a_group_over(
    job: RunJob, kafka: Librdkafka, filled: str, tmp_path: Path, broker: OurBroker
) -> None:
    group, mirrored = f"{filled}-readers", f"{filled}-mirrored"
    properties = {"bootstrap.servers": broker.bootstrap}
    commit_offsets(properties, group, {TopicPartition(filled, 0): 11, TopicPartition(filled, 1): EACH})
    given = {
        "target_bootstrap_server": broker.bootstrap,
        "topics": filled,
        "rename": {filled: mirrored},
        "create_topics": True,
        "checkpoint": str(tmp_path / "mirror"),
        "offsets_path": str(tmp_path / "offsets"),
        "max_offsets_per_trigger": PARTITIONS * EACH // 2,
        "groups": group,
    }
    job("mirror", **given)
    for partition in range(PARTITIONS):
        assert content(kafka, mirrored, partition) == RECORDS
    with AdminClient(properties) as admin:
        carried = admin.list_consumer_group_offsets(group)
    assert {carried[TopicPartition(mirrored, index)] for index in range(PARTITIONS)} == {11, EACH}
    # A batch whose end was not noted is done again, and finds all of it there.
    last = max((tmp_path / "mirror" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink(missing_ok=True)
    job("mirror", **given)
    for partition in range(PARTITIONS):
        assert content(kafka, mirrored, partition) == RECORDS


def test_a_copy_refuses_a_topic_that_became_shorter(
    job: RunJob, kafka: Librdkafka, filled: str, archive: str, tmp_path: Path
) -> None:
    target = kafka.topic(partitions=PARTITIONS)
    (tmp_path / "restore").mkdir()
    begun = {TopicPartition(filled, 0): Sending(5, ProducerIdentity(1, 0), ((0, EACH),))}
    (tmp_path / "restore" / "restore.note-1").write_text(Note(begun).encode())
    with pytest.raises(JobError, match=f"{target}-0 ends at offset 0, below 5 where this copy began"):
        job("restore", path=archive, rename={filled: target}, checkpoint=str(tmp_path / "restore"))


def csv(folder: Path, name: str, *rows: tuple[int, str]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join(["id,carrier", *(f"{number},{carrier}" for number, carrier in rows)]) + "\n")


def test_ingest_sends_each_row_once_also_after_it_was_cut_off(job: RunJob, kafka: Librdkafka, tmp_path: Path) -> None:
    files, state = tmp_path / "files", tmp_path / "state"
    csv(files, "[1] *.csv", (1, "UA"), (2, "AA"), (2, "AA"))
    topic = kafka.topic()
    given = {"path": str(files), "topic": topic, "key": "carrier", "checkpoint": str(state)}
    job("ingest", **given)
    expected = Counter({(b"UA", 1): 1, (b"AA", 2): 2})
    assert sent(kafka, topic, 3) == expected
    assert "0 records in 0 batches" in job("ingest", **given).text
    # Killed after its last record, before that was noted: all of it is found and nothing sent.
    (state / "0.done").unlink()
    assert "0 records in 1 batches" in job("ingest", **given).text
    assert sent(kafka, topic, 3) == expected
    # Killed in the middle: another row of the same batch, and a second of one that is there, are what is left.
    csv(files, "[1] *.csv", (1, "UA"), (2, "AA"), (2, "AA"), (2, "AA"), (3, "B6"))
    (state / "0.done").unlink()
    job("ingest", **given)
    assert sent(kafka, topic, 5) == expected + Counter({(b"AA", 2): 1, (b"B6", 3): 1})
    csv(files, "b.csv", (1, "UA"))
    job("ingest", **given)
    assert sent(kafka, topic, 6) == expected + Counter({(b"AA", 2): 1, (b"B6", 3): 1, (b"UA", 1): 1})


def test_files_of_another_filesystem_than_the_usual_one_keep_its_name(spark: SparkSession, tmp_path: Path) -> None:
    csv(tmp_path / "files", "a.csv", (1, "UA"))
    assert list(FileStore(spark, f"file:{tmp_path}/files").data_files()) == [f"{tmp_path}/files/a.csv"]
    configuration = spark._jsc.hadoopConfiguration()
    usual = configuration.get("fs.defaultFS")
    configuration.set("fs.defaultFS", "hdfs://nobody:8020")
    try:
        assert list(FileStore(spark, f"file:{tmp_path}/files").data_files()) == [f"file:{tmp_path}/files/a.csv"]
    finally:
        configuration.set("fs.defaultFS", usual)


def sent(kafka: Librdkafka, topic: str, count: int) -> Counter[tuple[bytes | None, int]]:
    """Keys and ids of all records of the topic, which are exactly `count`."""
    messages = kafka.read(topic, count)
    assert end_of(kafka, topic) == count
    return Counter((message.key(), int(json.loads(message.value() or b"")["id"])) for message in messages)


def fill_in_transactions(kafka: Librdkafka, topic: str) -> list[str]:
    """Two transactions that are committed and two that are not; of each partition what is committed."""
    given = {"bootstrap.servers": kafka.bootstrap, "value.serializer": "StringSerializer", "key.serializer": BYTES}
    with KafkaProducer({**given, "transactional.id": f"{topic}-writer"}) as producer:
        producer.init_transactions()
        for number in range(4):
            producer.begin_transaction()
            for partition in range(PARTITIONS):
                for n in range(5):
                    producer.send(topic, f"{number} {n}", partition=partition)
            if number % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    return [f"{number} {n}" for number in (0, 2) for n in range(5)]


def mirror_in_transactions(kafka: Librdkafka, source: str, folder: Path) -> dict[str, object]:
    return {
        "topics": source,
        "rename": {source: f"{source}-mirrored"},
        "target_bootstrap_server": kafka.bootstrap,
        "create_topics": True,
        "checkpoint": str(folder / "mirror"),
        "offsets_path": str(folder / "offsets"),
        "transactional": True,
    }


def test_readers_of_a_mirror_in_transactions_see_a_batch_whole_or_not_at_all(
    job: RunJob, kafka: Librdkafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = kafka.topic(partitions=PARTITIONS)
    expected = fill_in_transactions(kafka, source)
    given = mirror_in_transactions(kafka, source, tmp_path)
    places = [TopicPartition(f"{source}-mirrored", number) for number in range(PARTITIONS)]

    def seen() -> list[list[str]]:
        return [[str(record.value) for record in read_committed(kafka, place)] for place in places]

    def ends() -> list[int]:
        return [end_of(kafka, *place) for place in places]

    def run_ends(_: SharedTransaction) -> None:
        raise InterruptedError("the run ends here")

    with monkeypatch.context() as patch:
        # All records are there.
        patch.setattr(SharedTransaction, "commit", run_ends)
        with pytest.raises(Exception, match="the run ends here"):
            job("mirror", **given)
    assert min(ends()) >= len(expected) and seen() == [[]] * PARTITIONS
    job("mirror", **given)
    assert seen() == [expected] * PARTITIONS
    # Cut off after the commit: the next run finds it, and its table names the offsets that readers see.
    before = ends()
    forget_the_last_batch(tmp_path / "mirror")
    shutil.rmtree(tmp_path / "offsets" / "batch=0")
    job("mirror", **given)
    assert ends() == before
    rows = pyarrow.dataset.dataset(tmp_path / "offsets", format="parquet").to_table().to_pylist()
    told = {(row["partition"], row["target_offset"] + n) for row in rows for n in range(row["record_count"])}
    assert told == {(each.partition, record.offset) for each in places for record in read_committed(kafka, each)}


def test_a_mirror_in_transactions_waits_for_what_is_open(job: RunJob, kafka: Librdkafka, tmp_path: Path) -> None:
    source = kafka.topic()
    given = mirror_in_transactions(kafka, source, tmp_path)
    client = {"bootstrap.servers": kafka.bootstrap, "value.serializer": "StringSerializer", "key.serializer": BYTES}
    with KafkaProducer({**client, "transactional.id": f"{source}-writer"}) as producer:
        producer.init_transactions()
        kafka.write(source, [Written(b"before")])
        producer.begin_transaction()
        producer.send(source, "a", partition=0).result(30)
        kafka.write(source, [Written(b"between")])
        job("mirror", **given)
        place = TopicPartition(f"{source}-mirrored", 0)
        assert [record.value for record in read_committed(kafka, place)] == ["before"]
        producer.send(source, "b", partition=0)
        producer.commit_transaction()
    job("mirror", **given)
    assert [record.value for record in read_committed(kafka, place)] == ["before", "a", "between", "b"]


def sums_of_keys(filled: str, target: str, checkpoint: Path) -> dict[str, object]:
    """A transform that writes a row a key and batch, in update mode: through foreachBatch."""
    return {
        "topics": filled,
        "decode": "json",
        "schema": "n BIGINT",
        "sql": "SELECT key, count(*) AS records, sum(value.n) AS total FROM records WHERE key IS NOT NULL GROUP BY key",
        "output_mode": "update",
        "to_topic": target,
        "key": "key",
        "checkpoint": str(checkpoint),
        "shuffle_partitions": 2,
    }


def forget_the_last_batch(checkpoint: Path) -> None:
    """As if the driver had been killed after all tasks committed, and before it noted the batch."""
    last = max((path for path in (checkpoint / "commits").glob("[0-9]*")), key=lambda path: int(path.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink(missing_ok=True)


def read_committed(kafka: Librdkafka, place: TopicPartition) -> list[ConsumerRecord]:
    """All that was committed in a partition."""
    with Consumers(kafka.bootstrap) as consumers:
        consumer = consumers(isolation_level="read_committed")
        consumer.assign([place])
        end = consumer.end_offsets([place])[place]
        return poll_until([consumer], lambda: consumer.position(place) >= end)


def committed(kafka: Librdkafka, topic: str) -> list[tuple[bytes | None, str]]:
    """Keys and values in partition 0, sorted by value."""
    found = read_committed(kafka, TopicPartition(topic, 0))
    return sorted(((record.key, record.value) for record in found), key=lambda pair: str(pair[1]))


def test_a_transform_to_a_topic_that_is_cut_off_writes_each_row_once(
    job: RunJob, kafka: Librdkafka, filled: str, tmp_path: Path
) -> None:
    target, state = kafka.topic(), tmp_path / "append"
    # The keys make two batches, so that the second finds the marks of the first.
    given = {"topics": filled, "sql": "SELECT CAST(partition AS STRING) AS key, value FROM records"}
    given |= {"to_topic": target, "checkpoint": str(state), "max_offsets_per_trigger": EACH}
    job("transform", **given)
    expected = sorted((b"%d" % n, (r.value or b"").decode()) for n in range(PARTITIONS) for r in RECORDS)
    assert sorted((key or b"", value or "") for key, value in committed(kafka, target)) == expected
    before = end_of(kafka, target)
    forget_the_last_batch(state)
    job("transform", **given)
    assert end_of(kafka, target) == before


def test_a_transform_in_update_mode_that_is_cut_off_writes_each_row_once(
    job: RunJob, kafka: Librdkafka, filled: str, tmp_path: Path
) -> None:
    target, state = kafka.topic(), tmp_path / "update"
    given = sums_of_keys(filled, target, state)
    job("transform", **given)
    first = committed(kafka, target)
    assert len(first) == len({record.key for record in RECORDS if record.key})
    forget_the_last_batch(state)
    job("transform", **given)
    assert committed(kafka, target) == first
    # One task had committed, the other not yet: its transaction is undone, and only its part is written.
    before = end_of(kafka, target)
    with AdminClient({"bootstrap.servers": kafka.bootstrap}) as admin:
        query = json.loads((state / "metadata").read_text())["id"]
        admin.delete_consumer_group_offsets(Part(query, 0, 0).name, [TopicPartition(target, 0)])
    forget_the_last_batch(state)
    job("transform", **given)
    assert before < end_of(kafka, target) < 2 * before


def test_a_transform_to_a_topic_that_need_not_write_once_is_right_in_the_last_value_of_a_key(
    job: RunJob, kafka: Librdkafka, filled: str, tmp_path: Path
) -> None:
    target, state = kafka.topic(), tmp_path / "transform"
    given = {**sums_of_keys(filled, target, state), "delivery": "at-least-once"}
    job("transform", **given)
    first = last_of_each_key(kafka, target)
    keys = {record.key for record in RECORDS if record.key}
    assert first.keys() == keys
    for key in keys:
        mine = [record for record in RECORDS if record.key == key]
        total = sum(json.loads(record.value)["n"] for record in mine if record.value)
        assert first[key] == {"key": key.decode(), "records": len(mine) * 2, "total": total * 2}
    # They are there twice now, and no reader of last values can tell.
    before = end_of(kafka, target)
    forget_the_last_batch(state)
    job("transform", **given)
    assert end_of(kafka, target) == 2 * before
    assert last_of_each_key(kafka, target) == first


def last_of_each_key(kafka: Librdkafka, topic: str) -> dict[bytes, object]:
    return {
        message.key() or b"": json.loads(message.value() or b"") for message in kafka.read(topic, end_of(kafka, topic))
    }


def test_a_transform_to_a_table_has_each_row_once(
    job: RunJob, kafka: Librdkafka, spark: SparkSession, tmp_path: Path
) -> None:
    topic, table = kafka.topic(), "rows_of_a_topic"
    query = "SELECT offset, upper(value) AS word FROM records"
    given = {"topics": topic, "decode": "string", "sql": query, "to_table": table}
    for words in ((b"a", b"b"), (b"c",), ()):
        kafka.write(topic, [Written(word) for word in words])
        job("transform", **given, checkpoint=str(tmp_path / "state"))
    assert sorted(map(tuple, spark.table(table).collect())) == [(0, "A"), (1, "B"), (2, "C")]


AVRO = {
    "type": "record",
    "name": "r",
    "fields": [{"name": "n", "type": ["null", "long"]}, {"name": "s", "type": "string"}],
}


def test_a_python_function_gets_avro_values_decoded(
    job: RunJob, kafka: Librdkafka, spark: SparkSession, tmp_path: Path
) -> None:
    topic, schema_id = kafka.topic(), b"\x00\x00\x00\x00\x07"
    kafka.write(
        topic, [Written(schema_id + avro({"n": n if n else None, "s": "é"})) for n in range(5)] + [Written(None)]
    )
    (tmp_path / "flow.py").write_text("def f(df):\n    return df.select('offset', 'value.n', 'value.s')\n")
    given = {"topics": topic, "decode": "avro", "schema": json.dumps(AVRO), "avro_framing": "confluent"}
    job("transform", **given, python=f"{tmp_path}/flow.py:f", to_path=str(tmp_path / "out"))
    rows = sorted(map(tuple, spark.read.parquet(str(tmp_path / "out")).collect()))
    assert rows == [(0, None, "é"), *((n, n, "é") for n in range(1, 5)), (5, None, None)]


def avro(value: dict[str, object]) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, AVRO, value)
    return stream.getvalue()


def test_a_value_that_cannot_be_decoded_is_named_or_null(
    job: RunJob, kafka: Librdkafka, spark: SparkSession, tmp_path: Path
) -> None:
    topic = kafka.topic()
    kafka.write(topic, [Written(b'{"n": 1}'), Written(b"no json")])
    given = {"topics": topic, "decode": "json", "schema": "n BIGINT", "sql": "SELECT offset, value.n FROM records"}
    with pytest.raises(Exception, match=f"the value of topic {topic}, partition 0, offset 1 is not valid JSON"):
        job("transform", **given, to_path=str(tmp_path / "strict"))
    job("transform", **given, bad_values="null", to_path=str(tmp_path / "lenient"))
    assert sorted(map(tuple, spark.read.parquet(str(tmp_path / "lenient")).collect())) == [(0, 1), (1, None)]
