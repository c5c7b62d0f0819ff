"""kazoo's client over the model ZooKeeper: what `ZkClient` uses of it, without a socket.

`cut` is asked at each write, `cut_read` at each read, and may end the connection under it, before or after it is
applied; another one is there at once, in the same session, and without the watches of the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import gevent
from gevent.event import AsyncResult
from kazoo import exceptions
from kazoo.protocol import serialization
from kazoo.protocol.states import EventType, KazooState, KeeperState, WatchedEvent, ZnodeStat

from kafka_zk.zk import errors, session
from kafka_zk.zk.operations import Check, Create, Delete, Operation, SetData, Stat
from kafka_zk.zk.session import ZkClient
from tests.simulation.model_responses import NO_AUTH, NO_NODE, answer_to_multi_read, children_and_stat
from tests.simulation.model_zookeeper import Cut, ModelZooKeeper, Node

_KAZOO_ERRORS = {
    errors.NoNode: exceptions.NoNodeError,
    errors.NodeExists: exceptions.NodeExistsError,
    errors.BadVersion: exceptions.BadVersionError,
    errors.NotEmpty: exceptions.NotEmptyError,
    errors.RolledBack: exceptions.RolledBackError,
    errors.NotTried: exceptions.RuntimeInconsistency,
}

HEADER = b"16 bytes of it.."
"""What stands before a response."""


def zk_client(server: ModelZooKeeper, monkeypatch: Any, **options: Any) -> ZkClient:
    """A started client of the broker over `server`."""
    monkeypatch.setattr(session, "kazoo_client", lambda connect, timeout_ms, **_: ModelKazoo(server))
    client = ZkClient("model", **options)
    client.start()
    return client


class ModelKazoo:
    """One client with one session."""

    chroot = ""
    handler = SimpleNamespace(async_result=AsyncResult)

    def __init__(self, server: ModelZooKeeper) -> None:
        self._server = server
        self.client_id = (server.open_session(), b"")
        self.client_state = KeeperState.CONNECTED
        self.last_zxid = 0
        self.connection_count = 0
        self.sent: list[list[Operation]] = []
        """Every write that left, also a second time."""
        self.asked: list[str] = []
        """Every read that left, also a second time: its path, of a MultiRead the first."""
        self._listeners: list[Callable[[str], None]] = []
        self._watchers: dict[tuple[str, str], set[Any]] = {}
        self._lost: list[AsyncResult] | None = None

    def add_listener(self, listener: Callable[[str], None]) -> None:
        self._listeners.append(listener)

    def start_async(self) -> AsyncResult:
        self._connect()
        started = AsyncResult()
        # kazoo's answer is an event; this result says the same when it is waited for.
        started.set(True)
        return started

    def stop(self) -> None:
        self._server.end_session(self.client_id[0])

    def close(self) -> None:
        """Nothing is open."""

    def _connect(self) -> None:
        self.connection_count += 1
        for listener in self._listeners:
            listener(KazooState.CONNECTED)

    def lose_connection(self, answer: AsyncResult) -> None:
        """This answer is lost, and what is sent in the same moment with it; then there is a new connection."""
        if self._lost is not None:
            self._lost.append(answer)
            return
        self._lost = [answer]
        self._server.disarm(self)
        self._watchers.clear()
        for listener in self._listeners:
            listener(KazooState.SUSPENDED)
        gevent.spawn(self._reconnect)

    def _reconnect(self) -> None:
        lost, self._lost = self._lost or [], None
        for answer in lost:
            answer.set_exception(exceptions.ConnectionLoss())
        self._server.while_disconnected()
        self._connect()

    # Reads

    def fire(self, path: str, side: str) -> None:
        for watcher in self._watchers.pop((path, side), ()):
            watcher(WatchedEvent(EventType.CHANGED, self.client_state, path))

    def _read(
        self, path: str, side: str, watcher: Any, value: Callable[[Any], Any], *, missing: Any = exceptions.NoNodeError
    ) -> AsyncResult:
        answer = AsyncResult()
        if self._is_lost(path, answer):
            return answer
        self.last_zxid = self._server.zxid
        node = self._server.nodes.get(path)
        if watcher is not None and (node is not None or missing is None):
            self._watchers.setdefault((path, side), set()).add(watcher)
            self._server.arm(path, side, self)
        if node is not None:
            answer.set(value(node))
        elif missing is None:
            answer.set(None)
        else:
            answer.set_exception(missing())
        return answer

    def _is_lost(self, path: str, answer: AsyncResult) -> bool:
        """Whether the connection ends under this read."""
        self.asked.append(path)
        if self._lost is not None:
            self._lost.append(answer)
            return True
        if self._server.cut_read(path):
            self.lose_connection(answer)
            return True
        return False

    def get_async(self, path: str, watch: Any) -> AsyncResult:
        return self._read(path, "data", watch, lambda node: (node.data, node.stat()))

    def exists_async(self, path: str, watch: Any) -> AsyncResult:
        return self._read(path, "data", watch, lambda node: ZnodeStat(*node.stat()), missing=None)

    def _call(self, request: Any, answer: AsyncResult) -> None:
        """A request of our own: children, or a MultiRead."""
        if isinstance(request, serialization.GetChildren2):
            self._read(request.path, "children", request.watcher, children_and_stat).rawlink(
                lambda read: _pass_on(read, request, answer)
            )
        elif self._lost is None and not self._server.knows_multi_read:
            answer.set_exception(exceptions.UnimplementedError())
            self.lose_connection(AsyncResult())
        elif not self._is_lost(request.paths[0], answer):
            response = answer_to_multi_read(request.serialize(), self._find)
            answer.set(request.deserialize(HEADER + response, len(HEADER)))

    def _find(self, path: str) -> Node | int:
        node = self._server.nodes.get(path)
        return NO_NODE if node is None else NO_AUTH if path in self._server.hidden else node

    def get_acls_async(self, path: str) -> AsyncResult:
        return self._read(path, "acl", None, lambda node: ([], ZnodeStat(*node.stat())))

    def sync_async(self, path: str) -> AsyncResult:
        return self._read("/", "data", None, lambda node: path)

    # Writes

    def _write(self, operations: list[Operation]) -> AsyncResult:
        answer = AsyncResult()
        self.sent.append(operations)
        if self._lost is not None:
            self._lost.append(answer)
            return answer
        cut = self._server.cut(operations)
        if cut is not Cut.BEFORE:
            results = self._server.apply(self.client_id[0], operations)
        if cut is None:
            self.last_zxid = self._server.zxid
            answer.set([_as_kazoo(result) for result in results])
        else:
            self.lose_connection(answer)
        return answer

    def _write_one(self, operation: Operation) -> AsyncResult:
        one = AsyncResult()

        def take(answered: AsyncResult) -> None:
            error = answered.exception
            result = None if error else answered.value[0]
            if error or isinstance(result, Exception):
                one.set_exception(error or result)
            else:
                one.set(result)

        self._write([operation]).rawlink(take)
        return one

    def create_async(self, path: str, data: Any, acl: Any, ephemeral: bool, sequential: bool) -> AsyncResult:
        return self._write_one(Create(path, data, ephemeral, sequential))

    def set_async(self, path: str, data: Any, version: int) -> AsyncResult:
        return self._write_one(SetData(path, data, version))

    def delete_async(self, path: str, version: int) -> AsyncResult:
        return self._write_one(Delete(path, version))

    def transaction(self) -> ModelTransaction:
        return ModelTransaction(self)


def _pass_on(read: AsyncResult, request: Any, answer: AsyncResult) -> None:
    if read.exception:
        answer.set_exception(read.exception)
    else:
        answer.set(request.deserialize(HEADER + read.value, len(HEADER)))


class ModelTransaction:
    def __init__(self, kazoo: ModelKazoo) -> None:
        self._kazoo = kazoo
        self.operations: list[Any] = []

    def commit_async(self) -> AsyncResult:
        return self._kazoo._write([_as_ours(each) for each in self.operations])


def _as_ours(request: Any) -> Operation:
    match request:
        case serialization.Create(path=path, data=data, flags=flags):
            return Create(path, data, bool(flags & 1), bool(flags & 2))
        case serialization.SetData(path=path, data=data, version=version):
            return SetData(path, data, version)
        case serialization.Delete(path=path, version=version):
            return Delete(path, version)
    return Check(request.path, request.version)


def _as_kazoo(result: Any) -> Any:
    if isinstance(result, errors.ZkError):
        return _KAZOO_ERRORS[type(result)]()
    return ZnodeStat(*result) if isinstance(result, Stat) else result


def cut_at(number: int, kind: Cut) -> Callable[[Sequence[Operation]], Cut | None]:
    """Cut the connection under write `number` (from 0 on)."""
    seen = iter(range(1 << 30))
    return lambda operations: kind if next(seen) == number else None
