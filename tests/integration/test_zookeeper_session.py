"""The session against a real ZooKeeper: connections and sessions that end, watches, races, fences."""

from __future__ import annotations

from typing import Any

import gevent
import pytest

from kafka_zk.clock import SystemClock
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.errors import (
    BadVersion,
    ConnectionClosed,
    ConnectionTimeout,
    NoAuth,
    NodeExists,
    NoNode,
    NotEmpty,
    NotTried,
    RolledBack,
    SessionExpired,
    ZkError,
)
from kafka_zk.zk.operations import ALL, READ, Acl, Check, Create, Delete, SetData
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.session_metrics import measure
from kafka_zk.zk.topics import gone_partitions, gone_topics
from kafka_zk.zk.znodes import PartitionReplicas, TopicAssignment, TopicZNode
from tests.integration.conftest import ConnectZk
from tests.support.processes import free_port
from tests.support.zookeeper import (
    ZooKeeperServer,
    eventually,
    expire,
    expire_session,
    fresh_chroot,
    session_password,
)


def test_a_missing_chroot_of_several_levels_is_created(zookeeper: ZooKeeperServer) -> None:
    client = ZkClient(f"{fresh_chroot(zookeeper)}/a/b", connection_timeout_ms=30_000)
    client.start()
    assert client.exists("/") is not None
    assert client.create("/x") == "/x"
    client.close()


def test_a_znode_without_data_is_not_one_with_empty_data(connect_zk: ConnectZk) -> None:
    client = connect_zk()
    client.create("/null")
    client.create("/empty", b"")
    assert client.get("/null")[0] is None
    assert client.get("/empty")[0] == b""


def test_parents_are_made_on_request_only(connect_zk: ConnectZk) -> None:
    client = connect_zk()
    with pytest.raises(NoNode):
        client.create("/a/b/c")
    assert client.create("/a/b/c", b"x", make_parents=True) == "/a/b/c"
    assert client.get("/a/b")[0] is None
    client.ensure_path("/a/b")


def test_paths_are_made_with_their_parents_and_those_that_stand_stay(connect_zk: ConnectZk) -> None:
    client = connect_zk()
    client.ensure_path("/b/old")
    before = client.exists("/b/old")
    client.ensure_paths(["/a/x/y", "/b/new", "/b/old", "/a/x"])
    assert sorted(client.children("/")) == ["a", "b"]
    assert (client.children("/a"), client.children("/a/x")) == (["x"], ["y"])
    assert sorted(client.children("/b")) == ["new", "old"]
    assert client.exists("/b/old") == before
    assert client.get("/a")[0] is None
    client.ensure_paths(["/a/x/y", "/b/new"])


def test_every_other_code_is_reported_with_its_path(connect_zk: ConnectZk) -> None:
    client = connect_zk()
    client.create("/a/b", make_parents=True)
    with pytest.raises(NodeExists, match="KeeperErrorCode = NodeExists for /a"):
        client.create("/a")
    with pytest.raises(BadVersion):
        client.set("/a", b"", version=7)
    with pytest.raises(NotEmpty):
        client.delete("/a")
    with pytest.raises(NoNode):
        client.get("/b")


def test_pipelined_reads_answer_in_order_with_their_own_errors(connect_zk: ConnectZk) -> None:
    client = connect_zk(max_in_flight=3)
    for number in range(20):
        client.create(f"/n{number}", str(number).encode())
    client.delete("/n7")
    answers = client.get_many(f"/n{number}" for number in range(20))
    assert isinstance(answers[7], NoNode)
    assert [answer[0] for answer in answers if not isinstance(answer, NoNode)] == [
        str(number).encode() for number in range(20) if number != 7
    ]
    assert [stat is None for stat in client.exists_many(["/n7", "/n8"])] == [True, False]
    assert client.children_many(["/n8"]) == [[]]


