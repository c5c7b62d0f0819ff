"""The session of zookeeper-shell.sh: connects when first needed, prints its events between commands.

A command connects when it first needs ZooKeeper; until then its mistakes cost nothing. Events (watches, connection) are
printed between commands, as they come.
Source: org.apache.zookeeper.ZooKeeperMain and its MyWatcher, of ZooKeeper 3.8.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from queue import Empty, SimpleQueue

from kazoo.client import KazooClient
from kazoo.hosts import collect_hosts
from kazoo.protocol.states import EventType, KazooState, WatchedEvent

from kafka_zk.zk.identity import ANONYMOUS, ZkIdentity
from kafka_zk.zk.kazoo_login import client_of_threads

SESSION_TIMEOUT_S = 30.0
EVENT_NAMES = {
    EventType.CREATED: "NodeCreated",
    EventType.DELETED: "NodeDeleted",
    EventType.CHANGED: "NodeDataChanged",
    EventType.CHILD: "NodeChildrenChanged",
}
STATE_NAMES = {
    KazooState.CONNECTED: "SyncConnected",
    KazooState.SUSPENDED: "Disconnected",
    KazooState.LOST: "Expired",
}


class CommandError(Exception):
    """A command failed: what to print on the standard error, and the exit code."""

    def __init__(self, text: str, exit_code: int = 1) -> None:
        super().__init__(text)
        self.text = text
        self.exit_code = exit_code


class Shell:
    """One shell: its connection (made when first needed) and its history."""

    def __init__(self, connect: str, identity: ZkIdentity = ANONYMOUS) -> None:
        self.connect = connect
        self._identity = identity
        self.history: list[str] = []
        self.redo: str | None = None
        self.quitting = False
        self.printing_watches = True
        self._kazoo: KazooClient | None = None
        self._connected_once = False
        self._events: SimpleQueue[str] = SimpleQueue()

    @property
    def state(self) -> str:
        return self._kazoo.client_state if self._kazoo else "CLOSED" if self._connected_once else "CONNECTING"

    def zookeeper(self, path: str | None = None) -> KazooClient:
        """The connection; `path` is the command's path, for the error message if there is no connection."""
        if self._kazoo is None:
            if self._connected_once:
                # On the standard output and without an exit code, as in Apache's shell.
                print("Not connected")
                raise CommandError("", 0)
            self.open(path)
        return self._kazoo

    def open(self, path: str | None = None) -> None:
        """Connect. Raises CommandError."""
        self._require_reachable(path)
        kazoo = client_of_threads(self.connect, SESSION_TIMEOUT_S, self._identity)
        try:
            kazoo.start(timeout=SESSION_TIMEOUT_S)
        except kazoo.handler.timeout_exception:
            raise _connection_loss(path) from None
        kazoo.add_listener(self._on_state)
        self._kazoo = kazoo
        self._connected_once = True
        self._print_event("state:SyncConnected type:None path:null")

    def _require_reachable(self, path: str | None) -> None:
        # kazoo retries without end; Apache's shell gives up at the first refusal.
        for host, port in collect_hosts(self.connect)[0]:
            with contextlib.suppress(OSError):
                socket.create_connection((host.strip("[]"), port), timeout=SESSION_TIMEOUT_S).close()
                return
        raise _connection_loss(path)

    def close(self) -> None:
        """End the session."""
        if self.abandon():
            self._print_event("state:Closed type:None path:null")

    def abandon(self) -> bool:
        """End the session without printing anything; returns whether there was one."""
        kazoo, self._kazoo = self._kazoo, None
        if kazoo is None:
            return False
        kazoo.remove_listener(self._on_state)
        kazoo.stop()
        kazoo.close()
        return True

    def watcher(self, wanted: bool) -> Callable[[WatchedEvent], None] | None:
        return self._on_watch if wanted else None

    def _on_watch(self, event: WatchedEvent) -> None:
        if event.type in EVENT_NAMES:
            self._events.put(f"state:SyncConnected type:{EVENT_NAMES[event.type]} path:{event.path}")

    def _on_state(self, state: str) -> None:
        self._events.put(f"state:{STATE_NAMES[state]} type:None path:null")

    def print_events(self) -> None:
        """Print the events of watches and of the connection that have arrived so far."""
        if self._kazoo is not None:
            # Callbacks run one after the other: once ours has run, all earlier ones have.
            passed = self._kazoo.handler.event_object()
            self._kazoo.handler.completion_queue.put(passed.set)
            passed.wait(1)
            passed.clear()
            self._kazoo.handler.callback_queue.put(passed.set)
            passed.wait(1)
        with contextlib.suppress(Empty):
            while True:
                self._print_event(self._events.get_nowait())

    def _print_event(self, text: str) -> None:
        if self.printing_watches:
            print(f"\nWATCHER::\n\nWatchedEvent {text}", flush=True)


def _connection_loss(path: str | None) -> CommandError:
    return CommandError(f"KeeperErrorCode = ConnectionLoss for {path}" if path else "KeeperErrorCode = ConnectionLoss")
