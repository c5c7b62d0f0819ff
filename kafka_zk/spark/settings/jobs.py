"""The jobs and their settings.

Role        Pure: tables only. docs/pipeline.md explains them with examples.
"""

from __future__ import annotations

from kafka_zk.spark.settings.declaration import JobDeclaration, Kind, Setting

SPARK = (
    Setting(
        "master",
        Kind.TEXT,
        "Spark's master; by default all cores of this machine, or what spark-submit sets",
        section="spark",
    ),
    Setting("conf", Kind.MAPPING, "a Spark setting; may be repeated", section="spark", key="*"),
    Setting(
        "workers-package",
        Kind.TEXT,
        "the file that --package wrote; by default built on each run, unless the master is local",
        section="spark",
        key="workers-package",
    ),
)


def _cluster(section: str, prefix: str, what: str, *, required: bool = True) -> tuple[Setting, ...]:
    return (
        Setting(
            f"{prefix}bootstrap-server",
            Kind.TEXT,
            f"host:port[,host:port...] of {what}",
            required=required,
            section=section,
            key="bootstrap.servers",
        ),
        Setting(
            f"{prefix}command-config",
            Kind.TEXT,
            f"a properties file of client settings for {what} (security.protocol, ssl.*, sasl.*); its secrets "
            "reach the workers as a file of Spark's",
            section=section,
            key="command-config",
        ),
        Setting(
            f"{prefix}kafka",
            Kind.MAPPING,
            f"a client setting for {what}, by Kafka's name; may be repeated",
            section=section,
            key="*",
        ),
    )


KAFKA = _cluster("kafka", "", "the cluster")
TARGET = _cluster("target", "target-", "the target cluster")

SOURCE = (
    Setting("topics", Kind.LIST, "topics to read"),
    Setting("topics-pattern", Kind.TEXT, "a regular expression (Python's) of topics to read"),
    Setting("starting-offsets", Kind.TEXT, "earliest, latest or JSON per partition, for the first run", "earliest"),
    Setting("max-offsets-per-trigger", Kind.INTEGER, "maximum number of records per batch"),
    Setting("min-partitions", Kind.INTEGER, "minimum number of tasks; large partitions are split"),
    Setting(
        "whole-transactions",
        Kind.FLAG,
        "end a batch where no transaction of a partition is cut (with isolation.level=read_committed); by default if a "
        "mirror is transactional",
    ),
    Setting("allow-data-loss", Kind.FLAG, "continue when records were deleted before they were read", False),
    Setting("group", Kind.TEXT, "commit processed offsets to this consumer group, for monitoring"),
)
ONE_SOURCE = ("topics", "topics-pattern")

STREAM = (
    Setting(
        "trigger", Kind.TEXT, 'once (process what is available, then stop) or an interval like "10 seconds"', "once"
    ),
    Setting("checkpoint", Kind.TEXT, "directory of the query's state"),
)

DECODING = (
    Setting("decode", Kind.TEXT, "format of the values", "bytes", choices=("bytes", "string", "json", "avro")),
    Setting("schema", Kind.TEXT, "json: columns as in SQL (carrier STRING, delay DOUBLE); avro: the schema or @FILE"),
    Setting(
        "avro-framing",
        Kind.TEXT,
        "plain, or confluent: values begin with a zero byte and a four-byte schema id",
        "plain",
        choices=("plain", "confluent"),
    ),
    Setting(
        "bad-values",
        Kind.TEXT,
        "what to do with a value that cannot be decoded: fail, or null",
        "fail",
        choices=("fail", "null"),
    ),
)

EXACTLY_ONCE, AT_LEAST_ONCE = "exactly-once", "at-least-once"

TO_TOPIC = (
    Setting("key", Kind.LIST, "columns that form the key; several are joined by |"),
    Setting("value", Kind.TEXT, "column to use as the value; by default all columns as JSON"),
)

CREATION = (
    Setting("create-topics", Kind.FLAG, "create missing topics", False),
    Setting("topic-config", Kind.MAPPING, "a config for created topics, like retention.ms=-1; may be repeated"),
)

INGEST = JobDeclaration(
    "ingest",
    "files (CSV, JSON, Parquet) to a topic; completed files are never sent again",
    (
        *KAFKA,
        Setting("path", Kind.LIST, "files or directories", required=True),
        Setting("format", Kind.TEXT, "csv, json, parquet", "csv", choices=("csv", "json", "parquet", "orc")),
        Setting("read-option", Kind.MAPPING, "a Spark reader option, like header=true; may be repeated"),
        Setting("read-schema", Kind.TEXT, "columns as in SQL; inferred by default (csv: all strings)"),
        Setting("topic", Kind.TEXT, "topic to write to", required=True),
        *TO_TOPIC,
        Setting("files-per-batch", Kind.INTEGER, "number of files per batch", 16),
        Setting("checkpoint", Kind.TEXT, "directory that records what has been sent", required=True),
        Setting("create-partitions", Kind.INTEGER, "create the topic with this many partitions if it does not exist"),
        *SPARK,
    ),
)