def test_what_is_read_together_is_what_single_reads_tell(connect_zk: ConnectZk) -> None:
    client = connect_zk()
    batches = [[Create(f"/n{n}", None if n == 3 else b"x" * n), Create(f"/n{n}/child", b"")] for n in range(500)]
    batches[7] = [Create("/n7", b"y" * 700_000), Create("/n7/a", b""), Create("/n7/b", b"")]
    client.multi_many(batches)
    client.delete("/n9/child")
    client.set_acl("/n8", [Acl(ALL & ~READ, "world", "anyone")])
    paths = [f"/n{n}" for n in range(500)] + ["/missing"]
    assert told(client.get_many(paths)) == told([client.get_many([path])[0] for path in paths])
    names = [found if isinstance(found, ZkError) else sorted(found) for found in client.children_many(paths)]
    assert told(names) == told(
        [["child"]] * 7 + [["a", "b"], NoAuth("/n8"), []] + [["child"]] * 490 + [NoNode("/missing")]
    )


def told(answers: list[Any]) -> list[Any]:
    return [str(answer) if isinstance(answer, ZkError) else answer for answer in answers]


def test_a_topic_is_gone_if_it_is_not_there_or_is_to_be_deleted(connect_zk: ConnectZk) -> None:
    """Whoever asks: what another session has made is seen."""
    other, client = connect_zk(), connect_zk()
    for path in ("/brokers/topics/there", "/brokers/topics/going", "/admin/delete_topics/going"):
        other.create(path, b"", make_parents=True)
    assert gone_topics(client, ["there", "going", "gone"]) == ["going", "gone"]


def test_a_partition_is_gone_if_its_topic_is_or_has_fewer(connect_zk: ConnectZk) -> None:
    client = connect_zk()
    for topic in ("there", "going"):
        data = TopicZNode.encode(TopicAssignment({0: PartitionReplicas((1,)), 1: PartitionReplicas((1,))}))
        client.create(TopicZNode.path(topic), data, make_parents=True)
    client.create("/admin/delete_topics/going", b"", make_parents=True)
    asked = [TopicPartition(topic, index) for topic in ("there", "going", "gone") for index in (1, 2)]
    assert gone_partitions(client, asked) == asked[1:]


def test_a_multi_is_all_or_nothing_and_tells_which_part_failed(connect_zk: ConnectZk) -> None:
    client = connect_zk()
    client.create("/fence", b"1")
    checked, created, changed = client.multi([Check("/fence", 0), Create("/n"), SetData("/fence", b"2")])
    assert (checked, created, changed.version) == (True, "/n", 1)
    before, failed, after = client.multi([Create("/m"), Check("/fence", 0), Delete("/n")])
    assert isinstance(before, RolledBack)
    assert isinstance(failed, BadVersion)
    assert isinstance(after, NotTried)
    assert client.exists("/m") is None


def test_writes_fenced_by_an_epoch_fail_once_the_epoch_has_moved(connect_zk: ConnectZk) -> None:
    old, new = connect_zk(), connect_zk()
    old.create("/controller_epoch", b"1")
    old.create("/t")
    epoch_zk_version = old.exists("/controller_epoch").version
    new.set("/controller_epoch", b"2")
    results = old.multi_many([[Check("/controller_epoch", epoch_zk_version), SetData("/t", b"old")]] * 3)
    assert all(isinstance(check, BadVersion) for check, _ in results)
    assert new.get("/t")[0] is None


def test_of_two_that_race_for_an_election_one_wins(connect_zk: ConnectZk) -> None:
    clients = [connect_zk() for _ in range(4)]
    clients[0].create("/controller_epoch", b"0")

    def elect(client: ZkClient) -> bool:
        created, _ = client.multi([Create("/controller", ephemeral=True), SetData("/controller_epoch", b"1", 0)])
        return created == "/controller"

    races = [gevent.spawn(elect, client) for client in clients]
    gevent.joinall(races, raise_error=True)
    assert sorted(race.get() for race in races) == [False, False, False, True]
    assert clients[0].get("/controller_epoch")[1].version == 1


