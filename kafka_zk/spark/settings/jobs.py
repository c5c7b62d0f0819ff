"""The jobs and everything they can be told.

Role        Pure: tables only. docs/pipeline.md explains them with examples.
"""

from __future__ import annotations

from kafka_zk.spark.settings.declaration import JobDeclaration, Kind, Setting

SPARK = (
    Setting(
        "master",
        Kind.TEXT,
        "Spark's master; all processors of this machine unless spark-submit names another",
        section="spark",
    ),
    Setting("conf", Kind.MAPPING, "a setting of Spark's; may be repeated", section="spark", key="*"),
    Setting(
        "workers-package",
        Kind.TEXT,
        "what --package made; made anew for a master that is not local",
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
            f"{prefix}kafka",
            Kind.MAPPING,
            f"a client setting for {what}, by Kafka's name; may be repeated",
            section=section,
            key="*",
        ),
    )


KAFKA = _cluster("kafka", "", "the cluster")
TARGET = _cluster("target", "target-", "the cluster that is written to")

SOURCE = (
    Setting("topics", Kind.LIST, "topics to read"),
    Setting("topics-pattern", Kind.TEXT, "a regular expression (Python's) of topics to read"),
    Setting("starting-offsets", Kind.TEXT, "earliest, latest or JSON per partition, for the first run", "earliest"),
    Setting("max-offsets-per-trigger", Kind.INTEGER, "records in one batch, at most"),
    Setting("min-partitions", Kind.INTEGER, "divide large partitions into at least so many tasks"),
    Setting("allow-data-loss", Kind.FLAG, "go on where records were deleted before they were read", False),
    Setting("group", Kind.TEXT, "commit what is done to this consumer group, for monitoring"),
)
ONE_SOURCE = ("topics", "topics-pattern")

STREAM = (
    Setting("trigger", Kind.TEXT, 'once (what is there now, then end) or an interval like "10 seconds"', "once"),
    Setting("checkpoint", Kind.TEXT, "directory of the query's state"),
)

DECODING = (
    Setting("decode", Kind.TEXT, "what values are", "bytes", choices=("bytes", "string", "json", "avro")),
    Setting("schema", Kind.TEXT, "json: columns as in SQL (carrier STRING, delay DOUBLE); avro: the schema or @FILE"),
    Setting(
        "avro-framing",
        Kind.TEXT,
        "plain, or confluent: a zero byte and four of a schema id come first",
        "plain",
        choices=("plain", "confluent"),
    ),
    Setting("bad-values", Kind.TEXT, "a value that cannot be decoded: fail, or null", "fail", choices=("fail", "null")),
)

TO_TOPIC = (
    Setting("key", Kind.LIST, "columns that make the key; several are joined by |"),
    Setting("value", Kind.TEXT, "column that is the value; without it, all columns as JSON"),
)

CREATION = (
    Setting("create-topics", Kind.FLAG, "create topics that are not there", False),
    Setting("topic-config", Kind.MAPPING, "a config of topics that are created, like retention.ms=-1; may be repeated"),
)

INGEST = JobDeclaration(
    "ingest",
    "files (CSV, JSON, Parquet) to a topic; files that are done are never sent again",
    (
        *KAFKA,
        Setting("path", Kind.LIST, "files or directories", required=True),
        Setting("format", Kind.TEXT, "csv, json, parquet", "csv", choices=("csv", "json", "parquet", "orc")),
        Setting("read-option", Kind.MAPPING, "an option of Spark's reader, like header=true; may be repeated"),
        Setting("read-schema", Kind.TEXT, "columns as in SQL; inferred without it (csv: all text)"),
        Setting("topic", Kind.TEXT, "topic to write", required=True),
        *TO_TOPIC,
        Setting("files-per-batch", Kind.INTEGER, "files that are sent and noted together", 16),
        Setting("checkpoint", Kind.TEXT, "directory that remembers what is done", required=True),
        Setting("create-partitions", Kind.INTEGER, "create the topic with so many partitions if need be"),
        *SPARK,
    ),
)

