"""A ZooKeeper in memory: versions, ephemerals, sequential names, multi, one-shot watches, sessions that expire.

`ModelZooKeeper` is the ensemble, `ModelZkClient` one session with the calls of `kafka_zk.zk.session.ZkClient` that
the controller uses. Every call may switch to other greenlets, as a real one would; `switch` decides when.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from kafka_zk.zk.errors import (
    BadVersion,
    NoAuth,
    NodeExists,
    NoNode,
    NotEmpty,
    NotTried,
    RolledBack,
    SessionExpired,
    TooLarge,
    ZkError,
)
from kafka_zk.zk.limits import DEFAULT_MAX_REQUEST_BYTES, request_bytes
from kafka_zk.zk.lost_replies import (
    Found,
    Sent,
    is_sequential,
    numbered,
    paths_to_read,
    refusal_if_made_anew,
    results_if_applied,
)
from kafka_zk.zk.operations import Check, Create, Delete, Operation, SetData, Stat
from kafka_zk.zk.znodes import PERSISTENT_PATHS


class Cut(Enum):
    """A connection that ends under a write: before ZooKeeper has taken it, or after it was applied."""

    BEFORE = "before"
    AFTER = "after"


@dataclass
class Node:
    data: bytes | None
    owner: int
    czxid: int
    mzxid: int
    pzxid: int
    version: int = 0
    cversion: int = 0
    children: set[str] = field(default_factory=set)

    def stat(self) -> Stat:
        size = len(self.data or b"")
        return Stat(
            self.czxid,
            self.mzxid,
            0,
            0,
            self.version,
            self.cversion,
            0,
            self.owner,
            size,
            len(self.children),
            self.pzxid,
        )


class Watcher(Protocol):
    """A client whose watch may fire."""

    def fire(self, path: str, side: str) -> None: ...


def parent_of(path: str) -> str:
    return path.rpartition("/")[0] or "/"


class ModelZooKeeper:
    """The znodes, the sessions and the watches."""

    def __init__(self, switch: Callable[[], None] = lambda: None) -> None:
        self.switch = switch
        self.zxid = 0
        self.nodes = {"/": Node(None, 0, 0, 0, 0)}
        self._session_ids = itertools.count(0x1000)
        self._watches: dict[tuple[str, str], list[Watcher]] = {}
        self.sessions: set[int] = set()
        self.writes: list[Operation] = []
        """Every applied write, in order."""
        self.cut: Callable[[Sequence[Operation]], Cut | None] = lambda batch: None
        """Asked at each write of a client: does its connection end under it, and when?"""
        self.cut_read: Callable[[str], bool] = lambda path: False
        """Asked at each read of a client of kazoo's kind: does its connection end before the answer?"""
        self.knows_multi_read = True
        """Whether it is as new as ZooKeeper 3.6; an older one closes the connection of a client that asks."""
        self.forbidden: set[str] = set()
        """Znodes whose ACL lets the brokers read, not write."""
        self.hidden: set[str] = set()
        """Znodes whose ACL does not let the brokers read."""
        self.protected: set[str] = set()
        """Znodes that somebody has given an access list."""
        self.while_disconnected: Callable[[], None] = lambda: None
        """What others do before the client of a cut connection is back."""

    def client(self) -> ModelZkClient:
        return ModelZkClient(self)

    def with_kafka_paths(self) -> ModelZooKeeper:
        for path in PERSISTENT_PATHS:
            self.ensure(path)
        return self

    def ensure(self, path: str, data: bytes | None = None) -> None:
        """Create a znode and its parents, as an operator or another program would."""
        parts = path.strip("/").split("/")
        for depth in range(1, len(parts) + 1):
            above = "/" + "/".join(parts[:depth])
            if above not in self.nodes:
                self.apply(0, [Create(above, data if above == path else None)])

    def open_session(self) -> int:
        session_id = next(self._session_ids)
        self.sessions.add(session_id)
        return session_id

    def end_session(self, session_id: int) -> None:
        self.sessions.discard(session_id)
        for path in [path for path, node in self.nodes.items() if node.owner == session_id]:
            self.apply(0, [Delete(path)])

    def apply(self, session_id: int, operations: Sequence[Operation]) -> list[Any]:
        """All or nothing. One result an operation: a value or a ZkError."""
        failed = self._first_failure(operations)
        if failed is not None:
            at, error = failed
            return [RolledBack() for _ in operations[:at]] + [error] + [NotTried() for _ in operations[at + 1 :]]
        self.zxid += 1
        fired: list[tuple[str, str]] = []
        results = [self._apply_one(session_id, operation, fired) for operation in operations]
        self.writes += [operation for operation in operations if not isinstance(operation, Check)]
        for key in fired:
            for client in self._watches.pop(key, []):
                client.fire(*key)
        return results

    def _first_failure(self, operations: Sequence[Operation]) -> tuple[int, ZkError] | None:
        created: set[str] = set()
        for at, operation in enumerate(operations):
            path = operation.path
            there = path in self.nodes or path in created
            if path in self.forbidden:
                return at, NoAuth(path)
            if isinstance(operation, Create):
                if operation.sequential:
                    continue
                if there:
                    return at, NodeExists(path)
                parent = parent_of(path)
                if parent not in self.nodes and parent not in created:
                    return at, NoNode(path)
                created.add(path)
                continue
            if not there:
                return at, NoNode(path)
            version = 0 if path in created else self.nodes[path].version
            if operation.version not in (-1, version):
                return at, BadVersion(path)
            if isinstance(operation, Delete) and self.nodes[path].children:
                return at, NotEmpty(path)
        return None

    def _apply_one(self, session_id: int, operation: Operation, fired: list[tuple[str, str]]) -> Any:
        path = operation.path
        match operation:
            case Create(_, data, ephemeral, sequential):
                parent = self.nodes[parent_of(path)]
                if sequential:
                    path = f"{path}{parent.cversion:010d}"
                self.nodes[path] = Node(data, session_id if ephemeral else 0, self.zxid, self.zxid, self.zxid)
                parent.children.add(path.rpartition("/")[2])
                self._touch_children(path, fired)
                fired.append((path, "data"))
                return path
            case SetData(_, data, _):
                node = self.nodes[path]
                node.data, node.version, node.mzxid = data, node.version + 1, self.zxid
                fired.append((path, "data"))
                return node.stat()
            case Delete():
                del self.nodes[path]
                self.nodes[parent_of(path)].children.discard(path.rpartition("/")[2])
                self._touch_children(path, fired)
                fired += [(path, "data"), (path, "children")]
                return True
            case Check():
                return True

    def _touch_children(self, path: str, fired: list[tuple[str, str]]) -> None:
        parent = self.nodes[parent_of(path)]
        parent.cversion += 1
        parent.pzxid = self.zxid
        fired.append((parent_of(path), "children"))

    def arm(self, path: str, side: str, client: Watcher) -> None:
        waiting = self._watches.setdefault((path, side), [])
        if client not in waiting:
            waiting.append(client)

    def disarm(self, client: Watcher) -> None:
        for waiting in self._watches.values():
            if client in waiting:
                waiting.remove(client)


