"""Topics as DataFrames: the jobs' settings as options of the data source `kafka_zk`.

Role        Builds plans; nothing is read here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafka_zk.spark.settings.declaration import Settings

FORMAT = "kafka_zk"


def client_options(bootstrap: str, kafka: Mapping[str, str]) -> dict[str, str]:
    """Client settings under the names that the data source gives them."""
    return {f"kafka.{name}": value for name, value in kafka.items()} | {"kafka.bootstrap.servers": bootstrap}


def source_options(settings: Settings) -> dict[str, str]:
    """The data source options from a job's settings: what to read, and from where."""
    options = client_options(settings.text("bootstrap-server"), settings.mapping("kafka"))
    options |= {"includeHeaders": "true", "startingOffsets": settings.text("starting-offsets")}
    options["failOnDataLoss"] = "false" if settings.flag("allow-data-loss") else "true"
    if settings.has("topics"):
        options["subscribe"] = ",".join(settings.texts("topics"))
    else:
        options["subscribePattern"] = settings.text("topics-pattern")
    for name, option in (("max-offsets-per-trigger", "maxOffsetsPerTrigger"), ("min-partitions", "minPartitions")):
        if settings.has(name):
            options[option] = str(settings.integer(name))
    if settings.has("whole-transactions"):
        options["wholeTransactions"] = "true" if settings.flag("whole-transactions") else "false"
    return options


def read_stream(session: SparkSession, settings: Settings, **options: str) -> DataFrame:
    """The records of a streaming query, with headers."""
    return session.readStream.format(FORMAT).options(**source_options(settings), **options).load()


def read_topics(
    session: SparkSession, bootstrap: str, kafka: Mapping[str, str], topics: list[str], **options: str
) -> DataFrame:
    """The records of topics as they are now, with headers."""
    reader = session.read.format(FORMAT).options(**client_options(bootstrap, kafka))
    return reader.options(subscribe=",".join(topics), includeHeaders="true", **options).load()