def test_a_watch_tells_of_creation_new_data_deletion_and_children(connect_zk: ConnectZk) -> None:
    watcher, writer = connect_zk(), connect_zk()
    told: list[str] = []
    watcher.watch("/x", "data", lambda: told.append("data"))
    watcher.watch("/", "children", lambda: told.append("children"))
    with pytest.raises(NoNode):
        watcher.get("/x")
    watcher.children("/")
    writer.create("/x")
    eventually(lambda: sorted(told) == ["children", "data"])
    told.clear()
    watcher.get("/x")
    writer.set("/x", b"1")
    eventually(lambda: told == ["data"])
    watcher.exists("/x")
    watcher.children("/")
    writer.delete("/x")
    eventually(lambda: sorted(told) == ["children", "data", "data"])


def test_a_watch_fires_once_until_the_znode_is_read_again(connect_zk: ConnectZk) -> None:
    watcher, writer = connect_zk(), connect_zk()
    told: list[int] = []
    watcher.create("/x")
    watcher.watch("/x", "data", lambda: told.append(1))
    watcher.get("/x")
    writer.set("/x", b"1")
    eventually(lambda: told)
    writer.set("/x", b"2")
    watcher.exists("/y")
    assert told == [1]


def test_unwatched_paths_are_silent(connect_zk: ConnectZk) -> None:
    watcher, writer = connect_zk(), connect_zk()
    told: list[int] = []
    watcher.create("/x")
    watcher.watch("/x", "data", lambda: told.append(1))
    watcher.get("/x")
    watcher.unwatch("/x")
    writer.set("/x", b"1")
    watcher.exists("/y")
    assert told == []


def test_operations_outlive_a_stopped_zookeeper_and_watches_are_set_again(
    connect_zk: ConnectZk, zookeeper: ZooKeeperServer
) -> None:
    client = connect_zk()
    told: list[str] = []
    for path in ("/changed", "/kept"):
        client.create(path)
        client.watch(path, "data", lambda path=path: told.append(path))
        client.get(path)
    session_id = client.session_id
    zookeeper.stop()
    write = gevent.spawn(client.set, "/changed", b"1")
    read = gevent.spawn(client.get, "/kept")
    eventually(lambda: client.state == "CONNECTING")
    zookeeper.start()
    assert write.get(timeout=30).version == 1
    assert read.get(timeout=30)[0] is None
    eventually(lambda: told == ["/changed"])
    assert (client.session_id, client.generation) == (session_id, 1)
    client.set("/kept", b"2")
    eventually(lambda: told == ["/changed", "/kept"])


def test_after_an_expiry_only_the_registration_may_write_until_it_is_done(
    connect_zk: ConnectZk, zookeeper: ZooKeeperServer
) -> None:
    client = connect_zk()
    client.create("/ids")
    client.create("/ids/1", ephemeral=True)
    seen: list[object] = []

    def before() -> None:
        seen.append("before")

    def after(generation: int) -> None:
        with pytest.raises(SessionExpired):
            client.create("/too-early")
        with pytest.raises(SessionExpired):
            client.create("/too-late", generation=generation - 1)
        client.create("/ids/1", ephemeral=True, generation=generation)
        seen.append(generation)

    client.on_session_expired(before, after)
    old_session = client.session_id
    expire(zookeeper, client)
    eventually(lambda: len(seen) == 2)
    assert seen == ["before", 2]
    eventually(lambda: client.exists("/ids/1"))
    assert client.session_id != old_session
    assert client.previous_session_id == old_session
    eventually(lambda: _may_write(client))
    assert client.exists("/too-early") is None and client.exists("/too-late") is None


def _may_write(client: ZkClient) -> bool:
    try:
        client.set("/", b"")
    except SessionExpired:
        return False
    return True


def test_a_failed_registration_is_tried_again(connect_zk: ConnectZk, zookeeper: ZooKeeperServer) -> None:
    client = connect_zk()
    attempts: list[int] = []

    def after(generation: int) -> None:
        attempts.append(generation)
        if len(attempts) == 1:
            raise NodeExists("/brokers/ids/1")

    client.on_session_expired(lambda: None, after)
    expire(zookeeper, client)
    eventually(lambda: _may_write(client))
    assert attempts == [2, 2]