class ModelZkClient:
    """One client of the model; after `expire` it has a new session, as kazoo gives one by itself."""

    def __init__(self, server: ModelZooKeeper) -> None:
        self.server = server
        self.is_secure = False
        self.max_request_bytes = DEFAULT_MAX_REQUEST_BYTES
        self.generation = 1
        self.session_id = server.open_session()
        self.previous_session_id = 0
        self._listeners: dict[tuple[str, str], list[Callable[[], None]]] = {}
        self._hooks: list[tuple[Callable[[], None], Callable[[int], None]]] = []
        self._writable_generation = 1

    # Session

    def on_session_expired(self, before: Callable[[], None], after: Callable[[int], None]) -> None:
        self._hooks.append((before, after))

    def resume(self, generation: int) -> None:
        self._writable_generation = generation

    def expire(self) -> None:
        """The ensemble ends the session; the client hears of it at once and opens another."""
        self.lose_session()
        self.open_next_session()

    def lose_session(self) -> None:
        self.server.disarm(self)
        self.server.end_session(self.session_id)
        self.generation += 1
        for before, _ in self._hooks:
            before()

    def open_next_session(self) -> None:
        self.previous_session_id, self.session_id = self.session_id, self.server.open_session()
        for _, after in self._hooks:
            after(self.generation)
        self.resume(self.generation)
        for path, side in list(self._listeners):
            self.server.arm(path, side, self)
            self.fire(path, side)

    def close(self) -> None:
        self.server.disarm(self)
        self.server.end_session(self.session_id)
        self._listeners.clear()

    # Reads

    def sync(self) -> None:
        self.server.switch()

    def get_many(self, paths: Iterable[str]) -> list[Any]:
        self.server.switch()
        return [self._read(path, "data", lambda node: (node.data, node.stat())) for path in paths]

    def exists_many(self, paths: Iterable[str]) -> list[Any]:
        self.server.switch()
        found = [self._read(path, "data", Node.stat) for path in paths]
        return [None if isinstance(answer, NoNode) else answer for answer in found]

    def children_many(self, paths: Iterable[str]) -> list[Any]:
        self.server.switch()
        return [self._read(path, "children", lambda node: sorted(node.children)) for path in paths]

    def get(self, path: str) -> Any:
        return _raised(self.get_many([path])[0])

    def exists(self, path: str) -> Any:
        return self.exists_many([path])[0]

    def children(self, path: str) -> Any:
        return _raised(self.children_many([path])[0])

    def _read(self, path: str, side: str, value: Callable[[Node], Any]) -> Any:
        if (path, side) in self._listeners:
            self.server.arm(path, side, self)
        node = self.server.nodes.get(path)
        if node is not None and path in self.server.hidden:
            return NoAuth(path)
        return NoNode(path) if node is None else value(node)

    # Writes

    def multi_many(
        self,
        batches: Iterable[Sequence[Operation]],
        *,
        generation: int | None = None,
        is_still_meant: Callable[[], bool] = lambda: True,
    ) -> list[list[Any]]:
        self.server.switch()
        results = []
        for batch in batches:
            self._refuse_if_over(generation)
            if request_bytes(batch) > self.max_request_bytes:
                raise TooLarge(batch[-1].path)
            cut = self.server.cut(batch)
            if cut is None:
                results.append(self.server.apply(self.session_id, batch))
                continue
            sent = Sent(self.session_id, self.server.zxid)
            if cut is Cut.AFTER:
                self.server.apply(self.session_id, batch)
            results.append(self._settle(batch, sent, generation, is_still_meant))
        self.server.switch()
        return results

    def _settle(
        self, batch: Sequence[Operation], sent: Sent, generation: int | None, is_still_meant: Callable[[], bool]
    ) -> list[Any]:
        """The reply of `batch` went with its connection; the session goes on over a new one.

        Its watches stay armed here: the real client sets them again, and reports what has changed in between.
        """
        self.server.while_disconnected()
        self.server.switch()
        self._refuse_if_over(generation)
        paths = paths_to_read(batch)
        for operation in batch:
            if is_sequential(operation):
                parent = parent_of(operation.path)
                paths += numbered(operation.path, sorted(self.server.nodes[parent].children))
        nodes = {path: self.server.nodes.get(path) for path in paths}
        found = {path: None if node is None else Found(node.data, node.stat()) for path, node in nodes.items()}
        settled = results_if_applied(batch, found, sent) or refusal_if_made_anew(batch, found, sent)
        if settled is None and not is_still_meant():
            return [operation.path for operation in batch]
        self._refuse_if_over(generation)
        return self.server.apply(self.session_id, batch) if settled is None else settled

    def _refuse_if_over(self, generation: int | None) -> None:
        if (self._writable_generation if generation is None else generation) != self.generation:
            raise SessionExpired

    def multi(
        self,
        operations: Sequence[Operation],
        *,
        generation: int | None = None,
        is_still_meant: Callable[[], bool] = lambda: True,
    ) -> list[Any]:
        return self.multi_many([operations], generation=generation, is_still_meant=is_still_meant)[0]

    def create(
        self,
        path: str,
        data: bytes | None = None,
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        make_parents: bool = False,
        generation: int | None = None,
        is_still_meant: Callable[[], bool] = lambda: True,
    ) -> Any:
        if make_parents and parent_of(path) not in self.server.nodes:
            self.ensure_path(parent_of(path), generation=generation)
        batch = [Create(path, data, ephemeral, sequential)]
        return _raised(self.multi_many([batch], generation=generation, is_still_meant=is_still_meant)[0][0])

    def ensure_path(self, path: str, *, generation: int | None = None) -> None:
        if path not in self.server.nodes:
            with suppress(NodeExists):
                self.create(path, make_parents=True, generation=generation)

    def ensure_paths(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.ensure_path(path)

    def set(self, path: str, data: bytes | None, version: int = -1, *, generation: int | None = None) -> Any:
        return _raised(self.multi([SetData(path, data, version)], generation=generation)[0])

    def delete(self, path: str, version: int = -1, *, generation: int | None = None) -> None:
        _raised(self.multi([Delete(path, version)], generation=generation)[0])

    def protect_again(self, paths: Iterable[str]) -> list[ZkError | None]:
        """Znodes have no access lists here: each call is noted in `protected`, or refused."""
        answers: list[ZkError | None] = []
        for path in paths:
            if path in self.server.forbidden or path not in self.server.nodes:
                answers.append(NoAuth(path) if path in self.server.forbidden else NoNode(path))
            else:
                self.server.protected.add(path)
                answers.append(None)
        return answers

    # Watches

    def watch(self, path: str, kind: str, mark_dirty: Callable[[], None]) -> None:
        self._listeners.setdefault((path, "children" if kind == "children" else "data"), []).append(mark_dirty)

    def unwatch(self, path: str, kind: str | None = None) -> None:
        for side in ("data", "children"):
            if kind is None or (kind == "children") == (side == "children"):
                self._listeners.pop((path, side), None)

    def fire(self, path: str, side: str) -> None:
        for mark_dirty in list(self._listeners.get((path, side), ())):
            mark_dirty()


def _raised(answer: Any) -> Any:
    if isinstance(answer, ZkError):
        raise answer
    return answer
