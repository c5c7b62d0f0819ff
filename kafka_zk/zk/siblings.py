"""Checks which of very many names are children of a znode: single reads for a few, one listing for many.

Role        For requests of clients that may name anything: each name that is not there would cost a read.
"""

from __future__ import annotations

from kafka_zk.zk.errors import NoNode
from kafka_zk.zk.session import ZkClient

A_FEW = 100


class Siblings:
    """The children of one znode, as one request looks at them."""

    def __init__(self, zk: ZkClient, parent: str) -> None:
        self._zk = zk
        self._parent = parent
        self._count = 0
        self._names: frozenset[str] | None = None

    def may_have(self, name: str) -> bool:
        """Blocks once. False for a name that is not there; always True for the first few, which are read singly."""
        self._count += 1
        if self._count <= A_FEW:
            return True
        if self._names is None:
            try:
                self._names = frozenset(self._zk.children(self._parent))
            except NoNode:
                self._names = frozenset()
        return name in self._names