def test_a_write_of_the_old_generation_is_never_sent_in_the_new_session(
    connect_zk: ConnectZk, zookeeper: ZooKeeperServer
) -> None:
    client = connect_zk()
    client.create("/x")
    generation = client.generation
    expire(zookeeper, client)
    with pytest.raises(SessionExpired):
        client.set("/x", b"old", generation=generation)
    eventually(lambda: _may_write(client))
    assert client.get("/x")[0] is None


def test_a_change_during_the_expiry_is_reported_afterwards(connect_zk: ConnectZk, zookeeper: ZooKeeperServer) -> None:
    client, other = connect_zk(), connect_zk()
    told: list[str] = []
    client.create("/x")
    client.watch("/x", "data", lambda: told.append("/x"))
    client.watch("/", "children", lambda: told.append("/"))
    client.get("/x")
    client.children("/")
    session = client.session_id, client.session_password
    expire_session(zookeeper, *session)
    other.set("/x", b"1")
    eventually(lambda: told == ["/x"])
    client.get("/x")
    other.set("/x", b"2")
    eventually(lambda: told == ["/x", "/x"])


def test_a_session_ends_from_outside_by_what_its_znode_tells(connect_zk: ConnectZk, zookeeper: ZooKeeperServer) -> None:
    """As that of a killed broker in tests, whose password is lost with its memory."""
    client, other = connect_zk(), connect_zk()
    client.create("/e", ephemeral=True)
    stat = other.exists("/e")
    assert stat is not None and session_password(stat.ephemeral_owner) == client.session_password
    generation = client.generation
    expire_session(zookeeper, stat.ephemeral_owner, session_password(stat.ephemeral_owner))
    eventually(lambda: client.generation == generation + 1)
    assert other.exists("/e") is None


def test_what_never_holds_is_told() -> None:
    with pytest.raises(AssertionError, match=r"^after 0\.05 s: who leads$"):
        eventually(lambda: False, 0.05, lambda: "who leads")


def test_nobody_there_is_reported_after_the_connection_timeout() -> None:
    client = ZkClient(f"127.0.0.1:{free_port()}", connection_timeout_ms=200)
    with pytest.raises(ConnectionTimeout, match="Timed out waiting for connection while in state: CONNECTING"):
        client.start()


def test_closing_drops_the_ephemerals_at_once_and_frees_those_who_wait(
    connect_zk: ConnectZk, zookeeper: ZooKeeperServer
) -> None:
    client, other = connect_zk(), connect_zk()
    client.create("/e", ephemeral=True)
    client.close()
    assert other.exists("/e") is None
    with pytest.raises(ConnectionClosed):
        client.get("/e")


def test_closing_does_not_wait_for_a_zookeeper_that_is_gone(connect_zk: ConnectZk, zookeeper: ZooKeeperServer) -> None:
    client = connect_zk()
    zookeeper.stop()
    eventually(lambda: client.state == "CONNECTING")
    waiting = gevent.spawn(client.get, "/")
    gevent.idle()
    with gevent.Timeout(60):
        client.close()
    with pytest.raises(ConnectionClosed):
        waiting.get(timeout=60)
    zookeeper.start()


def test_the_sessions_metrics_have_apaches_names_and_count(zookeeper: ZooKeeperServer) -> None:
    clock = SystemClock()
    metrics = MetricsRegistry(clock)
    client = ZkClient(zookeeper.connect, connection_timeout_ms=30_000)
    measure(client, metrics, clock)
    client.start()
    client.exists("/")
    expire(zookeeper, client)
    eventually(lambda: client.state == "CONNECTED")
    metrics.fold()
    counts = {str(name): metric.attributes().get("Count") for name, metric in metrics.snapshot()}
    session = "kafka.server:type=SessionExpireListener,name="
    assert counts[f"{session}ZooKeeperSyncConnectsPerSec"] == 2
    assert counts[f"{session}ZooKeeperExpiresPerSec"] == 1
    assert counts["kafka.server:type=ZooKeeperClientMetrics,name=ZooKeeperRequestLatencyMs"] == 1
    state = metrics.find(f"{session}SessionState")
    assert state is not None and state.attributes() == {"Value": "CONNECTED"}
    client.close()
    assert state.attributes() == {"Value": "CLOSED"}
