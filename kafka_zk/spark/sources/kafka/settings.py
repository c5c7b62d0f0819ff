"""The read options of `kafka_zk`.

Role        Pure. Read on the driver; the values travel to the workers.
Source      Spark 4.2 KafkaSourceProvider: the same options, defaults and refusals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kafka_zk.spark.sources.errors import SourceOptionError
from kafka_zk.spark.sources.offset_limits import Kind, OffsetLimit, Side, check_batch_limits, read_limit
from kafka_zk.spark.sources.options import client_properties, read_duration_ms, read_flag, read_positive
from kafka_zk.spark.sources.subscription import Subscription, read_subscription

BOOTSTRAP = "bootstrap.servers"
WHOLE = "wholeTransactions"
FETCH_BYTES = str(4 * 1024 * 1024)
"""max.partition.fetch.bytes unless it is given: a task reads one partition, so it may ask for more than a consumer."""

_REFUSED = {
    "auto.offset.reset": "use the option startingOffsets to say where to start",
    "key.deserializer": "keys are read as bytes; use DataFrame operations on the column key",
    "value.deserializer": "values are read as bytes; use DataFrame operations on the column value",
    "enable.auto.commit": "Spark tracks offsets itself; use the option groupIdForCommit to commit them for lag tools",
    "interceptor.classes": "interceptors may change what a query reads",
}
_OF_STREAMS = ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp")


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """`client` are a consumer's properties. Times in milliseconds.

    `fail_on_new_topic`: a topic that was deleted and recreated ends a stream, which else would continue at its start.
    `whole_transactions`: a stream's batches cut no transaction of a partition.
    """

    client: Mapping[str, str]
    subscription: Subscription
    start: OffsetLimit
    end: OffsetLimit
    fail_on_data_loss: bool
    fail_on_new_topic: bool
    include_headers: bool
    min_partitions: int | None
    max_records: int | None
    max_offsets: int | None = None
    min_offsets: int | None = None
    max_delay_ms: int = 0
    commit_group: str | None = None
    whole_transactions: bool = False

    @property
    def read_committed(self) -> bool:
        return self.client.get("isolation.level") == "read_committed"


def batch_settings(options: Mapping[str, str]) -> ReadSettings:
    """For a batch query. Raises SourceOptionError."""
    start = read_limit(options, Side.STARTING, Kind.EARLIEST)
    end = read_limit(options, Side.ENDING, Kind.LATEST)
    check_batch_limits(start, end)
    if WHOLE in options:
        raise SourceOptionError(f"The option {WHOLE} is for streaming queries, whose batches have limits.")
    return _settings(options, start, end)


def stream_settings(options: Mapping[str, str]) -> ReadSettings:
    """For a streaming query. Raises SourceOptionError."""
    for name in _OF_STREAMS:
        if name in options:
            raise SourceOptionError(f"The option {name} is not supported in streaming queries, which have no end.")
    max_offsets, min_offsets = (
        read_positive(options, "maxOffsetsPerTrigger"),
        read_positive(options, "minOffsetsPerTrigger"),
    )
    if max_offsets is not None and min_offsets is not None and min_offsets > max_offsets:
        raise SourceOptionError(
            f"The option minOffsetsPerTrigger ({min_offsets}) is larger than maxOffsetsPerTrigger ({max_offsets})."
        )
    start = read_limit(options, Side.STARTING, Kind.LATEST)
    settings = _settings(options, start, OffsetLimit(Side.ENDING, Kind.LATEST, "endingOffsets"))
    whole_transactions = read_flag(options, WHOLE, default=False)
    if whole_transactions and not settings.read_committed:
        raise SourceOptionError(
            f"The option {WHOLE} needs kafka.isolation.level=read_committed: others see parts of transactions anyway."
        )
    return replace(
        settings,
        max_offsets=max_offsets,
        min_offsets=min_offsets,
        max_delay_ms=read_duration_ms(options, "maxTriggerDelay", "15m"),
        commit_group=options.get("groupIdForCommit"),
        whole_transactions=whole_transactions,
    )


def _settings(options: Mapping[str, str], start: OffsetLimit, end: OffsetLimit) -> ReadSettings:
    fail_on_data_loss = read_flag(options, "failOnDataLoss", default=True)
    return ReadSettings(
        client=consumer_properties(options),
        subscription=read_subscription(options),
        start=start,
        end=end,
        fail_on_data_loss=fail_on_data_loss,
        fail_on_new_topic=read_flag(options, "failOnNewTopic", default=fail_on_data_loss),
        include_headers=read_flag(options, "includeHeaders", default=False),
        min_partitions=read_positive(options, "minPartitions"),
        max_records=read_positive(options, "maxRecordsPerPartition"),
    )


def consumer_properties(options: Mapping[str, str]) -> dict[str, str]:
    """A consumer's properties. Raises SourceOptionError for those that a query cannot have."""
    properties = {"max.partition.fetch.bytes": FETCH_BYTES, **client_properties(options)}
    for name, reason in _REFUSED.items():
        if name in properties:
            raise SourceOptionError(f"The option kafka.{name} is not supported: {reason}.")
    if not properties.get(BOOTSTRAP, "").strip():
        raise SourceOptionError(f"The option kafka.{BOOTSTRAP} is required.")
    patience_ms = read_positive(options, "kafkaConsumer.pollTimeoutMs")
    if patience_ms is not None:
        properties["default.api.timeout.ms"] = str(patience_ms)
    return properties
