"""Follows a directory of sequential notifications, handles each once, purges old ones.

Role        Acts: one greenlet a listener. `handle` gets each notice's data, in order of the numbers.
Invariants  Every listener that runs when a notice is written handles it. After a restart all notices that are still
            there are handled again, which handlers must tolerate (they read the changed thing itself).
            A notice is purged only if this listener has known it for its lifetime: a wall clock that is ahead of
            ZooKeeper's takes no notice from brokers that have not read it yet.
            A notice that cannot be read, handled or removed is logged and does not stop those behind it.
Source      ZkNodeChangeNotificationListener; notices live 15 minutes.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

import gevent
from gevent.event import Event

from kafka_zk.clock import Clock
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.supervision import caught, spawn_for_life
from kafka_zk.zk.errors import ConnectionClosed, NoNode, ZkError
from kafka_zk.zk.operations import Delete
from kafka_zk.zk.session import NodeData, ZkClient
from kafka_zk.zk.znodes import sequence_number

log = logging.getLogger("kafka.common.ZkNodeChangeNotificationListener")

RETRY_PAUSE_S = 1.0
"""Until the notices that an error left are tried again: they must not wait for the next notice."""

NOTICE_LIFETIME_MS = 15 * 60 * 1000


class SequenceListener:
    """Calls `handle(data)` for each notice `PARENT/PREFIXnnnnnnnnnn`."""

    def __init__(
        self, zk: ZkClient, parent: str, name_prefix: str, handle: Callable[[bytes | None], None], clock: Clock
    ) -> None:
        self._zk = zk
        self._parent = parent
        self._name_prefix = name_prefix
        self._handle = handle
        self._clock = clock
        self._dirty = Event()
        self._last_handled = -1
        self._known_since_ms: dict[str, int] = {}
        """When this listener first saw each notice that is there, by the monotonic clock."""
        self._tasks: deque[Callable[[], None]] = deque()
        self._greenlet: gevent.Greenlet[..., None] | None = None

    def start(self, before_following: Callable[[], None] = lambda: None) -> None:
        """Blocks. Handle what is there, then whatever comes.

        `before_following`, which may block, comes in between: no notice is handled before it ends, and none is missed.
        """
        self._zk.ensure_path(self._parent)
        self._zk.watch(self._parent, "children", self._dirty.set)
        self.process()
        before_following()
        self._greenlet = spawn_for_life(
            f"ZkNodeChangeNotificationListener {self._parent}",
            self._run,
            on_error=lambda _: self._dirty.set(),
            pause_s=RETRY_PAUSE_S,
        )

    def run_soon(self, task: Callable[[], None]) -> None:
        """Have `task`, which may block, run between two notices; again after a pause if it raises ZkError."""
        self._tasks.append(task)
        self._dirty.set()

    def stop(self) -> None:
        """Blocks. Stop between two notices."""
        self._zk.unwatch(self._parent, "children")
        if self._greenlet is not None:
            self._greenlet.kill()

    def _run(self) -> None:
        while True:
            self._dirty.wait()
            self._dirty.clear()
            try:
                while self._tasks:
                    self._tasks[0]()
                    self._tasks.popleft()
                self.process()
            except ConnectionClosed:
                return
            except ZkError as error:
                log.error("Error processing notification change for path = %s: %s", self._parent, error)
                gevent.sleep(RETRY_PAUSE_S)
                self._dirty.set()

    def process(self) -> None:
        """Blocks. Handle the notices that are new, in order, and delete those past their lifetime."""
        names = sorted(name for name in self._zk.children(self._parent) if self._is_notice(name))
        seen_ms = self._clock.monotonic_ms()
        self._known_since_ms = {name: self._known_since_ms.get(name, seen_ms) for name in names}
        if not names:
            return
        log.info("Processing notification(s) to %s", self._parent)
        new = [name for name in names if sequence_number(name) > self._last_handled]
        # In one round: a broker that starts finds the notices of a quarter of an hour.
        for name, notice in zip(new, self._zk.get_many([f"{self._parent}/{name}" for name in new]), strict=True):
            self._handle_one(f"{self._parent}/{name}", notice)
            self._last_handled = sequence_number(name)
        self._purge([name for name in names if self._known_since_ms[name] <= seen_ms - NOTICE_LIFETIME_MS])

    def _is_notice(self, name: str) -> bool:
        """Other children were put there by hand. Kafka's listener stops at such a child for ever."""
        number = name.removeprefix(self._name_prefix)
        return number != name and number.isascii() and number.isdecimal()

    def _handle_one(self, path: str, notice: NodeData | ZkError) -> None:
        if isinstance(notice, NoNode):
            # Another broker has purged it: 15 minutes old, and read by us or written before our start.
            return
        if isinstance(notice, ZkError):
            log.error("error while processing notification change for path = %s: %s", path, notice)
            return
        try:
            self._handle(notice[0])
        except BrokerError as error:
            # One bad notice must not hold back those behind it.
            log.error("error while processing notification change for path = %s: %s", path, error)
        except Exception:
            # Nor must a bug of ours.
            caught(f"ZkNodeChangeNotificationListener {self._parent}", path)

    def _purge(self, names: list[str]) -> None:
        """Blocks. Delete those of `names` that were written longer than their lifetime ago."""
        if not names:
            return
        paths = [f"{self._parent}/{name}" for name in names]
        oldest_kept_ms = self._clock.wall_ms() - NOTICE_LIFETIME_MS
        old = []
        for path, stat in zip(paths, self._zk.exists_many(paths), strict=True):
            if stat is None or isinstance(stat, ZkError) or stat.ctime >= oldest_kept_ms:
                continue
            log.debug("Purging change notification %s", path)
            old.append(path)
        if not old:
            return
        for path, (outcome,) in zip(old, self._zk.multi_many([[Delete(path)] for path in old]), strict=True):
            if isinstance(outcome, ZkError) and not isinstance(outcome, NoNode):
                log.error("Error purging the change notification %s: %s", path, outcome)
