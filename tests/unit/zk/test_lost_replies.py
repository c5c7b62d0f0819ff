"""Writes outside the controller whose reply is lost with the connection, over the real session and a model ensemble."""

import uuid

import pytest

from kafka_zk.zk import cluster, entity_configs, registration, topics
from kafka_zk.zk.errors import BadVersion, NodeExists, NoNode, NotTried, RolledBack
from kafka_zk.zk.lost_replies import Found, Sent, refusal_if_made_anew, results_if_applied
from kafka_zk.zk.operations import Check, Create, Delete, SetData, Stat
from kafka_zk.zk.znodes import (
    BrokerRegistration,
    ControllerRegistration,
    ControllerZNode,
    PartitionReplicas,
    TopicAssignment,
    TopicZNode,
)
from tests.simulation.model_kazoo import cut_at, zk_client
from tests.simulation.model_zookeeper import Cut, ModelZooKeeper

TOPIC = TopicAssignment({0: PartitionReplicas((1, 2))}, uuid.UUID(int=5))
OTHER = TopicAssignment({0: PartitionReplicas((2, 1))}, uuid.UUID(int=6))
SENT = Sent(session_id=7, zxid=100)


def stat(*, czxid=101, mzxid=101, version=0, owner=0):
    return Stat(czxid, mzxid, 0, 0, version, 0, 0, owner, 0, 0, czxid)


@pytest.fixture
def server():
    made = ModelZooKeeper().with_kafka_paths()
    made.ensure("/controller", ControllerZNode.encode(ControllerRegistration(1, 0)))
    return made


@pytest.fixture
def connect(server, monkeypatch):
    clients = []

    def connected():
        clients.append(zk_client(server, monkeypatch))
        return clients[-1]

    yield connected
    for client in clients:
        client.close()


def add_partition(zk):
    more = TopicAssignment({**TOPIC.partitions, 1: PartitionReplicas((2, 1))}, TOPIC.topic_id)
    _, zk_version = topics.versioned_topic_assignment(zk, "there")
    topics.write_topic_assignment(zk, "there", more, zk_version=zk_version)


def remove_overrides(zk):
    version = entity_configs.stored_config(zk, "users/bob").version
    return entity_configs.remove_entity(zk, "users/bob", version)


WRITES = {
    "a topic is created": lambda zk: topics.create_topic(zk, "t", TOPIC, {"a": "b"}),
    "a topic grows": add_partition,
    "a topic shall be deleted": lambda zk: topics.mark_for_deletion(zk, "there"),
    "overrides are replaced": lambda zk: entity_configs.write_entity_config(zk, "topics/there", {"c": "d"}),
    "overrides are changed": lambda zk: entity_configs.change_entity_config(
        zk, "topics/there", lambda found: {**found, "e": "f"}
    ),
    "first overrides are written": lambda zk: entity_configs.change_entity_config(
        zk, "users/al/clients/c", lambda found: {**found, "e": "f"}
    ),
    "overrides are removed": remove_overrides,
    "an entity is deleted": lambda zk: entity_configs.delete_entity(zk, "users/bob"),
    "a change is announced": lambda zk: entity_configs.announce_config_change(zk, "topics/there"),
    "a log directory is reported": lambda zk: cluster.report_log_dir_failure(zk, 3),
    "the cluster gets its id": lambda zk: cluster.create_or_get_cluster_id(zk, "ours"),
    "the broker registers": lambda zk: registration.register_broker(zk, BrokerRegistration(3, ())),
    "paths are made": lambda zk: zk.ensure_paths(["/a/b/c", "/a/d"]),
    "a lock is taken": lambda zk: zk.create("/lock-", b"x", ephemeral=True, sequential=True),
}


def outcome(server, connect, write):
    """(result, znodes and their versions, number of writes)."""
    server.ensure("/config/topics/there", b'{"version":1,"config":{"a":"b"}}')
    server.ensure("/brokers/topics/there", TopicZNode.encode(TOPIC))
    server.ensure("/config/users/bob", b'{"version":1,"config":{"a":"b"}}')
    zk = connect()
    result = WRITES[write](zk)
    # The broker epoch is a transaction's number, which has nothing to do with how often it was sent.
    znodes = {path: (node.data, node.version, node.owner) for path, node in server.nodes.items()}
    return str(result), znodes, zk._kazoo


@pytest.mark.parametrize("kind", Cut, ids=lambda kind: kind.value)
@pytest.mark.parametrize("write", WRITES)
def test_a_lost_reply_cannot_be_told_from_one_that_came(write, kind, monkeypatch):
    def lived(cut):
        server = ModelZooKeeper().with_kafka_paths()
        server.ensure("/controller", ControllerZNode.encode(ControllerRegistration(1, 0)))
        server.cut = cut
        clients = []

        def connected():
            clients.append(zk_client(server, monkeypatch))
            return clients[-1]

        try:
            return outcome(server, connected, write)
        finally:
            clients[0].close()

    result, znodes, kazoo = lived(lambda operations: None)
    for number in range(len(kazoo.sent)):
        found, after, cut_kazoo = lived(cut_at(number, kind))
        assert (found, after) == (result, znodes), f"write {number} of {write}: {kazoo.sent[number]}"
        assert cut_kazoo.connection_count == 2


