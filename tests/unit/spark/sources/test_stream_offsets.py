"""Offsets in a checkpoint, with and without the ids of their topics."""

from __future__ import annotations

import json

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.sources.stream_offsets import StreamOffsets, decode

A0, A1, B10 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 10)


def test_offsets_of_a_checkpoint_come_back() -> None:
    given = StreamOffsets({B10: 1, A1: 2, A0: 3}, {"a": "AAAA"})
    encoded = json.loads(json.dumps(given.encode()))
    assert encoded == {"a": {"0": 3, "1": 2}, "b": {"10": 1}, "@ids": {"a": "AAAA"}}
    assert list(encoded) == ["a", "b", "@ids"]
    assert decode(encoded) == given


def test_offsets_of_an_earlier_version_have_no_ids() -> None:
    assert decode({"a": {"0": 3}}) == StreamOffsets({A0: 3})
    assert StreamOffsets({A0: 3}).encode() == {"a": {"0": 3}}


def test_only_an_id_that_is_known_and_another_means_another_topic() -> None:
    known = StreamOffsets({A0: 3, B10: 1}, {"a": "old", "b": "same"})
    assert known.replaced({"a": "new", "b": "same", "c": "more"}) == ["a"]
    assert known.replaced({}) == []
    assert StreamOffsets({A0: 3}).replaced({"a": "new"}) == []
    assert known.without(["a"]) == StreamOffsets({B10: 1}, {"b": "same"})
