"""The write options of `kafka_zk`, and the columns that are written.

Role        Pure.
Source      Spark 4.2 KafkaWriter.validateQuery, KafkaSourceProvider.kafkaParamsForProducer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_zk.spark.sources.errors import SourceOptionError
from kafka_zk.spark.sources.kafka.settings import BOOTSTRAP
from kafka_zk.spark.sources.options import client_properties, read_flag

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

TOPIC = "topic"
HEADERS_TYPE = "array<struct<key:string,value:binary>>"
_TYPES = {
    TOPIC: ("string",),
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "headers": (HEADERS_TYPE,),
    "partition": ("int",),
}
_REFUSED = {
    "key.serializer": "keys are written as bytes; use DataFrame operations to serialize them",
    "value.serializer": "values are written as bytes; use DataFrame operations to serialize them",
    "transactional.id": "each task has its own; set the option exactlyOnce",
}


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """`client` are a producer's properties; `topic` takes every record, None: the column topic says."""

    client: Mapping[str, str]
    topic: str | None
    columns: tuple[str, ...]
    """The known columns that exist."""
    fail_on_task_retry: bool = False
    """A retried task fails instead of writing the same records again."""
    exactly_once: bool = False
    """Each task of a micro-batch is a transaction."""


def write_settings(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> WriteSettings:
    """Raises SourceOptionError."""
    if overwrite:
        raise SourceOptionError("Topics can only be appended to: the mode must be append, not overwrite.")
    properties = client_properties(options)
    if not properties.get(BOOTSTRAP, "").strip():
        raise SourceOptionError(f"The option kafka.{BOOTSTRAP} is required.")
    for name, reason in _REFUSED.items():
        if name in properties:
            raise SourceOptionError(f"The option kafka.{name} is not supported: {reason}.")
    kinds = {field.name: field.dataType.simpleString() for field in schema.fields}
    for name, allowed in _TYPES.items():
        if name in kinds and kinds[name] not in allowed:
            raise SourceOptionError(f"The column {name} must be {' or '.join(allowed)}, not {kinds[name]}.")
    if "value" not in kinds:
        raise SourceOptionError("The column value is required.")
    topic = options.get(TOPIC)
    refuses = read_flag(options, "failOnTaskRetry", default=False)
    if topic is None and TOPIC not in kinds:
        raise SourceOptionError("Set the option topic, or add a column topic.")
    exactly_once = read_flag(options, "exactlyOnce", default=False)
    if exactly_once and topic is None:
        raise SourceOptionError("The option exactlyOnce needs the option topic.")
    return WriteSettings(properties, topic, tuple(name for name in _TYPES if name in kinds), refuses, exactly_once)