def test_a_topic_that_another_made_meanwhile_exists_already(server, connect):
    zk = connect()
    server.cut = cut_at(1, Cut.BEFORE)
    server.while_disconnected = lambda: server.ensure(TopicZNode.path("t"), TopicZNode.encode(OTHER))
    with pytest.raises(topics.TopicAlreadyExists):
        topics.create_topic(zk, "t", TOPIC, {})
    assert server.nodes[TopicZNode.path("t")].data == TopicZNode.encode(OTHER)


def test_a_topic_is_ours_also_when_it_has_changed_before_we_looked(server, connect):
    zk = connect()
    moved = TopicAssignment({0: PartitionReplicas((3, 1, 2), adding=(3,))}, TOPIC.topic_id)
    server.cut = cut_at(1, Cut.AFTER)
    server.while_disconnected = lambda: server.apply(0, [SetData(TopicZNode.path("t"), TopicZNode.encode(moved))])
    topics.create_topic(zk, "t", TOPIC, {})
    assert server.nodes[TopicZNode.path("t")].data == TopicZNode.encode(moved)


def test_a_topic_that_was_deleted_before_we_looked_is_not_made_again(server, connect):
    zk = connect()
    server.cut = cut_at(1, Cut.AFTER)
    server.while_disconnected = lambda: server.apply(0, [Delete("/brokers/topics/t"), Delete("/config/topics/t")])
    topics.create_topic(zk, "t", TOPIC, {})
    assert "/brokers/topics/t" not in server.nodes


def test_a_topic_made_anew_is_not_deleted_by_the_repeated_wish(server, connect):
    server.ensure("/brokers/topics/t", TopicZNode.encode(TOPIC))
    zk = connect()

    def deleted_and_made_anew():
        server.apply(0, [Delete("/brokers/topics/t"), Delete("/admin/delete_topics/t")])
        server.ensure("/brokers/topics/t", TopicZNode.encode(OTHER))

    server.cut = cut_at(0, Cut.AFTER)
    server.while_disconnected = deleted_and_made_anew
    topics.mark_for_deletion(zk, "t")
    assert "/admin/delete_topics/t" not in server.nodes


def test_a_repeated_delete_leaves_alone_what_was_made_since(server, connect):
    server.ensure("/brokers/topics/t", b"old")
    zk = connect()
    zk.get("/brokers/topics/t")
    server.cut = cut_at(0, Cut.AFTER)
    server.while_disconnected = lambda: server.ensure("/brokers/topics/t", b"new")
    zk.delete("/brokers/topics/t")
    assert server.nodes["/brokers/topics/t"].data == b"new"


def made_anew(server, path, data):
    server.apply(0, [Delete(path)])
    server.ensure(path, data)


def test_a_growth_is_not_written_over_a_topic_made_anew(server, connect):
    path = TopicZNode.path("there")
    server.ensure(path, TopicZNode.encode(TOPIC))
    zk = connect()
    server.cut = cut_at(0, Cut.BEFORE)
    server.while_disconnected = lambda: made_anew(server, path, TopicZNode.encode(OTHER))
    with pytest.raises(BadVersion):
        add_partition(zk)
    assert server.nodes[path].data == TopicZNode.encode(OTHER)


def test_of_a_multi_nothing_is_written_where_one_znode_was_made_anew(server, connect):
    server.ensure("/a", b"old")
    server.ensure("/b", b"old")
    zk = connect()
    zk.get_many(["/a", "/b"])
    server.cut = cut_at(0, Cut.BEFORE)
    server.while_disconnected = lambda: made_anew(server, "/b", b"new")
    answers = zk.multi([SetData("/a", b"ours", 0), SetData("/b", b"ours", 0), Delete("/a")])
    assert list(map(type, answers)) == [RolledBack, BadVersion, NotTried]
    assert (server.nodes["/a"].data, server.nodes["/b"].data) == (b"old", b"new")


def test_a_version_that_somebody_else_wrote_is_still_a_conflict(server, connect):
    server.ensure("/n", b"0")
    zk = connect()
    server.cut = cut_at(0, Cut.BEFORE)
    server.while_disconnected = lambda: server.apply(0, [SetData("/n", b"theirs")])
    with pytest.raises(BadVersion):
        zk.set("/n", b"ours", 0)
    server.cut = cut_at(0, Cut.BEFORE)
    server.while_disconnected = lambda: server.ensure("/m", b"theirs")
    with pytest.raises(NodeExists):
        zk.create("/m", b"ours")
    server.cut = cut_at(0, Cut.BEFORE)
    server.while_disconnected = lambda: None
    with pytest.raises(NoNode):
        zk.set("/missing", b"ours", 0)


