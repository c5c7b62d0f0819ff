"""A topic's rules for produced batches, for record validation.

Role        Pure.
Source      LogConfig.compression, UnifiedLog.append's LogValidator.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kafka_zk.config.topic import LogConfig
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.compression import Codec
from kafka_zk.record.produced import ConversionEnds, ValidationRules
from kafka_zk.record.record_errors import RecordChecks
from kafka_zk.record.timestamp_type import TimestampType

ConversionBegins = Callable[[str], ConversionEnds]
"""Told the topic when a produced batch begins to be converted."""


def validation_rules(
    topic_partition: TopicPartition, config: LogConfig, conversion_begins: ConversionBegins | None = None
) -> ValidationRules:
    """Made once per configuration, used for each append. `conversion_begins` is called for the topic's conversions."""
    codec, level = _target(config)
    return ValidationRules(
        topic_partition,
        max_message_bytes=config.max_message_bytes,
        target_codec=codec,
        target_level=level,
        checks=RecordChecks(
            is_compacted=config.compact,
            timestamp_type=TimestampType.for_config(config.message_timestamp_type),
            timestamp_before_max_ms=config.message_timestamp_before_max_ms,
            timestamp_after_max_ms=config.message_timestamp_after_max_ms,
        ),
        conversion_begins=None if conversion_begins is None else partial(conversion_begins, topic_partition.topic),
    )


def _target(config: LogConfig) -> tuple[Codec | None, int | None]:
    """The codec that stored batches get, and its level; None keeps the producer's."""
    match config.compression_type:
        case "producer":
            return None, None
        case "uncompressed":
            return Codec.NONE, None
        case "gzip":
            return Codec.GZIP, config.compression_gzip_level
        case "lz4":
            return Codec.LZ4, config.compression_lz4_level
        case "zstd":
            return Codec.ZSTD, config.compression_zstd_level
        case _:
            return Codec.SNAPPY, None
