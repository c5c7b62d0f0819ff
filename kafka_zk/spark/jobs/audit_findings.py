"""The report of an audit: one row per finding.

Role        Declares the table and makes its rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs.replica_comparison import UNKNOWN, BatchDigest, Replica, compare

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import Column, DataFrame

SCHEMA = (
    "severity STRING, kind STRING, topic STRING, partition INT, place STRING, "
    "first_offset BIGINT, last_offset BIGINT, what STRING"
)
"""`place`: a directory, a broker or an archive. Offsets are inclusive, null where a finding has none."""
DIGESTS = (
    "topic STRING, partition INT, replica STRING, base_offset BIGINT, last_offset BIGINT, crc BIGINT, "
    "leader_epoch INT, compacted BOOLEAN, committed BIGINT"
)
"""A row a batch, whose `committed` is null; and a row a replica, whose `crc` is null: offsets of its whole log, the
last one start - 1 for an empty one, and the high watermark that is known with it, if one is."""
DigestRow = tuple[str, int, str, int, int, int | None, int | None, bool, int | None]
ERROR, WARNING, INFO = "error", "warning", "info"
Row = tuple[str, str, str, int | None, str, int | None, int | None, str]


def replica_ranges(digests: DataFrame) -> DataFrame:
    """One row a replica: first and last offset (null for an empty one), batches."""
    from pyspark.sql import functions as F

    def of_batches(column: str) -> Column:
        return F.when(F.col("crc").isNotNull(), F.col(column))

    ranges = digests.groupBy("topic", "partition", "replica").agg(
        F.min(of_batches("base_offset")).alias("first_offset"),
        F.max(of_batches("last_offset")).alias("last_offset"),
        F.count("crc").alias("batches"),
    )
    return ranges.orderBy("topic", "partition", "replica")


def divergence(digests: DataFrame) -> DataFrame:
    """Findings about replicas that do not hold the same batches."""
    # A function of its own without hints: Spark would evaluate them, and pyarrow is imported for type checkers only.
    return digests.groupBy("topic", "partition").applyInArrow(lambda table: _compared(table), SCHEMA)


def replica_row(
    partition: TopicPartition, replica: str, start: int, end: int, *, compacted: bool, committed: int | None
) -> DigestRow:
    """The row of a replica whose log goes from `start` to before `end`, with batches or without any."""
    return (*partition, replica, start, end - 1, None, None, compacted, committed)


def _compared(table: pyarrow.Table) -> pyarrow.Table:
    topic, partition = table.column("topic")[0].as_py(), table.column("partition")[0].as_py()
    compacted = any(table.column("compacted").to_pylist())
    replicas = replicas_of(table)
    rows: list[Row] = [
        (
            severity_of(each.kind, compacted=compacted),
            each.kind,
            topic,
            partition,
            ", ".join(sorted(replicas)),
            each.first_offset,
            each.last_offset,
            each.what,
        )
        for each in compare(replicas)
    ]
    return as_table(rows)


def severity_of(kind: str, *, compacted: bool) -> str:
    """The severity of a difference of replicas. Compaction explains other batches, but never another end."""
    if kind == "replica-behind":
        return ERROR
    if kind == "replica-shorter":
        return WARNING
    return INFO if compacted or kind == "leader-epochs-differ" else ERROR


def replicas_of(table: pyarrow.Table) -> dict[str, Replica]:
    """The replicas of one partition, from their rows. Of one that could not be fetched to its end there is no row of
    its own: its log is taken to go as far as its batches."""
    batches: dict[str, list[BatchDigest]] = {}
    logs: dict[str, tuple[int, int, int]] = {}
    names = ("replica", "base_offset", "last_offset", "crc", "leader_epoch", "committed")
    for replica, base, last, crc, epoch, committed in zip(
        *[table.column(name).to_pylist() for name in names], strict=True
    ):
        of_replica = batches.setdefault(replica, [])
        if crc is None:
            logs[replica] = (base, last + 1, UNKNOWN if committed is None else committed)
        else:
            of_replica.append(BatchDigest(base, last, crc, epoch))
    found = {}
    for replica, held in batches.items():
        held.sort()
        start, end, committed = logs.get(replica) or (held[0].base_offset, held[-1].last_offset + 1, UNKNOWN)
        found[replica] = Replica(start, end, held, committed)
    return found


def as_table(rows: list[Row]) -> pyarrow.Table:
    import pyarrow

    text, number = pyarrow.string(), pyarrow.int64()
    fields = [("severity", text), ("kind", text), ("topic", text), ("partition", pyarrow.int32()), ("place", text)]
    fields += [("first_offset", number), ("last_offset", number), ("what", text)]
    return pyarrow.table(
        [pyarrow.array([row[index] for row in rows], kind) for index, (_, kind) in enumerate(fields)],
        names=[name for name, _ in fields],
    )