def test_a_generated_broker_id_is_nobody_elses_after_a_lost_reply(server, connect):
    zk = connect()
    first = registration.generate_broker_id(zk, reserved_broker_max_id=1000)
    taken = []
    server.cut = cut_at(0, Cut.AFTER)
    server.while_disconnected = lambda: taken.append(
        1000 + server.apply(0, [SetData("/brokers/seqid", b"")])[0].version
    )
    second = registration.generate_broker_id(zk, reserved_broker_max_id=1000)
    assert len({first, second, *taken}) == 3


@pytest.mark.parametrize(
    ("operations", "found", "results"),
    [
        ([Create("/n", b"x")], {"/n": Found(b"x", stat())}, ["/n"]),
        ([Create("/n", b"x")], {"/n": None}, None),
        ([Create("/n", b"x")], {"/n": Found(b"y", stat())}, None),
        ([Create("/n", b"x")], {"/n": Found(b"x", stat(czxid=100))}, None),
        ([Create("/n", b"x")], {"/n": Found(b"x", stat(version=1))}, None),
        ([Create("/n", b"x", ephemeral=True)], {"/n": Found(b"x", stat(owner=7))}, ["/n"]),
        ([Create("/n", b"x", ephemeral=True)], {"/n": Found(b"x", stat(owner=8))}, None),
        ([Create("/n", b"x")], {"/n": Found(b"x", stat(owner=7))}, None),
        ([SetData("/n", b"x", 4)], {"/n": Found(b"x", stat(version=5))}, [stat(version=5)]),
        ([SetData("/n", b"x", 4)], {"/n": Found(b"x", stat(version=6))}, None),
        ([SetData("/n", b"x", 4)], {"/n": Found(b"y", stat(version=5))}, None),
        ([SetData("/n", b"x", 4)], {"/n": Found(b"x", stat(version=5, mzxid=100))}, None),
        ([SetData("/n", b"x")], {"/n": Found(b"x", stat(version=5))}, [stat(version=5)]),
        ([SetData("/n", b"x")], {"/n": Found(b"x", stat(version=5, mzxid=100))}, None),
        ([SetData("/n", b"")], {"/n": Found(b"", stat(version=5))}, None),
        ([Delete("/n")], {"/n": None}, [True]),
        ([Delete("/n")], {"/n": Found(b"", stat(czxid=100))}, None),
        ([Delete("/n")], {"/n": Found(b"", stat(czxid=101))}, [True]),
        ([Check("/e", 1), Delete("/n")], {"/n": None}, [True, True]),
        ([Check("/e", 1)], {}, None),
        ([Create("/n"), SetData("/n", b"x", 0)], {"/n": Found(b"x", stat(version=1))}, ["/n", stat(version=1)]),
        ([Create("/n"), SetData("/n", b"x", 0)], {"/n": Found(None, stat())}, None),
        ([Create("/d/n-", b"x", sequential=True)], {"/d/n-0000000003": Found(b"x", stat())}, ["/d/n-0000000003"]),
        ([Create("/d/n-", b"x", sequential=True)], {"/d/n-0000000003": Found(b"x", stat(czxid=99))}, None),
        ([Create("/d/n-", b"x", sequential=True)], {"/d/other-0000000003": Found(b"x", stat())}, None),
        (
            [Delete("/n", 1), SetData("/p", None, 4)],
            {"/n": None, "/p": Found(None, stat(version=5))},
            [True, stat(version=5)],
        ),
        ([Delete("/n", 1), SetData("/p", None, 4)], {"/n": None, "/p": Found(None, stat(version=4))}, None),
    ],
)  # fmt: skip
def test_what_counts_as_applied(operations, found, results):
    assert results_if_applied(operations, found, SENT) == results


@pytest.mark.parametrize(
    ("operations", "found", "is_refused"),
    [
        ([SetData("/n", b"x", 0)], {"/n": Found(b"y", stat(czxid=101))}, True),
        ([SetData("/n", b"x", 0)], {"/n": Found(b"y", stat(czxid=100))}, False),
        ([SetData("/n", b"x", 0)], {"/n": None}, False),
        ([SetData("/n", b"x")], {"/n": Found(b"y", stat(czxid=101))}, False),
        ([Create("/n"), SetData("/n", b"x", 0)], {"/n": Found(b"y", stat(czxid=101))}, False),
        ([Check("/e", 1), SetData("/n", b"x", 0)], {"/n": Found(b"y", stat(czxid=101))}, True),
    ],
)
def test_whose_version_is_that_of_an_earlier_znode(operations, found, is_refused):
    assert (refusal_if_made_anew(operations, found, SENT) is not None) == is_refused
