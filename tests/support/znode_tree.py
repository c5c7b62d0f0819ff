"""All that a chroot of ZooKeeper holds, so that what two brokers left in theirs can be compared.

Compared are every path, its text, its version, whether it is ephemeral and who may change it. Left out is what must
differ: times, random ids, ports, and the order of the keys in a text, which is that of a hash map in Java.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from kazoo.client import KazooClient

from tests.support.allowed import allowed
from tests.support.masks import Mask, masked

_IDS = allowed("ids-and-times")
DIFFERENT_BY_NATURE = (
    Mask(re.compile(r'"timestamp":"\d+"'), '"timestamp":"T"', _IDS),
    Mask(re.compile(r'"topic_id":"[\w-]{22}"'), '"topic_id":"U"', _IDS),
    Mask(re.compile(r'"id":"[\w-]{22}"'), '"id":"U"', _IDS),
    Mask(re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:P", _IDS),
    Mask(re.compile(r'"port":\d+'), '"port":0', _IDS),
)


class Znode(NamedTuple):
    """What is compared of one."""

    text: str | None
    version: int
    is_ephemeral: bool
    acl: str


def znode_tree(client: KazooClient, path: str = "/") -> dict[str, Znode]:
    """Every znode below `path`, itself included."""
    data, stat = client.get(path)
    acls = ",".join(f"{acl.id.scheme}:{acl.id.id}:{acl.perms}" for acl in client.get_acls(path)[0])
    found = {path: Znode(comparable(data), stat.version, bool(stat.ephemeralOwner), acls)}
    for child in sorted(client.get_children(path)):
        found |= znode_tree(client, f"{path.rstrip('/')}/{child}")
    return found


def comparable(data: bytes | None) -> str | None:
    """The text of a znode without what may differ."""
    if not data:
        return None
    text = masked(data.decode(), DIFFERENT_BY_NATURE)
    if not text.startswith("{"):
        return text
    document = json.loads(text)
    assert json.dumps(document, separators=(",", ":"), ensure_ascii=False) == text, "written without blanks"
    return json.dumps(document, sort_keys=True)