ARCHIVE = JobDeclaration(
    "archive",
    "topics to files, by topic and date; each record once, whatever is killed",
    (
        *KAFKA,
        *SOURCE,
        *STREAM,
        Setting("path", Kind.TEXT, "directory of the archive", required=True),
        Setting("format", Kind.TEXT, "parquet, orc or another file format of Spark's", "parquet"),
        Setting("compression", Kind.TEXT, "codec of the files, as Spark names it"),
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
        Setting("watermark", Kind.TEXT, 'a column and how late it may be: "timestamp 10 minutes"'),
        Setting("event-time", Kind.TEXT, "an SQL expression that becomes the column event_time"),
        Setting(
            "output-mode",
            Kind.TEXT,
            "append, update, complete",
            "append",
            choices=("append", "update", "complete"),
        ),
        Setting("to-topic", Kind.TEXT, "topic to write: at least once"),
        Setting("to-path", Kind.TEXT, "directory of files to write: exactly once"),
        Setting("to-table", Kind.TEXT, "table to write: exactly once"),
        Setting("format", Kind.TEXT, "of files or a table", "parquet"),
        Setting("partition-by", Kind.LIST, "columns that become directories"),
        *TO_TOPIC,
        *_cluster("target", "target-", "the cluster of --to-topic, if another", required=False),
        Setting("shuffle-partitions", Kind.INTEGER, "tasks of an aggregation; fixed by the first run", 8),
        *SPARK,
    ),
    needs_one_of=(ONE_SOURCE, ("sql", "python"), ("to-topic", "to-path", "to-table")),
)

RESTORE = JobDeclaration(
    "restore",
    "an archive to topics: same partition, key, value, headers and timestamp, in the same order",
    (
        *KAFKA,
        Setting("path", Kind.TEXT, "directory of the archive", required=True),
        Setting("format", Kind.TEXT, "format of the archive", "parquet"),
        Setting("topics", Kind.LIST, "topics of the archive; all without it"),
        Setting("rename", Kind.MAPPING, "OLD=NEW name of a topic; may be repeated"),
        *CREATION,
        Setting("checkpoint", Kind.TEXT, "directory that remembers where it began", required=True),
        *SPARK,
    ),
)

MIRROR = JobDeclaration(
    "mirror",
    "topics of one cluster to another: same partitions and order, and where each offset went",
    (
        *KAFKA,
        *TARGET,
        *SOURCE,
        *STREAM,
        Setting("rename", Kind.MAPPING, "OLD=NEW name of a topic; may be repeated"),
        *CREATION,
        Setting("offsets-path", Kind.TEXT, "directory of the offset translation table", required=True),
        Setting("groups", Kind.LIST, "consumer groups whose committed offsets are carried over at the end"),
        *SPARK,
    ),
    needs_one_of=(ONE_SOURCE,),
)

AUDIT = JobDeclaration(
    "audit",
    "verifies an archive, data directories or the replicas of a live cluster; exit code 2: something is wrong",
    (
        *_cluster("kafka", "", "a cluster to compare an archive with, or to audit", required=False),
        Setting("archive", Kind.TEXT, "directory of an archive"),
        Setting("archive-format", Kind.TEXT, "format of the archive", "parquet"),
        Setting("log-dirs", Kind.LIST, "data directories of stopped brokers, or copies of them"),
        Setting("live", Kind.FLAG, "fetch every replica of the cluster from its own broker", False),
        Setting("topics", Kind.LIST, "only these topics"),
        Setting("deep", Kind.FLAG, "decode the records inside the batches, too", False),
        Setting("report", Kind.TEXT, "directory for the report, as Parquet"),
        *SPARK,
    ),
    needs_one_of=(("archive", "log-dirs", "live"),),
)

JOBS = {job.name: job for job in (INGEST, ARCHIVE, TRANSFORM, RESTORE, MIRROR, AUDIT)}
