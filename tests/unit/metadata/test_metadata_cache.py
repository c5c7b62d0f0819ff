"""The picture of the cluster: what one UpdateMetadata changes, and what it leaves alone."""

from __future__ import annotations

from uuid import UUID

from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metadata.snapshot import Node
from kafka_zk.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kafka_zk.protocol.types import NULL_UUID, TopicPartition

ID_A, ID_B = UUID(int=1), UUID(int=2)


def broker(broker_id: int, *listeners: str, rack: str | None = None) -> UpdateMetadataBroker:
    endpoints = [
        UpdateMetadataEndpoint(host="h", port=9000 + broker_id, listener=name, security_protocol=0)
        for name in listeners or ("PLAINTEXT",)
    ]
    return UpdateMetadataBroker(id=broker_id, endpoints=endpoints, rack=rack)


def topic(name: str, topic_id: UUID, leaders: dict[int, int], *, epoch: int = 0) -> UpdateMetadataTopicState:
    states = [
        UpdateMetadataPartitionState(
            partition_index=index, leader=leader, leader_epoch=epoch, isr=[1], replicas=[1, 2], zk_version=epoch
        )
        for index, leader in leaders.items()
    ]
    return UpdateMetadataTopicState(topic_name=name, topic_id=topic_id, partition_states=states)


def update(
    *topics: UpdateMetadataTopicState, brokers: tuple[UpdateMetadataBroker, ...] = (), controller: int = 1
) -> UpdateMetadataRequest:
    return UpdateMetadataRequest(controller_id=controller, topic_states=list(topics), live_brokers=list(brokers))


def test_a_fresh_cache_knows_nobody() -> None:
    cache = MetadataCache()
    assert cache.controller_id == -1
    assert cache.alive_brokers("PLAINTEXT") == []
    assert cache.topic("a") is None
    assert cache.topic_id("a") == NULL_UUID


def test_brokers_and_controller_are_replaced_as_a_whole() -> None:
    cache = MetadataCache()
    cache.update(update(brokers=(broker(1), broker(2))))
    cache.update(update(brokers=(broker(2, rack="r"),), controller=2))
    assert cache.controller_id == 2
    assert cache.alive_brokers("PLAINTEXT") == [Node(2, "h", 9002, "r")]
    assert not cache.is_alive(1)


def test_a_broker_shows_itself_only_on_its_listeners() -> None:
    cache = MetadataCache()
    cache.update(update(brokers=(broker(1, "INTERNAL", "EXTERNAL"), broker(2, "INTERNAL"))))
    assert [node.id for node in cache.alive_brokers("EXTERNAL")] == [1]
    assert cache.node(2, "EXTERNAL") is None


def test_partitions_are_merged_and_others_left_alone() -> None:
    cache = MetadataCache()
    cache.update(update(topic("a", ID_A, {0: 1, 1: 1}), topic("b", ID_B, {0: 1})))
    before_b = cache.topic("b")
    cache.update(update(topic("a", ID_A, {1: 2}, epoch=5)))
    a0, a1 = cache.partition("a", 0), cache.partition("a", 1)
    assert a0 is not None and a1 is not None
    assert (a0.leader, a1.leader, a1.leader_epoch, a1.partition_epoch) == (1, 2, 5, 5)
    assert cache.topic("b") is before_b


def test_partitions_are_merged_without_comparing_epochs() -> None:
    cache = MetadataCache()
    cache.update(update(topic("a", ID_A, {0: 1}, epoch=7)))
    cache.update(update(topic("a", ID_A, {0: 2}, epoch=3)))
    state = cache.partition("a", 0)
    assert state is not None and state.leader_epoch == 3


def test_a_kept_snapshot_never_changes() -> None:
    cache = MetadataCache()
    cache.update(update(topic("a", ID_A, {0: 1})))
    kept = cache.snapshot
    cache.update(update(topic("a", ID_A, {0: 2, 1: 2}), topic("b", ID_B, {0: 1})))
    assert list(kept.topics) == ["a"]
    assert list(kept.topics["a"].partitions) == [0]
    assert kept.topics["a"].partitions[0].leader == 1


def test_an_update_without_partitions_shares_the_topics() -> None:
    cache = MetadataCache()
    cache.update(update(topic("a", ID_A, {0: 1})))
    topics = cache.snapshot.topics
    cache.update(update(brokers=(broker(1),)))
    assert cache.snapshot.topics is topics


def test_leader_minus_two_removes_a_partition_and_the_topic_goes_with_its_last() -> None:
    cache = MetadataCache()
    cache.update(update(topic("a", ID_A, {0: 1, 1: 1})))
    assert cache.update(update(topic("a", ID_A, {0: -2}))) == [TopicPartition("a", 0)]
    assert cache.topic_name(ID_A) == "a"
    assert cache.update(update(topic("a", ID_A, {1: -2}))) == [TopicPartition("a", 1)]
    assert cache.topic("a") is None
    assert cache.topic_name(ID_A) is None


def test_a_topic_made_anew_has_its_new_id_only() -> None:
    cache = MetadataCache()
    cache.update(update(topic("a", ID_A, {0: 1})))
    cache.update(update(topic("a", ID_B, {0: 1})))
    assert cache.topic_id("a") == ID_B
    assert cache.topic_name(ID_A) is None
    assert cache.topic_name(ID_B) == "a"


def test_old_layouts_are_understood() -> None:
    cache = MetadataCache()
    state = UpdateMetadataPartitionState(topic_name="a", partition_index=3, leader=1, isr=[1], replicas=[1])
    old = UpdateMetadataBroker(id=1, v0_host="old", v0_port=9)
    unnamed = UpdateMetadataBroker(
        id=2, endpoints=[UpdateMetadataEndpoint(host="h", port=7, listener="", security_protocol=3)]
    )
    cache.update(
        UpdateMetadataRequest(controller_id=1, ungrouped_partition_states=[state], live_brokers=[old, unnamed])
    )
    assert cache.partition("a", 3) is not None
    assert cache.node(1, "PLAINTEXT") == Node(1, "old", 9, None)
    assert cache.node(2, "SASL_SSL") == Node(2, "h", 7, None)


def test_listeners_hear_of_each_update_after_the_swap() -> None:
    cache = MetadataCache()
    heard: list[tuple[list[str], list[TopicPartition], bool]] = []
    cache.on_change(lambda changed, deleted: heard.append((list(changed), list(deleted), cache.topic("b") is not None)))
    cache.update(update(topic("a", ID_A, {0: 1})))
    cache.update(update(topic("a", ID_A, {0: -2}), topic("b", ID_B, {0: 1})))
    assert heard == [(["a"], [], False), (["a", "b"], [TopicPartition("a", 0)], True)]


def test_of_a_topic_that_was_made_anew_unheard_nothing_of_the_old_one_stays() -> None:
    cache = MetadataCache()
    gone: list[TopicPartition] = []
    cache.on_change(lambda topics, deleted: gone.extend(deleted))
    cache.update(update(topic("t", ID_A, {0: 1, 1: 1}), topic("other", NULL_UUID, {0: 1})))
    cache.update(update(topic("t", ID_B, {0: 1}), topic("other", NULL_UUID, {1: 1})))
    found, other = cache.topic("t"), cache.topic("other")
    assert found is not None and other is not None
    assert (found.topic_id, list(found.partitions)) == (ID_B, [0])
    assert gone == [TopicPartition("t", 0), TopicPartition("t", 1)]
    assert sorted(other.partitions) == [0, 1], "a controller that tells no ids tells nothing of this"
