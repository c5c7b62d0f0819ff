"""What a replay leaves in ZooKeeper, as both sides must leave it."""

from __future__ import annotations

import json
import re

from kazoo.client import KazooClient

from tests.support.allowed import allowed
from tests.support.masks import Mask, masked
from tests.support.processes import wait_until
from tests.support.znode_tree import Znode, znode_tree
from tests.support.znodes import looking_at

NOTICES = "/config/changes"
VERSIONS = {("quotas", f"/config/{kind}"): allowed("entities-that-go") for kind in ("users", "ips")}
"""By scenario and path: the version of this znode differs, and nothing else of it."""
CHANCE = (
    Mask(
        re.compile(r"(initializationVector|salt|encryptedPassword|stored_key|server_key)[:=]([^,\"]*)"),
        lambda found: f"{found[1]}:{len(found[2])}",
        allowed("random-secrets"),
    ),
)
"""Parts of an encoded password and of a SCRAM credential; their lengths are compared."""


Left = dict[str, Znode | list[Znode]]
"""By path; what is left below NOTICES as one list."""


def left_behind(connect: str) -> Left:
    """Blocks until the controller has done what it was asked for. Every znode; notices of configs without their
    numbers, because within a request Java's hash map orders them."""
    with looking_at(connect) as client:
        wait_until(lambda: is_settled(client), "deletions are over and partitions have leaders")
        found = znode_tree(client)
    notices = [path for path in found if path.startswith(f"{NOTICES}/")]
    told: Left = {
        path: znode._replace(text=without_chance(znode.text)) for path, znode in found.items() if path not in notices
    }
    return {**told, f"{NOTICES}/*": sorted(found[path] for path in notices)}


def differences(scenario: str, apache: Left, ours: Left) -> list[str]:
    """In words: znodes that differ, and exceptions that are none any more."""
    found = []
    for path in sorted(apache.keys() | ours.keys()):
        theirs, own = apache.get(path), ours.get(path)
        reason = VERSIONS.get((scenario, path))
        if reason is not None and isinstance(theirs, Znode) and isinstance(own, Znode):
            if theirs.version == own.version:
                found.append(f"{path}: its version is the same by now, compare it ({reason.row})")
            own = own._replace(version=theirs.version)
        if theirs != own:
            found.append(f"{path}:\n  Apache: {theirs}\n  ours:   {own}")
    return found


def is_settled(client: KazooClient) -> bool:
    """Whether no deletion is under way, and each partition of each topic has its state."""
    if client.get_children("/admin/delete_topics"):
        return False
    return all(
        client.exists(f"/brokers/topics/{topic}/partitions/{partition}/state")
        for topic in client.get_children("/brokers/topics")
        for partition in json.loads(client.get(f"/brokers/topics/{topic}")[0])["partitions"]
    )


def without_chance(text: str | None) -> str | None:
    return None if text is None else masked(text, CHANCE)
