"""What brokers do in a real ZooKeeper: register, create topics, write configs, follow notices."""

from __future__ import annotations

import uuid

import pytest

from kafka_zk.clock import SimClock, SystemClock
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.protocol.errors import TopicAlreadyExists
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk import cluster, entity_configs, registration, topics
from kafka_zk.zk.errors import BadVersion, ControllerMoved, EndPointsTaken, NodeExists
from kafka_zk.zk.sequence_listener import NOTICE_LIFETIME_MS, SequenceListener
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import (
    PERSISTENT_PATHS,
    BrokerRegistration,
    ConfigChangesZNode,
    ConfigChangeZNode,
    ControllerRegistration,
    ControllerZNode,
    FeatureState,
    FeatureZNode,
    LogDirEventNotificationZNode,
    PartitionLeadership,
    PartitionReplicas,
    TopicAssignment,
    TopicPartitionStateZNode,
)
from tests.integration.conftest import ConnectZk
from tests.support.zookeeper import ZooKeeperServer, eventually, expire


@pytest.fixture
def zk(connect_zk: ConnectZk) -> ZkClient:
    """A client in a cluster whose top-level paths exist."""
    client = connect_zk()
    cluster.create_top_level_paths(client)
    return client


def broker(broker_id: int, port: int = 9092) -> BrokerRegistration:
    return BrokerRegistration(broker_id, (EndPoint("PLAINTEXT", "PLAINTEXT", "Host", port),), timestamp_ms=7)


def become_controller(zk: ZkClient, **more: int) -> None:
    zk.create("/controller", ControllerZNode.encode(ControllerRegistration(1, 7, **more)), ephemeral=True)


def test_the_top_level_paths_have_no_data_and_come_in_apaches_order(zk: ZkClient) -> None:
    stats = [zk.get(path) for path in PERSISTENT_PATHS]
    assert all(data is None for data, _ in stats)
    created = [stat.czxid for _, stat in stats]
    assert created == sorted(created)
    cluster.create_top_level_paths(zk)


def test_the_first_broker_names_the_cluster(zk: ZkClient) -> None:
    assert cluster.cluster_id(zk) is None
    assert cluster.create_or_get_cluster_id(zk, "first") == "first"
    assert cluster.create_or_get_cluster_id(zk, "second") == "first"
    assert cluster.cluster_id(zk) == "first"


def test_generated_broker_ids_are_above_the_reserved_ones_and_never_repeat(zk: ZkClient) -> None:
    ids = [registration.generate_broker_id(zk, reserved_broker_max_id=1000) for _ in range(2)]
    assert ids == [1001, 1002]


def test_the_broker_epoch_is_the_transaction_that_created_the_registration(zk: ZkClient) -> None:
    epoch = registration.register_broker(zk, broker(3))
    stat = zk.exists("/brokers/ids/3")
    assert stat is not None
    assert (stat.czxid, stat.mzxid, stat.version, stat.ephemeral_owner) == (epoch, epoch, 1, zk.session_id)
    assert registration.live_brokers(zk)[3].epoch == epoch


def test_registering_twice_in_one_session_keeps_the_epoch(zk: ZkClient) -> None:
    # The reply to the first attempt may have been lost with its connection.
    assert registration.register_broker(zk, broker(1)) == registration.register_broker(zk, broker(1))


def test_a_second_process_with_the_same_id_is_refused(zk: ZkClient, connect_zk: ConnectZk) -> None:
    registration.register_broker(zk, broker(1))
    with pytest.raises(NodeExists, match="/brokers/ids/1"):
        registration.register_broker(connect_zk(), broker(1))


def test_a_registration_of_the_own_previous_session_is_replaced(zk: ZkClient, monkeypatch: pytest.MonkeyPatch) -> None:
    other_session = zk.session_id
    registration.register_broker(zk, broker(1))
    successor = ZkClient(zk.connect, connection_timeout_ms=30_000)
    successor.start()
    monkeypatch.setattr(ZkClient, "previous_session_id", other_session)
    epoch = registration.register_broker(successor, broker(1))
    stat = zk.exists("/brokers/ids/1")
    assert stat is not None and (stat.ephemeral_owner, stat.czxid) == (successor.session_id, epoch)
    successor.close()