ARCHIVE = JobDeclaration(
    "archive",
    "topics to files, by topic and date; each record exactly once, even after crashes",
    (
        *KAFKA,
        *SOURCE,
        *STREAM,
        Setting("path", Kind.TEXT, "directory of the archive", required=True),
        Setting("format", Kind.TEXT, "parquet, orc or another Spark file format", "parquet"),
        Setting("compression", Kind.TEXT, "compression codec, by Spark's name"),
        *SPARK,
    ),
    needs_one_of=(ONE_SOURCE,),
)

TRANSFORM = JobDeclaration(
    "transform",
    "a SQL query or a Python function f(df) -> df from topics to a topic, files or a table",
    (
        *KAFKA,
        *SOURCE,
        *STREAM,
        *DECODING,
        Setting("sql", Kind.TEXT, "a query on the view records, or @FILE"),
        Setting("python", Kind.TEXT, "FILE.py:FUNCTION or MODULE:FUNCTION"),
        Setting("watermark", Kind.TEXT, 'a time column and the allowed lateness, like "timestamp 10 minutes"'),
        Setting("event-time", Kind.TEXT, "a SQL expression for the column event_time"),
        Setting(
            "output-mode",
            Kind.TEXT,
            "append, update, complete",
            "append",
            choices=("append", "update", "complete"),
        ),
        Setting("to-topic", Kind.TEXT, "topic to write to, exactly once unless delivery says otherwise"),
        Setting("to-path", Kind.TEXT, "directory to write files to, exactly once"),
        Setting("to-table", Kind.TEXT, "table to write to, exactly once"),
        Setting("format", Kind.TEXT, "format of the files or the table", "parquet"),
        Setting("partition-by", Kind.LIST, "columns to partition the files by"),
        *TO_TOPIC,
        Setting(
            "delivery",
            Kind.TEXT,
            "into a topic: exactly-once (in transactions; readers need read_committed), or at-least-once",
            EXACTLY_ONCE,
            choices=(EXACTLY_ONCE, AT_LEAST_ONCE),
        ),
        *_cluster("target", "target-", "the cluster of --to-topic, if different", required=False),
        Setting("shuffle-partitions", Kind.INTEGER, "number of tasks of an aggregation; fixed by the first run", 8),
        *SPARK,
    ),
    needs_one_of=(ONE_SOURCE, ("sql", "python"), ("to-topic", "to-path", "to-table")),
)

RESTORE = JobDeclaration(
    "restore",
    "an archive to topics: same partitions, keys, values, headers, timestamps and order",
    (
        *KAFKA,
        Setting("path", Kind.TEXT, "directory of the archive", required=True),
        Setting("format", Kind.TEXT, "format of the archive", "parquet"),
        Setting("topics", Kind.LIST, "topics to restore; by default all"),
        Setting("rename", Kind.MAPPING, "OLD=NEW renames a topic; may be repeated"),
        *CREATION,
        Setting("checkpoint", Kind.TEXT, "directory that records the progress", required=True),
        *SPARK,
    ),
)

MIRROR = JobDeclaration(
    "mirror",
    "topics from one cluster to another: same partitions and order, with an offset translation table",
    (
        *KAFKA,
        *TARGET,
        *SOURCE,
        *STREAM,
        Setting("rename", Kind.MAPPING, "OLD=NEW renames a topic; may be repeated"),
        *CREATION,
        Setting("offsets-path", Kind.TEXT, "directory of the offset translation table", required=True),
        Setting(
            "transactional",
            Kind.FLAG,
            "read what is committed only, and write each batch in one transaction, so that readers with read_committed "
            "see all of it at once",
            False,
        ),
        Setting("groups", Kind.LIST, "consumer groups whose committed offsets are translated at the end"),
        *SPARK,
    ),
    needs_one_of=(ONE_SOURCE,),
)

AUDIT = JobDeclaration(
    "audit",
    "verify an archive, data directories or the replicas of a live cluster; exit code 2: problems were found",
    (
        *_cluster("kafka", "", "a cluster to compare an archive with, or to audit", required=False),
        Setting("archive", Kind.TEXT, "directory of an archive"),
        Setting("archive-format", Kind.TEXT, "format of the archive", "parquet"),
        Setting("log-dirs", Kind.LIST, "data directories of stopped brokers, or copies of them"),
        Setting("live", Kind.FLAG, "compare the replicas of a live cluster, each fetched from its own broker", False),
        Setting("topics", Kind.LIST, "only these topics"),
        Setting("deep", Kind.FLAG, "also decode the records inside the batches", False),
        Setting("report", Kind.TEXT, "directory for the report, as Parquet"),
        *SPARK,
    ),
    needs_one_of=(("archive", "log-dirs", "live"),),
)

JOBS = {job.name: job for job in (INGEST, ARCHIVE, TRANSFORM, RESTORE, MIRROR, AUDIT)}
