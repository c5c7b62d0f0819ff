"""Which offsets the file of kafka-delete-records.sh names."""

from __future__ import annotations

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.delete_records.__main__ import offsets_from


def test_a_file_names_an_offset_for_each_partition() -> None:
    text = '{"partitions": [{"topic": "a", "partition": 1, "offset": -1}, {"topic": "b", "partition": 0, "offset": 7}]}'
    assert offsets_from(text) == {TopicPartition("a", 1): -1, TopicPartition("b", 0): 7}


def test_what_stands_behind_the_first_value_is_not_looked_at() -> None:
    assert offsets_from('\n{"partitions": []} trailing') == {}
