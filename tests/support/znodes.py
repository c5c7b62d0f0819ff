"""A look into ZooKeeper from outside the broker, and a hand in it: what other tools and brokers do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from kafka_zk.zk.session import close_session
from tests.support.zookeeper import eventually, plain_client, session_password


@contextmanager
def looking_at(connect: str) -> Iterator[KazooClient]:
    """A client for a moment."""
    client = plain_client(connect)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def end_session(connect: str, broker_id: int = 0) -> None:
    """Blocks. End the session in which a broker is registered, as ZooKeeper does when it has expired.

    After a kill this takes the place of waiting: brokers can have sessions that no busy machine makes them lose.
    """
    path = f"/brokers/ids/{broker_id}"
    with looking_at(connect) as client:
        stat = client.exists(path)
        if stat is not None:
            close_session(connect, stat.ephemeralOwner, session_password(stat.ephemeralOwner), timeout_ms=60_000)
            eventually(lambda: _owner(client, path) != stat.ephemeralOwner)


def _owner(client: KazooClient, path: str) -> int | None:
    stat = client.exists(path)
    return None if stat is None else int(stat.ephemeralOwner)


def wait_until_unregistered(connect: str, broker_id: int = 0) -> None:
    """Blocks until the session of a broker, which may have been killed, is over by itself."""
    with looking_at(connect) as client:
        eventually(lambda: not client.exists(f"/brokers/ids/{broker_id}"))


def broker_epoch(connect: str, broker_id: int = 0) -> int | None:
    """The czxid of a broker's registration; None while there is none."""
    with looking_at(connect) as client:
        stat = client.exists(f"/brokers/ids/{broker_id}")
        return None if stat is None else int(stat.czxid)


def controller_id(connect: str) -> int | None:
    """Who is controller; None while nobody is."""
    with looking_at(connect) as client:
        try:
            return int(json.loads(client.get("/controller")[0])["brokerid"])
        except NoNodeError:
            return None


def cluster_id(connect: str) -> str:
    """As the first broker made it up."""
    with looking_at(connect) as zk:
        return str(json.loads(zk.get("/cluster/id")[0])["id"])


def children(connect: str, path: str) -> list[str]:
    with looking_at(connect) as client:
        return sorted(client.get_children(path))


def tree(connect: str, root: str) -> dict[str, bytes | None]:
    """What is at `root` and below it, by path."""
    found: dict[str, bytes | None] = {}

    def walk(path: str) -> None:
        found[path] = client.get(path)[0] or None
        for name in sorted(client.get_children(path)):
            walk(f"{path}/{name}")

    with looking_at(connect) as client:
        walk(root)
    return found


def state_path(topic: str, partition: int) -> str:
    return f"/brokers/topics/{topic}/partitions/{partition}/state"


def described(client: KazooClient) -> list[str]:
    """Who controls, who is registered in which session, and each partition's state: what a wait in vain has to tell.

    The epoch of a broker is the czxid of its registration: another one than in its output is that of another session.
    """
    paths = ["/controller", "/controller_epoch", *_below(client, "/brokers/ids")]
    for topic in _below(client, "/brokers/topics"):
        paths += [f"{partition}/state" for partition in _below(client, f"{topic}/partitions")]
    return [_shown(client, path) for path in paths]


def _below(client: KazooClient, path: str) -> list[str]:
    try:
        return [f"{path}/{name}" for name in sorted(client.get_children(path))]
    except NoNodeError:
        return []


def _shown(client: KazooClient, path: str) -> str:
    try:
        data, stat = client.get(path)
    except NoNodeError:
        return f"{path}: none"
    owner = f", session {stat.ephemeralOwner:#x}" if stat.ephemeralOwner else ""
    return f"{path} (epoch {stat.czxid}, changed by {stat.mzxid}{owner}): {data.decode(errors='replace')}"


def create_topic(connect: str, topic: str, assignment: dict[int, list[int]]) -> None:
    """As the tools did that asked ZooKeeper instead of a broker."""
    partitions = {str(partition): replicas for partition, replicas in assignment.items()}
    document = {"version": 3, "partitions": partitions, "adding_replicas": {}, "removing_replicas": {}}
    with looking_at(connect) as client:
        client.create(f"/brokers/topics/{topic}", as_json(document))


def delete_topic(connect: str, topic: str) -> None:
    with looking_at(connect) as client:
        client.create(f"/admin/delete_topics/{topic}", None)


def set_topic_config(connect: str, topic: str, config: dict[str, str]) -> None:
    """Write the config and tell everybody, as kafka-configs.sh --zookeeper does."""
    path = f"/config/topics/{topic}"
    document = as_json({"version": 1, "config": config})
    with looking_at(connect) as client:
        if client.exists(path):
            client.set(path, document)
        else:
            client.create(path, document)
        notice = as_json({"version": 2, "entity_path": f"topics/{topic}"})
        client.create("/config/changes/config_change_", notice, sequence=True)


def as_json(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
