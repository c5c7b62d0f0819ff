"""A group of the source goes on in the target where it stood: no record is passed over, none is read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs import carried_groups
from kafka_zk.spark.jobs.carried_groups import carry_group
from kafka_zk.spark.jobs.copy_plan import Span

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
SOURCE, TARGET = {"bootstrap.servers": "source"}, {"bootstrap.servers": "target"}
TABLE = {FIRST: [Span(10, 0, 5), Span(20, 5, 5)]}


class Clusters:
    """What the group has committed in both, and where the target's partitions end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, committed: dict[TopicPartition, int]) -> None:
        self.committed = {"source": committed, "target": dict[TopicPartition, int]()}
        self.ends = {TopicPartition("copy", 0): 10, TopicPartition("copy", 1): 3}
        for name in ("committed_offsets", "commit_offsets", "partition_counts", "end_offsets"):
            monkeypatch.setattr(carried_groups, name, getattr(self, name))

    def carry(self) -> int:
        return carry_group(SOURCE, TARGET, {"t": "copy"}, "g", TABLE)

    def committed_offsets(self, properties: Mapping[str, str], _: str) -> dict[TopicPartition, int]:
        return self.committed[properties["bootstrap.servers"]]

    def commit_offsets(self, properties: Mapping[str, str], _: str, offsets: Any) -> None:
        self.committed[properties["bootstrap.servers"]].update(offsets)

    def partition_counts(self, *_: Any) -> dict[str, int]:
        return {"copy": len(self.ends)}

    def end_offsets(self, _: Any, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {each: self.ends[each] for each in partitions}


def test_a_group_goes_on_at_the_record_that_it_would_have_read(monkeypatch: pytest.MonkeyPatch) -> None:
    clusters = Clusters(monkeypatch, {FIRST: 22})
    assert clusters.carry() == 1
    assert clusters.committed["target"] == {TopicPartition("copy", 0): 7}


def test_a_group_in_a_partition_without_copies_goes_on_with_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that it had read is gone from the source; what comes must not be passed over by auto.offset.reset=latest."""
    clusters = Clusters(monkeypatch, {SECOND: 1000})
    assert clusters.carry() == 1
    assert clusters.committed["target"] == {TopicPartition("copy", 1): 3}


def test_a_group_that_went_on_in_the_target_is_not_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clusters = Clusters(monkeypatch, {FIRST: 22, SECOND: 1000})
    clusters.committed["target"][TopicPartition("copy", 0)] = 9
    assert clusters.carry() == 1
    assert clusters.committed["target"] == {TopicPartition("copy", 0): 9, TopicPartition("copy", 1): 3}
    assert clusters.carry() == 0


def test_what_is_not_mirrored_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    clusters = Clusters(monkeypatch, {TopicPartition("other", 0): 5, TopicPartition("t", 2): 5})
    assert clusters.carry() == 0
    assert clusters.committed["target"] == {}
