"""Whether a write whose reply was lost with the connection was applied.

Role        Pure. `sending.py` reads the znodes again and asks here, before it sends the write a second time.
Invariants  What counts as applied was written by this very request: with our data and the version that it would have
            given, in our session where the znode is ephemeral, and after the request was first sent.
            A delete counts as applied also if the znode is there again: it was created after the delete was sent, and a
            repeated delete would remove what another client has created since.
            A version was read before the request was sent. A znode that was created since is another one of that name,
            and may have the same version: every znode starts at 0. It is refused, as ZooKeeper refuses another version.
            Empty data written without a version show nothing (the counter of broker ids): that is sent again.
Differs from Kafka: KafkaZkClient.retryRequestsUntilConnected sends everything again, and takes the NodeExists or
            BadVersion that its own first attempt causes for another client's write.
Source      ZooKeeper's order: a session's requests are applied in the order they were sent, also over a new connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kafka_zk.zk.errors import BadVersion, NotTried, RolledBack, ZkError
from kafka_zk.zk.operations import ANY_VERSION, Check, Create, Delete, Operation, SetData, Stat

SEQUENCE_DIGITS = 10


class Found(NamedTuple):
    """A znode as it was read after the connection was lost."""

    data: bytes | None
    stat: Stat


class Sent(NamedTuple):
    """What was known when the request was sent first: the session, and the last transaction this client had seen."""

    session_id: int
    zxid: int


def paths_to_read(operations: Sequence[Operation]) -> list[str]:
    """The znodes that tell whether `operations` were applied; those of sequential creates are found by their parent."""
    return [o.path for o in operations if not isinstance(o, Check) and not is_sequential(o)]


def is_sequential(operation: Operation) -> bool:
    return isinstance(operation, Create) and operation.sequential


def shows_nothing(operations: Sequence[Operation]) -> bool:
    """Whether no znode can tell: checks, and empty data written over any version."""
    return all(
        isinstance(o, Check) or (isinstance(o, SetData) and o.version == ANY_VERSION and not o.data) for o in operations
    )


def numbered(prefix: str, names: Iterable[str]) -> list[str]:
    """The paths of those children (`names`) that a sequential create of `prefix` may have made."""
    parent, _, stem = prefix.rpartition("/")
    return [
        f"{parent}/{name}"
        for name in names
        if name.startswith(stem)
        and len(name) == len(stem) + SEQUENCE_DIGITS
        and name[len(stem) :].isascii()
        and name[len(stem) :].isdecimal()
    ]


def results_if_applied(
    operations: Sequence[Operation], found: Mapping[str, Found | None], sent: Sent
) -> list[Any] | None:
    """The results that the lost reply held, one per operation; None: not applied, or unknown.

    `found` has the znodes of `paths_to_read` (None: it is missing) and those numbered like the sequential creates.
    """
    if shows_nothing(operations):
        return None
    expected: dict[str, _Expected] = {}
    results: list[Any] = []
    for operation in operations:
        if isinstance(operation, Check):
            results.append(True)
            continue
        if isinstance(operation, Create) and operation.sequential:
            path = _made(operation, found, sent)
            if path is None:
                return None
            results.append(path)
            continue
        wanted = expected.setdefault(operation.path, _Expected())
        wanted.apply(operation, sent)
        results.append(operation.path if isinstance(operation, Create) else operation)
    for path, wanted in expected.items():
        if not wanted.is_met_by(found.get(path), sent):
            return None
    return [_result(result, found) for result in results]


def refusal_if_made_anew(
    operations: Sequence[Operation], found: Mapping[str, Found | None], sent: Sent
) -> list[ZkError] | None:
    """The results instead of sending `operations` again, if a version is that of an earlier znode of the same name.

    None: no version is. A write over any version is meant for any znode of that name.
    """
    own: set[str] = set()
    for at, operation in enumerate(operations):
        znode = found.get(operation.path)
        if isinstance(operation, Create):
            own.add(operation.path)
        elif (
            isinstance(operation, SetData)
            and operation.version != ANY_VERSION
            and operation.path not in own
            and znode is not None
            and znode.stat.czxid > sent.zxid
        ):
            behind = [NotTried() for _ in operations[at + 1 :]]
            return [*(RolledBack() for _ in operations[:at]), BadVersion(operation.path), *behind]
    return None


class _Expected:
    """The state in which a request leaves one znode."""

    __slots__ = ("data", "is_deleted", "is_new", "owner", "version")

    def __init__(self) -> None:
        self.is_deleted = False
        self.is_new = False
        self.data: bytes | None = None
        self.owner: int | None = None
        self.version: int | None = None

    def apply(self, operation: Operation, sent: Sent) -> None:
        match operation:
            case Create(_, data, ephemeral, _):
                self.is_new, self.is_deleted, self.data, self.version = True, False, data, 0
                self.owner = sent.session_id if ephemeral else 0
            case SetData(_, data, version):
                self.data = data
                if self.version is not None:
                    self.version += 1
                elif version != ANY_VERSION:
                    self.version = version + 1
            case Delete():
                self.is_deleted = True

    def is_met_by(self, found: Found | None, sent: Sent) -> bool:
        if self.is_deleted:
            return found is None or found.stat.czxid > sent.zxid
        if found is None or found.data != self.data:
            return False
        stat = found.stat
        if self.version is not None and stat.version != self.version:
            return False
        if self.owner is not None and stat.ephemeral_owner != self.owner:
            return False
        return (stat.czxid if self.is_new else stat.mzxid) > sent.zxid


def _made(operation: Create, found: Mapping[str, Found | None], sent: Sent) -> str | None:
    """The first znode that a sequential create may have made."""
    wanted = _Expected()
    wanted.apply(operation, sent)
    parent = operation.path.rpartition("/")[0]
    names = [path.rpartition("/")[2] for path in found if path.rpartition("/")[0] == parent]
    return next((p for p in sorted(numbered(operation.path, names)) if wanted.is_met_by(found[p], sent)), None)


def _result(result: Any, found: Mapping[str, Found | None]) -> Any:
    if isinstance(result, Delete):
        return True
    if isinstance(result, SetData):
        znode = found[result.path]
        assert znode is not None
        return znode.stat
    return result
