"""Requests that wait until this broker's metadata show their effect."""

from __future__ import annotations

import pytest

from kafka_zk.admin.metadata_wait import MetadataWait
from kafka_zk.clock import SimClock
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metadata.snapshot import LEADER_DURING_DELETE, TopicState
from kafka_zk.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kafka_zk.protocol.types import TopicPartition

MANY = [f"t{number}" for number in range(200)]


class CountingCache(MetadataCache):
    """Counts how often somebody asked for a topic."""

    def __init__(self) -> None:
        super().__init__()
        self.lookups = 0

    def topic(self, name: str) -> TopicState | None:
        self.lookups += 1
        return super().topic(name)


@pytest.fixture
def cache() -> CountingCache:
    return CountingCache()


@pytest.fixture
def waits(cache: CountingCache) -> MetadataWait:
    return MetadataWait("topic", cache, SimClock())


def tell(cache: MetadataCache, leaders: dict[str, list[int]]) -> None:
    """An UpdateMetadata with the leader of each partition of these topics."""
    cache.update(
        UpdateMetadataRequest(
            controller_id=1,
            topic_states=[
                UpdateMetadataTopicState(
                    topic_name=name,
                    partition_states=[
                        UpdateMetadataPartitionState(partition_index=index, leader=leader)
                        for index, leader in enumerate(of_topic)
                    ],
                )
                for name, of_topic in leaders.items()
            ],
        )
    )


def test_an_update_costs_a_wait_only_what_it_names(cache: CountingCache, waits: MetadataWait) -> None:
    """Thousands of topics that one request deleted go in several updates."""
    tell(cache, {name: [1] for name in MANY})
    answer = waits.until_gone(MANY, 1_000)
    cache.lookups = 0
    tell(cache, {name: [LEADER_DURING_DELETE] for name in MANY[:100]})
    assert not answer.is_done
    assert cache.lookups == 100
    tell(cache, {name: [LEADER_DURING_DELETE] for name in MANY[100:]})
    assert answer.value == set()


def test_what_is_not_shown_in_time_is_told() -> None:
    cache, clock = MetadataCache(), SimClock()
    waits = MetadataWait("topic", cache, clock)
    answer = waits.until_led({"a": 1, "b": 2}, 1_000)
    tell(cache, {"a": [1], "b": [1]})
    clock.advance(1_000)
    assert answer.value == {"b"}


def test_a_partition_counts_once_the_broker_that_was_elected_leads_it(
    cache: CountingCache, waits: MetadataWait
) -> None:
    first, second = TopicPartition("a", 0), TopicPartition("a", 1)
    tell(cache, {"a": [1, 1]})
    answer = waits.until_led_by({first: 2, second: 2}, 1_000)
    tell(cache, {"a": [2, 1]})
    assert not answer.is_done
    tell(cache, {"a": [2, 2]})
    assert answer.value == set()
