"""When a rolling restart may go on, whom it asks, and in which order it goes."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.client.admin.admin_results import TopicDescription, TopicPartitionInfo
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.protocol.errors import LeaderNotAvailable, UnknownTopicOrPartition
from kafka_zk.tools.cluster_restart.replicas import address_for, lagging, restart_order
from kafka_zk.tools.common.failures import Refused


def topic(*partitions: tuple[list[int], list[int]]) -> TopicDescription:
    """A topic of (replicas, isr) pairs."""
    infos = [TopicPartitionInfo(index, 1, *each) for index, each in enumerate(partitions)]
    return TopicDescription("t", UUID(int=1), False, infos)


def test_a_partition_lags_until_each_of_its_replicas_is_in_the_isr() -> None:
    assert lagging({"t": topic(([1, 2, 3], [3, 1, 2]), ([1], [1]))}) == []
    assert lagging({"t": topic(([1, 2, 3], [1, 2]), ([1, 2], [2, 1]), ([2], []))}) == ["t-0", "t-2"]


def test_as_many_in_the_isr_as_replicas_is_not_enough() -> None:
    assert lagging({"t": topic(([1, 2], [1, 9]))}) == ["t-0"]


def test_a_topic_that_was_deleted_lags_no_more_but_one_that_cannot_be_described_does() -> None:
    assert lagging({"gone": UnknownTopicOrPartition(), "new": LeaderNotAvailable()}) == ["new"]


@given(st.sets(st.integers(0, 9), min_size=1), st.integers(-1, 9))
def test_the_controller_is_restarted_last(brokers: set[int], controller: int) -> None:
    order = restart_order(brokers, controller)
    assert sorted(order) == sorted(brokers)
    assert (order[-1] == controller) == (controller in brokers)
    assert [each for each in order if each != controller] == sorted(brokers - {controller})


def broker(**properties: str) -> BrokerConfig:
    named = {key.replace("_", "."): value for key, value in properties.items()}
    return BrokerConfig.from_properties({"zookeeper.connect": "zk:2181", "broker.id": "4", **named})


@pytest.mark.parametrize(
    ("listeners", "advertised", "address"),
    [
        ("PLAINTEXT://:9092", "PLAINTEXT://:9092", "localhost:9092"),
        ("PLAINTEXT://0.0.0.0:9092", "PLAINTEXT://b4.example:19092", "b4.example:9092"),
        ("PLAINTEXT://127.0.0.2:9092", "PLAINTEXT://b4.example:9092", "127.0.0.2:9092"),
        ("PLAINTEXT://[::1]:9092", "PLAINTEXT://b4.example:9092", "[::1]:9092"),
        ("SSL://a:1,PLAINTEXT://b:2", "SSL://a:1,PLAINTEXT://b:2", "b:2"),
    ],
)
def test_a_broker_is_asked_where_it_listens(listeners: str, advertised: str, address: str) -> None:
    assert address_for(broker(listeners=listeners, advertised_listeners=advertised), "PLAINTEXT", None) == address


def test_the_port_that_it_has_counts_more_than_the_one_that_it_will_get() -> None:
    config = broker(listeners="PLAINTEXT://a:1,SSL://a:2")
    assert address_for(config, "PLAINTEXT", 7) == "a:7"
    assert address_for(config, "SSL", 7) == "a:2"
    with pytest.raises(Refused, match="broker 4 has no listener that speaks SASL_SSL"):
        address_for(config, "SASL_SSL", 7)
