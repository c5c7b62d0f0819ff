"""Handles the loss and return of connections and sessions.

Role        Acts. Owned by one `ZkClient`: follows kazoo's states, counts generations, and runs the hooks.
Invariants  `generation` grows as soon as the loss of the session is known, before anything else runs.
            After a loss `may_write` is False until `resume`; only calls that name the new generation write.
            kazoo's greenlets only set flags here; one greenlet, the keeper, acts on them.
Source      kafka.zookeeper.ZooKeeperClient: ZooKeeperClientWatcher, scheduleReinitialize; KAFKA-5473, 6879, 13461.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import gevent
from gevent.event import Event
from kazoo.client import KazooClient
from kazoo.protocol.states import KazooState, KeeperState

from kafka_zk.supervision import caught, spawn_for_life

log = logging.getLogger("kafka.zookeeper.ZooKeeperClient")

RETRY_DELAY_S = 1.0
"""Until a refused connection or a failed hook is tried again, as in Kafka."""

STATE_CHANGES = {KazooState.CONNECTED: "CONNECTED", KazooState.SUSPENDED: "DISCONNECTED", KazooState.LOST: "EXPIRED"}


class SessionLife:
    """The sessions that one client has, one after the other.

    `on_connection` is called, and may block, once there is a connection whose session allows writes.
    """

    def __init__(self, kazoo: KazooClient, on_connection: Callable[[], None]) -> None:
        self.generation = 1
        self.connection = 0
        """Grows with every connection: what was set on an earlier one (watches) is lost."""
        self.previous_session_id = 0
        self.connected = Event()
        """Senders wait for it; `end` sets it for ever."""
        self.is_over = False
        self.refusal = Event()
        """Set once a server has not accepted our login."""
        self._kazoo = kazoo
        self._on_connection = on_connection
        self._hooks: list[tuple[Callable[[], None], Callable[[int], None]]] = []
        self._listeners: list[Callable[[str], None]] = []
        self._last_session_id = 0
        self._changed = Event()
        self._keeper: gevent.Greenlet[..., None] | None = None
        self._warned_generation = self._registered_generation = self._writable_generation = 1
        kazoo.add_listener(self._on_state)

    def keep(self) -> None:
        """Start the keeper, once the first connection is there."""
        self._keeper = spawn_for_life(
            "ZooKeeperSession", self._keep, on_error=lambda _: self._changed.set(), pause_s=RETRY_DELAY_S
        )

    def end(self) -> bool:
        """Release the senders that wait for a connection; returns whether this was the first call."""
        if self.is_over:
            return False
        self.is_over = True
        self.connected.set()
        if self._keeper is not None:
            self._keeper.kill()
        return True

    @property
    def may_write(self) -> bool:
        """Whether this broker is registered in the present session."""
        return self._writable_generation == self.generation

    def resume(self, generation: int) -> None:
        """Allow writes again, unless the session of `generation` is over, too."""
        if generation == self.generation:
            self._writable_generation = generation

    def add_hooks(self, before: Callable[[], None], after: Callable[[int], None]) -> None:
        """See `ZkClient.on_session_expired`."""
        self._hooks.append((before, after))

    def add_listener(self, listener: Callable[[str], None]) -> None:
        """See `ZkClient.on_state_change`."""
        self._listeners.append(listener)

    def refused(self, identity: object, why: str) -> None:
        """A server did not accept our login. Called by kazoo in its connection greenlet."""
        log.error(
            "Auth failed, initialized=%s connectionState=AUTH_FAILED: %s (identity: %s)",
            str(self._keeper is not None).lower(),
            why,
            identity,
        )
        if self._keeper is not None:
            log.info("Reinitializing due to auth failure.")
        self.refusal.set()
        # kazoo tells of no change from lost to refused.
        self._changed.set()

    def _on_state(self, state: str) -> None:
        """Called by kazoo in its connection greenlet: must not block."""
        if self.is_over:
            return
        if state == KazooState.CONNECTED:
            self.connection += 1
            session_id = int(self._kazoo.client_id[0]) if self._kazoo.client_id else 0
            if self._last_session_id != session_id:
                self.previous_session_id, self._last_session_id = self._last_session_id, session_id
            self.connected.set()
        else:
            self.connected.clear()
        if state == KazooState.LOST:
            self.generation += 1
        self._changed.set()
        for listener in self._listeners:
            listener(STATE_CHANGES[state])

    def _keep(self) -> None:
        while True:
            self._changed.wait()
            self._changed.clear()
            generation = self.generation
            if self._warned_generation != generation:
                log.info("Session expired.")
                self._warned_generation = generation
                for before, _ in self._hooks:
                    returned(before)
            if self._kazoo.client_state in (KeeperState.CLOSED, KeeperState.AUTH_FAILED):
                # kazoo gives up when it is refused; Kafka tries again.
                gevent.sleep(RETRY_DELAY_S)
                self._kazoo.start_async()
            elif self.connected.is_set():
                self._follow_up(generation)

    def _follow_up(self, generation: int) -> None:
        if self._registered_generation != generation:
            outcomes = [returned(after, generation) for _, after in self._hooks]
            if not all(outcomes):
                gevent.spawn_later(RETRY_DELAY_S, self._changed.set)
                return
            self._registered_generation = generation
            self.resume(generation)
        self._on_connection()


def returned(hook: Callable[..., None], *arguments: int) -> bool:
    """Call a hook or listener; returns whether it raised no error. An error is logged and must not end the keeper."""
    try:
        hook(*arguments)
    except Exception:
        # Hooks belong to other packages: what they raise must not change what becomes of the session.
        caught("ZooKeeperSession", f"{hook!r}, called after a session or connection was lost")
        return False
    return True
