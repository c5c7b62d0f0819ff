"""The broker's ZooKeeper session: operations that survive reconnects, and generations that end with sessions.

Role        Acts, through kazoo on the gevent loop. One client a broker; every access to ZooKeeper goes through it.
Invariants  A connection loss is never reported: sending.py finds out what became of the operation, and sends it again
            once connected where it was not applied.
            A write belongs to the generation it started in and is never sent in another one. After a loss nothing is
            written until `resume`, except by calls that name the new generation (the registration).
            What the loss of a connection or a session sets off is in session_life.py.
Source      kafka.zookeeper.ZooKeeperClient, KafkaZkClient.retryRequestsUntilConnected.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import gevent
from kazoo.protocol.states import EventType, KeeperState, WatchedEvent

from kafka_zk.giving_way import in_slices
from kafka_zk.zk import kazoo_calls
from kafka_zk.zk.bulk_reader import FEWEST, BulkReader
from kafka_zk.zk.errors import AuthFailed, ConnectionTimeout, NoAuth, NodeExists, NoNode, SessionExpired, ZkError
from kafka_zk.zk.identity import ANONYMOUS, ZkIdentity
from kafka_zk.zk.kazoo_calls import Request, WatchCallback, always
from kafka_zk.zk.kazoo_loop import close_session as close_session
from kafka_zk.zk.kazoo_loop import kazoo_client
from kafka_zk.zk.limits import DEFAULT_MAX_REQUEST_BYTES
from kafka_zk.zk.multi_read import Read
from kafka_zk.zk.operations import ANY_VERSION, Acl, Create, Delete, Operation, SetData, Stat
from kafka_zk.zk.protection import open_to_everyone, protected
from kafka_zk.zk.sending import RequestSender
from kafka_zk.zk.session_life import SessionLife, returned
from kafka_zk.zk.watches import Kind, MarkDirty, Side, Watch, Watches

log = logging.getLogger("kafka.zookeeper.ZooKeeperClient")

MOST_DENIED_TOLD = 100

NodeData = tuple[bytes | None, Stat]


class ZkClient:
    """A session with the ensemble of `connect` (`host:port,host:port/chroot`)."""

    def __init__(
        self,
        connect: str,
        *,
        session_timeout_ms: int = 18_000,
        connection_timeout_ms: int | None = None,
        max_in_flight: int = 10,
        max_request_bytes: int = DEFAULT_MAX_REQUEST_BYTES,
        identity: ZkIdentity = ANONYMOUS,
        protects: bool = False,
        create_chroot: bool = True,
    ) -> None:
        """`protects`: new znodes belong to `identity` (zookeeper.set.acl). No caller chooses an access list."""
        self.connect = connect
        self._session_timeout_ms = session_timeout_ms
        self._connection_timeout_ms = session_timeout_ms if connection_timeout_ms is None else connection_timeout_ms
        self.identity = identity
        self.is_secure = protects
        """Whether new znodes are protected (zookeeper.set.acl)."""
        self._acl_for = protected if protects else open_to_everyone
        self._creates_chroot = create_chroot
        self._kazoo = kazoo_client(connect, session_timeout_ms, identity=identity, on_refused=self._on_refused)
        self._life = SessionLife(self._kazoo, self._set_watches_again)
        self.max_request_bytes = max_request_bytes
        """The ensemble's request limit (jute.maxbuffer). A larger write raises TooLarge, and is not sent."""
        self._sender = RequestSender(
            self._kazoo, self._life, max_in_flight=max_in_flight, max_request_bytes=max_request_bytes
        )
        self._bulk = BulkReader(self._run, self._kazoo.chroot)
        self._watches = Watches()
        self._denied: set[str] = set()

    # -- life of the session

    def start(self) -> None:
        """Blocks. Connect; create the chroot if it is missing, unless the client was made not to.

        Raises ConnectionTimeout after zookeeper.connection.timeout.ms, AuthFailed for a login that is not accepted.
        """
        log.info("Initializing a new session to %s.", self.connect)
        connected = self._kazoo.start_async()
        # `wait` counts from the loop's last turn: after other work it might be over as soon as it begins.
        gevent.get_hub().loop.update_now()
        gevent.wait([connected, self._life.refusal], timeout=self._connection_timeout_ms / 1000, count=1)
        if not connected.ready():
            self.close()
            if self._life.refusal.is_set():
                raise AuthFailed(detail="Auth failed either before or while waiting for connection")
            raise ConnectionTimeout(detail="Timed out waiting for connection while in state: CONNECTING")
        self._life.keep()
        if self._creates_chroot and self._kazoo.chroot and self.exists("/") is None:
            self._create_chroot()

    def _on_refused(self, why: str) -> None:
        self._life.refused(self.identity, why)

    def close(self) -> None:
        """Blocks. End the session: its ephemeral znodes go at once. Waiting calls raise ConnectionClosed."""
        if self._life.end():
            self._kazoo.stop()
            self._kazoo.close()

    def _create_chroot(self) -> None:
        # This session cannot see znodes above the chroot.
        hosts, _, chroot = self.connect.partition("/")
        root = ZkClient(
            hosts, session_timeout_ms=self._session_timeout_ms, identity=self.identity, protects=self.is_secure
        )
        root.start()
        try:
            root.ensure_path("/" + chroot.rstrip("/"))
        finally:
            root.close()

    @property
    def generation(self) -> int:
        """Grows with every session that replaces a lost one."""
        return self._life.generation

    @property
    def previous_session_id(self) -> int:
        """The lost session before the present one, 0 if none: its ephemeral znodes may linger."""
        return self._life.previous_session_id

    @property
    def session_id(self) -> int:
        """0 while there is no session."""
        return int(self._kazoo.client_id[0]) if self._kazoo.client_id else 0

    @property
    def session_password(self) -> bytes:
        """What another connection needs, with `session_id`, to take over or to close this session."""
        return bytes(self._kazoo.client_id[1]) if self._kazoo.client_id else b""

    @property
    def state(self) -> str:
        """CONNECTED, CONNECTING, AUTH_FAILED or CLOSED: what Kafka's SessionState gauge shows."""
        if self._life.is_over:
            return "CLOSED"
        shown = {KeeperState.CONNECTED, KeeperState.AUTH_FAILED}
        return str(self._kazoo.client_state) if self._kazoo.client_state in shown else "CONNECTING"

    def on_state_change(self, listener: Callable[[str], None]) -> None:
        """Call `listener("CONNECTED" | "DISCONNECTED" | "EXPIRED")` at each change; it must not block."""
        self._life.add_listener(listener)

    def time_requests(self, now_ms: Callable[[], int], note_latency: Callable[[int], None]) -> None:
        """Call `note_latency` with the milliseconds each request took, by the clock `now_ms`."""
        self._sender.time_requests(now_ms, note_latency)

    def on_session_expired(self, before: Callable[[], None], after: Callable[[int], None]) -> None:
        """Call `before()` once a session is lost, `after(generation)` once a new one is there; both may block.

        `after` may write by naming that generation. It is called again after a second when it raised. When every
        `after` has returned, writes are allowed again.
        """
        self._life.add_hooks(before, after)

    def resume(self, generation: int) -> None:
        """Allow writes again: this broker is registered in `generation`."""
        self._life.resume(generation)

    # -- reads; a watched path has its watch set by each of them

    def get(self, path: str) -> NodeData:
        """Blocks. Data and Stat. Raises NoNode."""
        answer: NodeData = _value(self.get_many([path])[0])
        return answer

    def exists(self, path: str) -> Stat | None:
        """Blocks. Return the znode's stat; None if it does not exist."""
        stat: Stat | None = _value(self.exists_many([path])[0])
        return stat

    def children(self, path: str) -> list[str]:
        """Blocks. Names of the children, in no particular order. Raises NoNode."""
        names: list[str] = _value(self.children_many([path])[0])
        return names

    def get_many(self, paths: Iterable[str]) -> list[NodeData | ZkError]:
        """Blocks. `get` of each: one result a path, in order. Many are read with few requests."""
        wanted = list(paths)
        if self._are_read_at_once(wanted, Side.DATA):
            return self._bulk.read(Read.DATA, wanted)
        answers = self._run([kazoo_calls.get(path, self._watcher(path, Side.DATA)) for path in wanted])
        for path, answer in zip(wanted, answers, strict=True):
            if not isinstance(answer, ZkError):
                self._saw(path, Side.DATA, answer[1])
        missing = [
            path
            for path, answer in zip(wanted, answers, strict=True)
            if isinstance(answer, NoNode) and self._watches.find(path, Side.DATA)
        ]
        if missing:
            # Reading data sets no watch on a znode that is not there; asking for its existence does.
            appeared = {path for path, stat in zip(missing, self.exists_many(missing), strict=True) if stat is not None}
            for index, path in enumerate(wanted):
                if path in appeared and isinstance(answers[index], NoNode):
                    answers[index] = self.get_many([path])[0]
        return answers

    def exists_many(self, paths: Iterable[str]) -> list[Stat | ZkError | None]:
        """Blocks. Pipelined `exists`."""
        wanted = list(paths)
        answers = self._run([kazoo_calls.exists(path, self._watcher(path, Side.DATA)) for path in wanted])
        for path, answer in zip(wanted, answers, strict=True):
            if not isinstance(answer, ZkError):
                self._saw(path, Side.DATA, answer)
        return answers

    def children_many(self, paths: Iterable[str]) -> list[list[str] | ZkError]:
        """Blocks. `children` of each, as `get_many`."""
        wanted = list(paths)
        if self._are_read_at_once(wanted, Side.CHILDREN):
            return self._bulk.read(Read.CHILDREN, wanted)
        answers = self._run([kazoo_calls.children(path, self._watcher(path, Side.CHILDREN)) for path in wanted])
        for path, answer in zip(wanted, answers, strict=True):
            if not isinstance(answer, ZkError):
                self._saw(path, Side.CHILDREN, answer[1])
        return [answer if isinstance(answer, ZkError) else answer[0] for answer in answers]

    def _are_read_at_once(self, paths: Sequence[str], side: Side) -> bool:
        """Whether they are many, and none is watched: only single reads set watches."""
        return len(paths) >= FEWEST and all(self._watches.find(path, side) is None for path in in_slices(paths))

    def sync(self) -> None:
        """Blocks. Later reads see everything that was written before this call, whichever server answers them."""
        _value(self._run([kazoo_calls.sync("/")])[0])

    def get_acl(self, path: str) -> list[Acl]:
        """Blocks. Raises NoNode."""
        acl: list[Acl] = _value(self._run([kazoo_calls.get_acl(path)])[0])
        return acl

    # -- writes; `generation` names the session they are meant for (default: the present one, once it is registered)

    def create(
        self,
        path: str,
        data: bytes | None = None,
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        make_parents: bool = False,
        generation: int | None = None,
        is_still_meant: Callable[[], bool] = always,
    ) -> str:
        """Blocks. Create a znode; returns its path, with the number of a sequential one. Raises NodeExists, NoNode.

        `is_still_meant`, which may block, is called if a connection was lost with the reply and the znode is missing:
        it tells "never created" from "created, and removed since by those for whom it was meant".
        """
        request = kazoo_calls.create(Create(path, data, ephemeral, sequential), self._acl_for(path), is_still_meant)
        answer = self._write([request], generation)[0]
        if isinstance(answer, NoNode) and make_parents:
            self.ensure_path(path.rpartition("/")[0], generation=generation)
            answer = self._write([request], generation)[0]
        created: str = _value(answer)
        return created

    def ensure_path(self, path: str, *, generation: int | None = None) -> None:
        """Blocks. Create `path` and its parents, without data, where they are missing."""
        try:
            self.create(path, make_parents=True, generation=generation)
        except NodeExists:
            return

    def ensure_paths(self, paths: Iterable[str]) -> None:
        """Blocks. Pipelined `ensure_path`, in order. If all of them exist, nothing is written."""
        wanted = list(dict.fromkeys(step for path in paths for step in _steps_to(path)))
        found = self.exists_many(wanted)
        missing = [path for path, stat in zip(wanted, found, strict=True) if _value(stat) is None]
        requests = [kazoo_calls.create(Create(path), self._acl_for(path)) for path in missing]
        for path, answer in zip(missing, self._write(requests, None), strict=True):
            if isinstance(answer, NoNode):
                # Its parent's request was lost with a connection, and came after it the second time.
                self.ensure_path(path)
            elif not isinstance(answer, NodeExists):
                _value(answer)

    def set(self, path: str, data: bytes | None, version: int = ANY_VERSION, *, generation: int | None = None) -> Stat:
        """Blocks. Replace the data; returns the new Stat. Raises NoNode, BadVersion."""
        stat: Stat = _value(self._write([kazoo_calls.set_data(SetData(path, data, version))], generation)[0])
        return stat

    def delete(self, path: str, version: int = ANY_VERSION, *, generation: int | None = None) -> None:
        """Blocks. Raises NoNode, BadVersion, NotEmpty."""
        # In case the reply is lost: a znode that exists before this answer is to go, one created later is not.
        self._run([kazoo_calls.exists(path, None)])
        _value(self._write([kazoo_calls.delete(Delete(path, version))], generation)[0])

    def set_acl(self, path: str, acl: Sequence[Acl]) -> None:
        """Blocks. Raises NoNode."""
        _value(self._write([kazoo_calls.set_acl(path, acl)], None)[0])

    def protect_again(self, paths: Iterable[str]) -> list[ZkError | None]:
        """Blocks. Give each znode the access list that it would get if it were created now; an error, or None."""
        answers = self._write([kazoo_calls.set_acl(path, self._acl_for(path)) for path in paths], None)
        return [answer if isinstance(answer, ZkError) else None for answer in answers]

    def multi(
        self,
        operations: Sequence[Operation],
        *,
        generation: int | None = None,
        is_still_meant: Callable[[], bool] = always,
    ) -> list[Any]:
        """Blocks. All or nothing; one result per operation, a value or a ZkError. Raises SessionExpired.

        `is_still_meant` as for `create`; where it says no, each result is the path that was meant.
        """
        return self.multi_many([operations], generation=generation, is_still_meant=is_still_meant)[0]

    def multi_many(
        self,
        batches: Iterable[Sequence[Operation]],
        *,
        generation: int | None = None,
        is_still_meant: Callable[[], bool] = always,
    ) -> list[list[Any]]:
        """Blocks. Pipelined `multi`: each batch is atomic, together they are not. Raises SessionExpired."""
        requests = [kazoo_calls.multi(operations, self._acl_for, is_still_meant) for operations in batches]
        return [_value(answer) for answer in self._write(requests, generation)]

    # -- watches

    def watch(self, path: str, kind: Kind, mark_dirty: MarkDirty) -> None:
        """Call `mark_dirty` when `path` changes after the next read of it. It must not block.

        "data" and "exists" are one watch: creation, deletion, new data. "children": the list of names.
        """
        self._watches.add(path, kind, mark_dirty)

    def unwatch(self, path: str, kind: Kind | None = None) -> None:
        """Forget the listeners of a path (of both kinds unless one is named)."""
        self._watches.remove(path, kind)

    def _watcher(self, path: str, side: Side) -> WatchCallback | None:
        if self._watches.find(path, side) is None:
            return None
        return self._on_data_event if side is Side.DATA else self._on_children_event

    def _saw(self, path: str, side: Side, stat: Stat | None) -> None:
        if watch := self._watches.find(path, side):
            watch.saw(stat, connection=self._life.connection)

    def _on_data_event(self, event: WatchedEvent) -> None:
        self._on_event(event, Side.DATA)

    def _on_children_event(self, event: WatchedEvent) -> None:
        self._on_event(event, Side.CHILDREN)

    def _on_event(self, event: WatchedEvent, side: Side) -> None:
        # NONE tells of a lost connection; the watches are set again after the next one.
        if event.type != EventType.NONE and (watch := self._watches.find(event.path, side)):
            watch.notify()

    def _set_watches_again(self) -> None:
        """Blocks. ZooKeeper has forgotten all watches with the last connection."""
        connection = self._life.connection
        lost = [watch for watch in self._watches if watch.last_seen is not None and watch.connection != connection]
        answers = self._run([self._request_to_set(watch) for watch in lost])
        for watch, answer in zip(lost, answers, strict=True):
            stat = answer[1] if isinstance(answer, tuple) and not isinstance(answer, Stat) else answer
            if watch.set_again(None if isinstance(stat, ZkError) else stat, connection=connection):
                returned(watch.notify)

    def _request_to_set(self, watch: Watch) -> Request:
        make = kazoo_calls.exists if watch.side is Side.DATA else kazoo_calls.children
        return make(watch.path, self._watcher(watch.path, watch.side))

    # -- requests

    def _write(self, requests: Sequence[Request], generation: int | None) -> list[Any]:
        if generation is None:
            if not self._life.may_write:
                raise SessionExpired(detail="The session has expired and the broker is not registered in the new one")
            generation = self.generation
        return self._run(requests, generation)

    def _run(self, requests: Sequence[Request], generation: int | None = None) -> list[Any]:
        """Blocks. What the sender answers; a refusal is told."""
        answers = self._sender.run(requests, generation)
        for request, answer in zip(requests, answers, strict=True):
            for result in answer if isinstance(answer, list) else (answer,):
                if isinstance(result, NoAuth):
                    self._tell_denied(request, result)
        return answers

    def _tell_denied(self, request: Request, denied: NoAuth) -> None:
        """Blocks. Name the identity that this process has, and those that may, once a znode."""
        path = denied.path or "/"
        if any(each.path == path and isinstance(each, Create | Delete) for each in request.operations):
            # ZooKeeper asks the parent whether its children may come and go.
            path = path.rpartition("/")[0] or "/"
        if path in self._denied or len(self._denied) >= MOST_DENIED_TOLD:
            return
        self._denied.add(path)
        found = self._sender.run([kazoo_calls.get_acl(path)])[0]
        allowed = "unknown" if isinstance(found, ZkError) else ", ".join(map(str, found))
        log.error(
            "ZooKeeper does not let this process, which is %s, use %s; its ACL is %s. Brokers and tools must all "
            "have the identity that created the znodes.",
            self.identity,
            path,
            allowed,
        )


def _steps_to(path: str) -> Iterator[str]:
    """/a/b/c: /a, /a/b and /a/b/c."""
    names = path.split("/")
    return ("/".join(names[: index + 1]) for index in range(1, len(names)))


def _value(answer: Any) -> Any:
    if isinstance(answer, ZkError):
        raise answer
    return answer
