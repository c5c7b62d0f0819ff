"""A look into ZooKeeper from outside the broker, and a hand in it: what other tools and brokers do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from tests.support.zookeeper import eventually, plain_client


@contextmanager
def looking_at(connect: str) -> Iterator[KazooClient]:
    """A client for a moment: the tests wait without the gevent loop, which would let its session die."""
    client = plain_client(connect)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def wait_until_unregistered(connect: str, broker_id: int = 0) -> None:
    """Blocks until the session of a broker, which may have been killed, is over."""
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