def test_a_broker_registers_again_after_its_session_expired_with_a_new_epoch(
    zk: ZkClient, zookeeper: ZooKeeperServer
) -> None:
    epochs = [registration.register_broker(zk, broker(1))]
    zk.on_session_expired(
        lambda: None,
        lambda generation: epochs.append(registration.register_broker(zk, broker(1), generation=generation)),
    )
    expire(zookeeper, zk)
    eventually(lambda: len(epochs) == 2)
    assert epochs[1] > epochs[0]
    zk.set("/consumers", b"")


def test_an_address_of_another_broker_is_refused_and_ones_own_is_not(zk: ZkClient) -> None:
    registration.register_broker(zk, broker(1))
    registration.check_endpoints_free(zk, broker(1))
    registration.check_endpoints_free(zk, broker(2, port=9093))
    with pytest.raises(
        EndPointsTaken,
        match="requirement failed: Configured end points host:9092 in advertised listeners are already registered by "
        "broker 1",
    ):
        registration.check_endpoints_free(zk, broker(2))


def test_new_listeners_keep_the_epoch(zk: ZkClient) -> None:
    epoch = registration.register_broker(zk, broker(1))
    registration.update_registration(zk, broker(1, port=9999))
    found = registration.live_brokers(zk)[1]
    assert (found.epoch, found.endpoints[0].port) == (epoch, 9999)


def test_a_topics_config_is_there_before_the_topic(zk: ZkClient) -> None:
    become_controller(zk)
    assignment = TopicAssignment({0: PartitionReplicas((1, 2))}, uuid.uuid4())
    topics.create_topic(zk, "t", assignment, {"retention.ms": "1"})
    config, topic = zk.exists("/config/topics/t"), zk.exists("/brokers/topics/t")
    assert config is not None and topic is not None and config.czxid < topic.czxid
    assert topics.topic_assignments(zk, ["t", "u"]) == {"t": assignment}
    assert entity_configs.entity_config(zk, "topics/t") == {"retention.ms": "1"}
    with pytest.raises(TopicAlreadyExists, match=r"Topic 't' already exists\."):
        topics.create_topic(zk, "t", assignment, {})


def test_states_are_read_for_those_partitions_that_have_one(zk: ZkClient) -> None:
    topic_partition = TopicPartition("t", 0)
    leadership = PartitionLeadership(1, 0, (1, 2), 1)
    zk.create(
        TopicPartitionStateZNode.path(topic_partition), TopicPartitionStateZNode.encode(leadership), make_parents=True
    )
    found = topics.partition_leaderships(zk, [topic_partition, TopicPartition("t", 1)])
    assert found == {topic_partition: PartitionLeadership(1, 0, (1, 2), 1, partition_epoch=0)}


def test_asking_twice_for_a_deletion_is_asking_once(zk: ZkClient) -> None:
    topics.mark_for_deletion(zk, "t")
    topics.mark_for_deletion(zk, "t")
    assert topics.topics_marked_for_deletion(zk) == ["t"]


def test_configs_are_written_only_under_a_zookeeper_controller(zk: ZkClient) -> None:
    with pytest.raises(ControllerMoved, match="Cannot set entity configs for topics t when there is no controller"):
        entity_configs.write_entity_config(zk, "topics/t", {})
    become_controller(zk, kraft_controller_epoch=4)
    with pytest.raises(ControllerMoved, match="directly when there is a KRaft controller"):
        entity_configs.write_entity_config(zk, "topics/t", {})
    assert zk.exists("/config/topics/t") is None


def test_nested_entities_leave_their_parents_without_data(zk: ZkClient) -> None:
    become_controller(zk)
    entity_configs.write_entity_config(zk, "users/bob/clients/<default>", {"a": "1"})
    entity_configs.write_entity_config(zk, "users/bob/clients/<default>", {"a": "2"})
    assert entity_configs.entity_configs(zk, ["users/bob", "users/bob/clients/<default>"]) == {
        "users/bob": {},
        "users/bob/clients/<default>": {"a": "2"},
    }
    assert entity_configs.entities_with_config(zk, "users") == ["bob"]
    assert not entity_configs.delete_entity(zk, "users/bob")
    assert entity_configs.delete_entity(zk, "users/bob/clients/<default>")


