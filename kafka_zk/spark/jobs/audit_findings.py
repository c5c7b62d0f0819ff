"""The report of an audit: one row a finding, whatever was audited.

Role        Declares the table and makes its rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_zk.spark.jobs.replica_comparison import BatchDigest, compare

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

SCHEMA = (
    "severity STRING, kind STRING, topic STRING, partition INT, place STRING, "
    "first_offset BIGINT, last_offset BIGINT, what STRING"
)
"""`place`: a directory, a broker or an archive. Offsets are inclusive, null where a finding has none."""
DIGESTS = (
    "topic STRING, partition INT, replica STRING, base_offset BIGINT, last_offset BIGINT, crc BIGINT, "
    "leader_epoch INT, compacted BOOLEAN"
)
ERROR, WARNING, INFO = "error", "warning", "info"
Row = tuple[str, str, str, int | None, str, int | None, int | None, str]


def replica_ranges(digests: DataFrame) -> DataFrame:
    """One row a replica: first and last offset, batches."""
    from pyspark.sql import functions as F

    ranges = digests.groupBy("topic", "partition", "replica").agg(
        F.min("base_offset").alias("first_offset"),
        F.max("last_offset").alias("last_offset"),
        F.count("*").alias("batches"),
    )
    return ranges.orderBy("topic", "partition", "replica")


def divergence(digests: DataFrame) -> DataFrame:
    """Findings about replicas that do not hold the same batches."""
    # A function of its own without hints: Spark would evaluate them, and pyarrow is imported for type checkers only.
    return digests.groupBy("topic", "partition").applyInArrow(lambda table: _compared(table), SCHEMA)


def _compared(table: pyarrow.Table) -> pyarrow.Table:
    replicas: dict[str, list[BatchDigest]] = {}
    columns = [
        table.column(name).to_pylist() for name in ("replica", "base_offset", "last_offset", "crc", "leader_epoch")
    ]
    for replica, base, last, crc, epoch in zip(*columns, strict=True):
        replicas.setdefault(replica, []).append(BatchDigest(base, last, crc, epoch))
    for batches in replicas.values():
        batches.sort()
    topic, partition = table.column("topic")[0].as_py(), table.column("partition")[0].as_py()
    compacted = any(table.column("compacted").to_pylist())
    rows: list[Row] = [
        (
            INFO if compacted or each.kind == "leader-epochs-differ" else ERROR,
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


def as_table(rows: list[Row]) -> pyarrow.Table:
    import pyarrow

    text, number = pyarrow.string(), pyarrow.int64()
    fields = [("severity", text), ("kind", text), ("topic", text), ("partition", pyarrow.int32()), ("place", text)]
    fields += [("first_offset", number), ("last_offset", number), ("what", text)]
    return pyarrow.table(
        [pyarrow.array([row[index] for row in rows], kind) for index, (_, kind) in enumerate(fields)],
        names=[name for name, _ in fields],
    )
