"""Options of the two sources, with the names, defaults and refusals of Spark's own connector."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import StructType

from kafka_zk.spark.sources.errors import SourceError, SourceOptionError
from kafka_zk.spark.sources.kafka.settings import batch_settings, stream_settings
from kafka_zk.spark.sources.kafka.write_settings import write_settings
from kafka_zk.spark.sources.kafka.writer import refuse_second_try
from kafka_zk.spark.sources.log.settings import log_settings
from kafka_zk.spark.sources.offset_limits import Kind
from kafka_zk.spark.sources.schema import source_schema

NEEDED = {"kafka.bootstrap.servers": "b:9092", "subscribe": "t"}
TEXTS = StructType().add("value", "string")


def given(**options: str) -> CaseInsensitiveDict:
    return CaseInsensitiveDict({**NEEDED, **{name.replace("__", "."): value for name, value in options.items()}})


def test_a_batch_reads_everything_and_a_stream_what_comes() -> None:
    batch, stream = batch_settings(given()), stream_settings(given())
    assert (batch.start.kind, batch.end.kind, stream.start.kind) == (Kind.EARLIEST, Kind.LATEST, Kind.LATEST)
    assert batch.fail_on_data_loss
    assert not batch.include_headers
    assert not batch.read_committed


def test_client_settings_stand_behind_their_prefix() -> None:
    settings = batch_settings(given(kafka__isolation__level="read_committed", kafkaConsumer__pollTimeoutMs="512"))
    assert settings.read_committed
    assert settings.client["bootstrap.servers"] == "b:9092"
    assert settings.client["default.api.timeout.ms"] == "512"


def test_limits_of_triggers_are_a_stream_s() -> None:
    settings = stream_settings(given(maxOffsetsPerTrigger="100", minOffsetsPerTrigger="10", maxTriggerDelay="2m"))
    assert (settings.max_offsets, settings.min_offsets, settings.max_delay_ms) == (100, 10, 120_000)


def test_only_readers_of_what_is_committed_can_have_whole_transactions() -> None:
    committed = {"kafka__isolation__level": "read_committed"}
    assert stream_settings(given(wholeTransactions="true", **committed)).whole_transactions
    assert not stream_settings(given(**committed)).whole_transactions
    with pytest.raises(SourceOptionError, match=r"wholeTransactions needs kafka\.isolation\.level=read_committed"):
        stream_settings(given(wholeTransactions="true"))
    with pytest.raises(SourceOptionError, match="wholeTransactions is for streaming queries"):
        batch_settings(given(wholeTransactions="true", **committed))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kafka__auto__offset__reset": "latest"}, "startingOffsets to say where to start"),
        ({"kafka__key__deserializer": "x"}, "keys are read as bytes"),
        ({"kafka__value__deserializer": "x"}, "values are read as bytes"),
        ({"kafka__enable__auto__commit": "true"}, "Spark tracks offsets itself"),
        ({"kafka__interceptor__classes": "x"}, "interceptors may change"),
        ({"kafka__bootstrap__servers": " "}, "bootstrap.servers is required"),
        ({"minPartitions": "0"}, "minPartitions must be a positive integer"),
        ({"maxRecordsPerPartition": "x"}, "maxRecordsPerPartition must be"),
        ({"failOnDataLoss": "maybe"}, "failOnDataLoss must be true or false"),
    ],
)
def test_what_a_query_cannot_have_is_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(SourceOptionError, match=words):
        batch_settings(given(**options))
    with pytest.raises(SourceOptionError, match=words):
        stream_settings(given(**options))


@pytest.mark.parametrize("name", ["endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    with pytest.raises(SourceOptionError, match=f"{name} is not supported in streaming"):
        stream_settings(given(**{name: "latest"}))


@pytest.mark.parametrize(
    "options",
    [
        {"maxOffsetsPerTrigger": "5", "minOffsetsPerTrigger": "6"},
        {"maxTriggerDelay": "soon"},
        {"maxTriggerDelay": "5y"},
    ],
)
def test_limits_that_contradict_each_other_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(SourceOptionError):
        stream_settings(given(**options))


def test_a_writer_takes_the_columns_that_it_knows() -> None:
    schema = source_schema(include_headers=True)
    settings = write_settings(given(), schema, overwrite=False)
    assert settings.columns == ("topic", "key", "value", "headers", "partition")
    assert settings.topic is None


@pytest.mark.parametrize(
    ("options", "schema", "words"),
    [
        ({}, TEXTS, "Set the option topic, or add a column topic"),
        ({"topic": "t"}, StructType().add("key", "string"), "column value is required"),
        ({"topic": "t"}, StructType().add("value", "integer"), "value must be string or binary, not int"),
        ({"topic": "t"}, StructType().add("value", "string").add("partition", "long"), "partition must be int"),
        ({"topic": "t", "kafka__key__serializer": "x"}, TEXTS, "key.serializer is not supported"),
        ({"topic": "t", "kafka__bootstrap__servers": ""}, TEXTS, "bootstrap.servers is required"),
        ({"topic": "t", "kafka__transactional__id": "x"}, TEXTS, "each task has its own; set the option exactlyOnce"),
    ],
)
def test_a_writer_refuses_what_it_cannot_write(options: dict[str, str], schema: StructType, words: str) -> None:
    with pytest.raises(SourceOptionError, match=words):
        write_settings(given(**options), schema, overwrite=False)


def test_a_stream_writes_exactly_once_where_it_was_asked_to_and_has_one_topic() -> None:
    with_topics = StructType().add("value", "string").add("topic", "string")
    options = {"exactlyOnce": "true", "topic": "t"}
    assert write_settings(given(**options), TEXTS, overwrite=False).exactly_once
    assert not write_settings(given(topic="t"), TEXTS, overwrite=False).exactly_once
    with pytest.raises(SourceOptionError, match="exactlyOnce needs the option topic"):
        write_settings(given(exactlyOnce="true"), with_topics, overwrite=False)


def test_topics_are_not_overwritten() -> None:
    with pytest.raises(SourceOptionError, match="must be append"):
        write_settings(given(topic="t"), TEXTS, overwrite=True)


def test_directories_are_named_by_path_or_by_load() -> None:
    options = CaseInsensitiveDict({"path": "/a, file:///b"})
    assert log_settings(options).paths == (Path("/a"), Path("/b"))
    assert log_settings(CaseInsensitiveDict({"paths": '["/c", "/d"]'})).paths == (Path("/c"), Path("/d"))
    assert log_settings(options).subscription.pattern == ".*"
    with pytest.raises(SourceOptionError, match="path must name"):
        log_settings(CaseInsensitiveDict({}))
    with pytest.raises(SourceOptionError, match=r"isolation\.level must be"):
        log_settings(CaseInsensitiveDict({"path": "/a", "kafka.isolation.level": "some"}))


class Attempt:
    """Stands where Spark's TaskContext stands."""

    def __init__(self, number: int) -> None:
        self.number = number

    def attemptNumber(self) -> int:
        return self.number


def test_a_task_that_is_tried_again_fails_where_it_was_asked_to() -> None:
    settings = write_settings(given(topic="t", failOnTaskRetry="true"), TEXTS, overwrite=False)
    assert settings.fail_on_task_retry
    assert not write_settings(given(topic="t"), TEXTS, overwrite=False).fail_on_task_retry
    refuse_second_try(None)
    refuse_second_try(Attempt(0))
    with pytest.raises(SourceError, match="failed and is not retried"):
        refuse_second_try(Attempt(1))