def test_a_change_is_of_what_stands_when_it_is_written(zk: ZkClient, connect_zk: ConnectZk) -> None:
    become_controller(zk)
    other, path = connect_zk(), "users/bob"
    seen: list[dict[str, str]] = []

    def change(overrides: dict[str, str]) -> dict[str, str]:
        """The other broker is faster, twice: where there was no znode, and then where there is one."""
        seen.append(dict(overrides))
        if len(seen) < 3:
            entity_configs.change_entity_config(other, path, lambda standing: {**standing, f"theirs-{len(seen)}": "1"})
        return {**overrides, "ours": "2"}

    entity_configs.change_entity_config(zk, path, change)
    assert seen == [{}, {"theirs-1": "1"}, {"theirs-1": "1", "theirs-2": "1"}]
    assert entity_configs.entity_config(zk, path) == {**seen[2], "ours": "2"}
    assert len(zk.children(ConfigChangesZNode.PATH)) == 3


def test_a_znode_that_was_made_anew_is_not_taken_for_the_one_that_was_read(zk: ZkClient) -> None:
    become_controller(zk)
    entity_configs.write_entity_config(zk, "users/bob", {"old": "1"})
    read = entity_configs.stored_config(zk, "users/bob")
    assert read.version is not None
    assert entity_configs.remove_entity(zk, "users/bob", read.version)
    entity_configs.write_entity_config(zk, "users/bob", {"new": "2"})
    assert not entity_configs.replace_entity_config(zk, "users/bob", {"old": "1", "ours": "3"}, read.version)
    with pytest.raises(BadVersion):
        entity_configs.remove_entity(zk, "users/bob", read.version)
    assert entity_configs.entity_config(zk, "users/bob") == {"new": "2"}
    assert zk.get("/config/users")[0] is None


def test_features_come_with_their_epoch(zk: ZkClient) -> None:
    assert cluster.features(zk) is None
    zk.create("/feature", FeatureZNode.encode(FeatureState()))
    zk.set("/feature", FeatureZNode.encode(FeatureState()))
    found = cluster.features(zk)
    assert found is not None and (found[0], found[1].version) == (FeatureState(), 1)


def test_a_failed_log_directory_is_reported_to_the_controller(zk: ZkClient) -> None:
    cluster.report_log_dir_failure(zk, 5)
    path = f"{LogDirEventNotificationZNode.PREFIX}0000000000"
    assert LogDirEventNotificationZNode.decode(*zk.get(path)) == 5


def test_notices_are_handled_once_in_order_and_a_bad_one_does_not_stop_the_others(zk: ZkClient) -> None:
    seen: list[str] = []
    listener = SequenceListener(
        zk, "/config/changes", "config_change_", lambda data: seen.append(ConfigChangeZNode.decode(data)), SystemClock()
    )
    entity_configs.announce_config_change(zk, "topics/early")
    listener.start()
    assert seen == ["topics/early"]
    zk.create(ConfigChangeZNode.PREFIX, b"rubbish", sequential=True)
    zk.create(f"{ConfigChangeZNode.PREFIX}by-hand", b"{}")
    zk.create("/config/changes/stray", None)
    entity_configs.announce_config_change(zk, "topics/late")
    eventually(lambda: seen == ["topics/early", "topics/late"])
    listener.stop()


def test_notices_past_their_lifetime_are_purged(zk: ZkClient) -> None:
    entity_configs.announce_config_change(zk, "topics/old")
    written = zk.get(f"{ConfigChangeZNode.PREFIX}0000000000")[1].ctime
    clock = SimClock(wall_ms=written + NOTICE_LIFETIME_MS)
    listener = SequenceListener(zk, "/config/changes", "config_change_", lambda data: None, clock)
    listener.start()
    clock.set_wall(1)
    listener.process()
    assert len(zk.children("/config/changes")) == 1, "this listener has not known it for so long"
    clock.advance(NOTICE_LIFETIME_MS)
    listener.process()
    assert zk.children("/config/changes") == []
    listener.stop()
