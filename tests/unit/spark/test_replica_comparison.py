"""Replicas compared by the batches they hold."""

from __future__ import annotations

import pyarrow
import pytest

from kafka_zk.spark.jobs import audit_findings
from kafka_zk.spark.jobs.replica_comparison import BatchDigest, Difference, Replica
from kafka_zk.spark.jobs.replica_comparison import compare as compare_replicas


def batch(first: int, last: int, crc: int = 1, epoch: int = 0) -> BatchDigest:
    return BatchDigest(first, last, crc, epoch)


def log(*batches: BatchDigest, committed: int = -1) -> Replica:
    """A replica that reaches as far as its batches."""
    return Replica(batches[0].base_offset, batches[-1].last_offset + 1, batches, committed)


def compare(replicas: dict[str, list[BatchDigest]]) -> list[Difference]:
    return compare_replicas({name: log(*batches) for name, batches in replicas.items()})


def test_what_a_replica_has_not_any_more_or_not_yet_committed_is_no_difference():
    older, newer = log(batch(0, 4), batch(5, 9), committed=10), log(batch(5, 9), batch(10, 12), committed=10)
    assert compare_replicas({"a": older, "b": newer}) == []


def test_one_replica_or_empty_ones_have_nobody_to_differ_from():
    assert compare({"a": [batch(0, 4)]}) == []
    assert compare_replicas({"a": Replica(7, 7, ()), "b": Replica(7, 7, ())}) == []


def test_a_replica_below_what_is_committed_is_told_an_empty_one_too():
    whole, short, empty = log(batch(0, 4), batch(5, 9), committed=10), log(batch(0, 4)), Replica(0, 0, ())
    assert compare_replicas({"a": whole, "b": short, "c": empty}) == [
        Difference("replica-behind", 5, 9, "b ends at offset 5, but records are committed up to 10"),
        Difference("replica-behind", 0, 9, "c ends at offset 0, but records are committed up to 10"),
    ]


def test_where_nobody_knows_what_is_committed_the_shorter_one_is_told():
    assert compare_replicas({"a": log(batch(0, 4)), "b": Replica(0, 0, ())}) == [
        Difference("replica-shorter", 0, 4, "b ends at offset 0, but another replica ends at 5")
    ]


def test_a_replica_that_is_empty_or_lags_does_not_hide_how_two_others_differ():
    one, other = [batch(0, 4), batch(5, 9, crc=1)], [batch(0, 4), batch(5, 9, crc=2)]
    for third in (Replica(0, 0, ()), log(batch(0, 4)), Replica(10, 10, ())):
        found = compare_replicas({"a": log(*one), "b": log(*other), "c": third})
        assert [(each.first_offset, each.what) for each in found if each.kind == "replicas-differ"] == [
            (5, "a: to 9 crc 00000001, b: to 9 crc 00000002")
        ]


def test_a_hole_at_the_start_of_a_log_is_missing():
    found = compare_replicas({"a": log(batch(0, 4), batch(5, 9)), "b": Replica(0, 10, [batch(5, 9)])})
    assert found == [Difference("batch-missing", 0, 4, "in a, not in b")]


def table(*rows: audit_findings.DigestRow) -> pyarrow.Table:
    names = ("topic", "partition", "replica", "base_offset", "last_offset", "crc", "leader_epoch", "compacted")
    columns = (*names, "committed")
    return pyarrow.table({name: [row[index] for row in rows] for index, name in enumerate(columns)})


@pytest.mark.parametrize(("committed", "severity"), [(5, "error"), (None, "warning")])
def test_the_report_has_a_replica_without_any_batch(committed: int | None, severity: str):
    def row(name: str, end: int) -> audit_findings.DigestRow:
        return audit_findings.replica_row(("t", 0), name, 0, end, compacted=False, committed=committed)

    found = audit_findings._compared(table(("t", 0, "a", 0, 4, 7, 0, False, None), row("a", 5), row("b", 0)))
    (finding,) = found.to_pylist()
    assert (finding["severity"], finding["first_offset"], finding["last_offset"]) == (severity, 0, 4)
    assert finding["what"].startswith("b ends at offset 0,")


def test_of_a_replica_that_was_not_fetched_to_its_end_its_batches_count():
    found = audit_findings.replicas_of(table(("t", 0, "a", 3, 4, 7, 0, False, None)))
    assert found == {"a": Replica(3, 5, [BatchDigest(3, 4, 7, 0)])}


def test_other_bytes_at_the_same_offsets():
    found = compare({"a": [batch(0, 4, crc=0xAB)], "b": [batch(0, 4, crc=0xCD)]})
    assert found == [Difference("replicas-differ", 0, 4, "a: to 4 crc 000000ab, b: to 4 crc 000000cd")]


def test_a_batch_in_the_middle_that_one_replica_lacks():
    found = compare({"a": [batch(0, 4), batch(5, 9), batch(10, 12)], "b": [batch(0, 4), batch(10, 12)]})
    assert found == [Difference("batch-missing", 5, 9, "in a, not in b")]


def test_the_same_bytes_of_another_leader_epoch():
    found = compare({"a": [batch(0, 4, epoch=1)], "b": [batch(0, 4, epoch=2)]})
    assert found == [Difference("leader-epochs-differ", 0, 4, "a: 1, b: 2")]


def test_of_three_the_one_that_lacks_a_batch_or_has_other_bytes_is_told():
    whole = [batch(0, 4), batch(5, 9), batch(10, 12)]
    changed = [batch(0, 4), batch(5, 9, crc=2), batch(10, 12)]
    assert compare({"a": whole, "b": whole, "c": [whole[0], whole[2]]}) == [
        Difference("batch-missing", 5, 9, "in a, b, not in c")
    ]
    (found,) = compare({"a": whole, "b": whole, "c": changed})
    assert found == Difference(
        "replicas-differ", 5, 9, "a: to 9 crc 00000001, b: to 9 crc 00000001, c: to 9 crc 00000002"
    )
