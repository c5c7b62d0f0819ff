"""The operations of a ZooKeeper multi, and a znode's stat.

Role        Pure values.
Source      org.apache.zookeeper.Op, org.apache.zookeeper.data.Stat, ZooDefs.Ids.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

ANY_VERSION = -1

READ, WRITE, CREATE, DELETE, ADMIN = 1, 2, 4, 8, 16
ALL = READ | WRITE | CREATE | DELETE | ADMIN


class Stat(NamedTuple):
    """A znode's metadata. zxids are transaction ids of the ensemble; `ctime` and `mtime` are epoch ms.

    `version` counts the changes of the data; `czxid` of a broker's registration is its broker epoch.
    """

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    data_length: int
    num_children: int
    pzxid: int


class Acl(NamedTuple):
    """One entry of a znode's access list: permission bits, scheme, identity."""

    permissions: int
    scheme: str
    identity: str

    def __str__(self) -> str:
        """As zookeeper-shell shows it: `sasl:broker:cdrwa`."""
        letters = "".join(letter for bit, letter in _LETTERS if self.permissions & bit)
        return f"{self.scheme}:{self.identity}:{letters}"


_LETTERS = ((CREATE, "c"), (DELETE, "d"), (READ, "r"), (WRITE, "w"), (ADMIN, "a"))

ANYONE_ALL = Acl(ALL, "world", "anyone")
ANYONE_READ = Acl(READ, "world", "anyone")
CREATOR_ALL = Acl(ALL, "auth", "")


class Create(NamedTuple):
    """Create a znode; the result is its path. `data` None leaves it without data."""

    path: str
    data: bytes | None = None
    ephemeral: bool = False
    sequential: bool = False


class SetData(NamedTuple):
    """Replace a znode's data; the result is its new Stat."""

    path: str
    data: bytes | None
    version: int = ANY_VERSION


class Delete(NamedTuple):
    """Delete a znode; the result is True."""

    path: str
    version: int = ANY_VERSION


class Check(NamedTuple):
    """Require a znode to have a version; the result is True."""

    path: str
    version: int


Operation: TypeAlias = Create | SetData | Delete | Check
