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
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn

from kazoo.protocol.states import EventType, KeeperState, WatchedEvent

from kafka_zk.zk import kazoo_calls
from kafka_zk.zk.errors import AuthFailed, ConnectionTimeout, NodeExists, NoNode, SessionExpired, ZkError
from kafka_zk.zk.identity import ANONYMOUS, ZkIdentity
from kafka_zk.zk.kazoo_calls import Request, WatchCallback, always
from kafka_zk.zk.kazoo_loop import close_session as close_session
from kafka_zk.zk.kazoo_loop import kazoo_client
from kafka_zk.zk.limits import DEFAULT_MAX_REQUEST_BYTES
from kafka_zk.zk.operations import ANY_VERSION, Acl, Create, Delete, Operation, SetData, Stat
from kafka_zk.zk.protection import open_to_everyone, protected
from kafka_zk.zk.sending import RequestSender
from kafka_zk.zk.session_life import SessionLife, returned
from kafka_zk.zk.watches import Kind, MarkDirty, Side, Watch, Watches

log = logging.getLogger("kafka.zookeeper.ZooKeeperClient")

REFUSAL_LOOK_S = 0.1
"""How often a start looks whether it was refused: kazoo tells nobody who was not connected before."""

COMPLAINT_INTERVAL_S = 60.0

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
        """`protects`: new znodes belong to `identity` (zookeeper.set.acl)."""
        self.connect = connect
        self._session_timeout_ms = session_timeout_ms
        self._connection_timeout_ms = session_timeout_ms if connection_timeout_ms is None else connection_timeout_ms
        self.identity = identity
        self.is_secure = protects
        """Whether new znodes are protected (zookeeper.set.acl)."""
        self._acl_for = protected if protects else open_to_everyone
        self._creates_chroot = create_chroot
        self._kazoo = kazoo_client(connect, session_timeout_ms, identity=identity)
        self._life = SessionLife(self._kazoo, self._set_watches_again)
        self.max_request_bytes = max_request_bytes
        """The ensemble's request limit (jute.maxbuffer). A larger write raises TooLarge, and is not sent."""
        self._sender = RequestSender(
            self._kazoo,
            self._life,
            max_in_flight=max_in_flight,
            max_request_bytes=max_request_bytes,
            on_refused=self._complain,
        )
        self._watches = Watches()
        self._complains_from_s = 0.0

    # -- life of the session

    def start(self) -> None:
        """Blocks. Connect; create the chroot if it is missing, unless the client was made not to.

        Raises ConnectionTimeout after zookeeper.connection.timeout.ms; AuthFailed if ZooKeeper refuses the identity.
        """
        log.info("Initializing a new session to %s.", self.connect)
        self._wait_until_connected(self._kazoo.start_async())
        self._life.keep()
        if self._creates_chroot and self._kazoo.chroot and self.exists("/") is None:
            self._create_chroot()

    def _wait_until_connected(self, connected: Any) -> None:
        deadline_s = time.monotonic() + self._connection_timeout_ms / 1000
        while not connected.wait(min(REFUSAL_LOOK_S, max(0.0, deadline_s - time.monotonic()))):
            if self._kazoo.client_state == KeeperState.AUTH_FAILED:
                self._refused()
            if time.monotonic() >= deadline_s:
                self.close()
                raise ConnectionTimeout(detail="Timed out waiting for connection while in state: CONNECTING")

        if self.identity.login is not None:
            # kazoo is connected before it logs in: only an answer tells that the login was accepted.
            try:
                self.exists("/")
            except AuthFailed:
                self._refused()

    def _refused(self) -> NoReturn:
        self.close()
        raise AuthFailed(
            detail=f"Auth failed either before or while waiting for connection: ZooKeeper refused {self.identity}"
        )

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
        """Blocks. Pipelined `get`: one result a path, in order."""
        wanted = list(paths)
        answers = self._sender.run([kazoo_calls.get(path, self._watcher(path, Side.DATA)) for path in wanted])
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
        answers = self._sender.run([kazoo_calls.exists(path, self._watcher(path, Side.DATA)) for path in wanted])
        for path, answer in zip(wanted, answers, strict=True):
            if not isinstance(answer, ZkError):
                self._saw(path, Side.DATA, answer)
        return answers

    def children_many(self, paths: Iterable[str]) -> list[list[str] | ZkError]:
        """Blocks. Pipelined `children`."""
        wanted = list(paths)
        answers = self._sender.run([kazoo_calls.children(path, self._watcher(path, Side.CHILDREN)) for path in wanted])
        for path, answer in zip(wanted, answers, strict=True):
            if not isinstance(answer, ZkError):
                self._saw(path, Side.CHILDREN, answer[1])
        return [answer if isinstance(answer, ZkError) else answer[0] for answer in answers]

    def sync(self) -> None:
        """Blocks. Later reads see everything that was written before this call, whichever server answers them."""
        _value(self._sender.run([kazoo_calls.sync("/")])[0])

    def get_acl(self, path: str) -> list[Acl]:
        """Blocks. Raises NoNode."""
        acl: list[Acl] = _value(self._sender.run([kazoo_calls.get_acl(path)])[0])
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
        self._sender.run([kazoo_calls.exists(path, None)])
        _value(self._write([kazoo_calls.delete(Delete(path, version))], generation)[0])

    def set_acl(self, path: str, acl: Sequence[Acl]) -> None:
        """Blocks. Raises NoNode."""
        _value(self._write([kazoo_calls.set_acl(path, acl)], None)[0])

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
        answers = self._sender.run([self._request_to_set(watch) for watch in lost])
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
        return self._sender.run(requests, generation)

    def _complain(self, path: str | None) -> None:
        """Name the identity that is missing, at most once a minute: others see only ZooKeeper's error."""
        now_s = time.monotonic()
        if now_s < self._complains_from_s:
            return
        self._complains_from_s = now_s + COMPLAINT_INTERVAL_S
        log.error(
            "ZooKeeper does not let %s use %s: the znode belongs to another identity. All brokers and tools of a "
            "cluster with zookeeper.set.acl need the same one.",
            self.identity,
            path,
        )


def _steps_to(path: str) -> Iterator[str]:
    """/a/b/c: /a, /a/b and /a/b/c."""
    names = path.split("/")
    return ("/".join(names[: index + 1]) for index in range(1, len(names)))


def _value(answer: Any) -> Any:
    if isinstance(answer, ZkError):
        raise answer
    return answer
