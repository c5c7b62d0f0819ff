"""Replicas compared by the batches they hold."""

from __future__ import annotations

from kafka_zk.spark.jobs.replica_comparison import BatchDigest, Difference, compare


def batch(first: int, last: int, crc: int = 1, epoch: int = 0) -> BatchDigest:
    return BatchDigest(first, last, crc, epoch)


def test_equal_replicas_do_not_differ_whatever_their_ends():
    assert compare({"a": [batch(0, 4), batch(5, 9)], "b": [batch(5, 9), batch(10, 12)]}) == []


def test_one_replica_or_empty_ones_have_nobody_to_differ_from():
    assert compare({"a": [batch(0, 4)]}) == []
    assert compare({"a": [batch(0, 4)], "b": []}) == []


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
