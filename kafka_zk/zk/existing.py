"""Reads those of many znodes that exist.

Role        Acts, through the session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from kafka_zk.giving_way import in_slices
from kafka_zk.zk.errors import NoNode, ZkError
from kafka_zk.zk.session import NodeData, ZkClient

Key = TypeVar("Key")


def existing(zk: ZkClient, keys: Iterable[Key], path: Callable[[Key], str]) -> Iterator[tuple[Key, NodeData]]:
    """Blocks. Each of `keys` whose znode `path(key)` exists, with its data and Stat. Raises every other ZkError."""
    wanted = list(keys)
    for key, answer in in_slices(zip(wanted, zk.get_many(map(path, wanted)), strict=True)):
        if isinstance(answer, NoNode):
            continue
        if isinstance(answer, ZkError):
            raise answer
        yield key, answer
