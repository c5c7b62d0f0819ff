"""Configs stand in znodes in the order in which Java hands out properties."""

from __future__ import annotations

from kafka_zk.zk.znodes import ConfigEntityZNode
from kafka_zk.zk.znodes.properties_order import in_properties_order


def test_quotas_stand_as_kafka_writes_them() -> None:
    """From a znode of Kafka 3.9.1."""
    written = ConfigEntityZNode.encode({"consumer_byte_rate": "2097152", "request_percentage": "50.0"})
    assert written == b'{"version":1,"config":{"request_percentage":"50.0","consumer_byte_rate":"2097152"}}'


def test_nothing_is_lost_however_many_there_are() -> None:
    many = {f"key.{number}": str(number) for number in range(100)}
    assert in_properties_order(many) == many


def test_a_table_that_grows_turns_keys_of_one_bucket_around() -> None:
    # As Java 21 walks over a Properties that they were put into.
    keys = [f"orders.{index * 37}-retry" for index in range(13)]
    order = [4, 11, 8, 6, 9, 2, 3, 0, 1, 5, 7, 12, 10]
    assert list(in_properties_order(dict.fromkeys(keys, ""))) == [keys[index] for index in order]
