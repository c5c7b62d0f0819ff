"""Hash codes and the order of hash maps. What stands here as Java's was printed by Java 21."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.config.tables.topic import TOPIC_KEYS
from kafka_zk.java_hash import absolute, in_hash_order, in_scala_order, partition_hash, signed, spread, string_hash
from kafka_zk.protocol.types import TopicPartition

OF_JAVA = {
    "": 0,
    "a": 97,
    "hello": 99162322,
    "Aa": 2112,
    "BB": 2112,
    "polygenelubricants": -2147483648,
    "\N{GRINNING FACE}": 1772899,
    "\ud83d": 55357,
    "Grüße": 69215351,
    "日本語": 25921943,
    "console-consumer-48312": 161404719,
    "__consumer_offsets": -970371369,
    "x" * 249: -1202799496,
}
ORDERS = {
    5: "2 4 0 3 1",
    12: "2 4 0 3 11 8 1 6 5 7 9 10",
    13: "4 11 8 6 9 2 0 3 1 5 7 12 10",
    40: (
        "26 4 22 8 39 9 31 35 29 17 2 19 36 5 14 18 23 27 32 10 24 15 38 11 28 6 20 33 37 34 13 0 3 1 21 16 7 25 12 30"
    ),
}
TEXTS = st.text(st.characters(exclude_categories=()))
HASHES = st.one_of(st.integers(0, 2**32 - 1), st.integers(0, 40))


@pytest.mark.parametrize(("text", "code"), OF_JAVA.items())
def test_a_string_has_javas_hash(text: str, code: int) -> None:
    assert signed(string_hash(text)) == code


@given(TEXTS, TEXTS)
def test_the_hash_of_two_strings_follows_from_theirs(first: str, second: str) -> None:
    if first[-1:] and "\ud800" <= first[-1] <= "\udbff" and "\udc00" <= second[:1] <= "\udfff":
        return  # Two halves that become one character; the units are the same, Python's text is not.
    units = len(second.encode("utf-16-be", "surrogatepass")) // 2
    assert string_hash(first + second) == (string_hash(first) * 31**units + string_hash(second)) % 2**32


@given(st.lists(st.integers(0, 2**16 - 1).filter(lambda unit: not 0xD800 <= unit <= 0xDFFF)))
def test_a_hash_is_the_sum_that_java_documents(units: list[int]) -> None:
    powers = (31 ** (len(units) - 1 - index) * unit for index, unit in enumerate(units))
    assert string_hash("".join(map(chr, units))) == sum(powers) % 2**32


def test_a_partition_has_javas_hash() -> None:
    assert partition_hash(TopicPartition("hello", 3)) == 31 * 34 + 99162322
    assert partition_hash(TopicPartition("", -32)) == 2**32 - 31


def test_the_one_int_without_a_positive_counterpart_counts_as_zero() -> None:
    assert [absolute(code) for code in (0, 5, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1)] == [
        0,
        5,
        2**31 - 1,
        0,
        2**31 - 1,
        1,
    ]


@pytest.mark.parametrize(("count", "order"), ORDERS.items())
def test_names_come_in_the_order_of_javas_hash_map(count: int, order: str) -> None:
    names = [f"orders.{index * 37}-retry" for index in range(count)]
    assert [names.index(name) for name in in_hash_order(names, string_hash)] == [int(word) for word in order.split()]


def walked(hashes: list[int], capacity: int) -> list[int]:
    """The indexes of `hashes` as a table hands them out that is filled one by one, its buckets split as it grows."""
    size = next(1 << bits for bits in range(32) if 1 << bits >= capacity)
    table: list[list[int]] = [[] for _ in range(size)]
    for count, code in enumerate(hashes, 1):
        table[spread(code) % len(table)].append(count - 1)
        while count > 0.75 * len(table):
            before, size = table, len(table)
            table = [[each for each in bucket if not spread(hashes[each]) & size] for bucket in before]
            table += [[each for each in bucket if spread(hashes[each]) & size] for bucket in before]
    return [index for bucket in table for index in bucket]


@given(st.lists(HASHES, max_size=60), st.integers(0, 40))
def test_the_order_is_that_of_a_table_filled_one_by_one(hashes: list[int], capacity: int) -> None:
    indexes = list(range(len(hashes)))
    assert in_hash_order(indexes, hashes.__getitem__, capacity=capacity) == walked(hashes, capacity)


def test_a_topics_keys_come_as_apache_lists_them() -> None:
    """From answers of Kafka 3.9.1: the first of its 36 keys, and where four of them come."""
    first = [
        "compression.type",
        "remote.log.delete.on.disable",
        "leader.replication.throttled.replicas",
        "remote.storage.enable",
    ]
    some = ["cleanup.policy", "flush.ms", "segment.bytes", "retention.ms"]
    listed = in_scala_order(TOPIC_KEYS, string_hash)
    assert listed[:4] == first
    assert [name for name in listed if name in some] == some
    assert sorted(listed) == sorted(TOPIC_KEYS)
