"""ZooKeeper as the brokers of a simulated cluster meet it: out of reach, late with its watches, late to end sessions.

A client that is cut off waits, as the real one does. The ensemble ends its session after a while; the client hears of
that when it is back, and opens another. What a client reads is never newer than the notices that it has got.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import gevent

from kafka_zk.zk.errors import SessionExpired
from kafka_zk.zk.operations import Operation
from tests.simulation.model_zookeeper import ModelZkClient, ModelZooKeeper

if TYPE_CHECKING:
    from tests.simulation.whole_members import Member

OPERATOR = 0


class Ensemble(ModelZooKeeper):
    """Writes of a session that is over are refused."""

    def apply(self, session_id: int, operations: Sequence[Operation]) -> list[Any]:
        if session_id not in (OPERATOR, *self.sessions):
            raise SessionExpired
        return super().apply(session_id, operations)


class LateZkClient(ModelZkClient):
    """The session of one process. `is_cut`: nothing of it reaches ZooKeeper, and nothing from there reaches it."""

    def __init__(self, server: Ensemble, member: Member) -> None:
        super().__init__(server)
        self._member = member
        self._notices: deque[tuple[str, str]] = deque()
        self.is_cut = False

    @property
    def is_session_over(self) -> bool:
        return self.session_id not in self.server.sessions

    def fire(self, path: str, side: str) -> None:
        self._notices.append((path, side))
        self._member.spawn(self._hear)

    def _hear(self) -> None:
        """Blocks."""
        self._reach()

    def _reach(self) -> None:
        """Blocks until ZooKeeper can be reached; what it had to tell comes first."""
        self._member.network.travel()
        while self.is_cut or self._member.is_frozen:
            gevent.sleep(0)
        while self._notices:
            super().fire(*self._notices.popleft())

    def heal(self) -> None:
        """Blocks. Reached again: a session that is over is followed by another."""
        self.is_cut = False
        while self.is_session_over and not self.is_cut:
            self._notices.clear()
            self.lose_session()
            self._member.network.travel()
            with suppress(SessionExpired):
                self.open_next_session()

    def sync(self) -> None:
        self._reach()
        super().sync()

    def get_many(self, paths: Iterable[str]) -> list[Any]:
        self._reach()
        return super().get_many(paths)

    def exists_many(self, paths: Iterable[str]) -> list[Any]:
        self._reach()
        return super().exists_many(paths)

    def children_many(self, paths: Iterable[str]) -> list[Any]:
        self._reach()
        return super().children_many(paths)

    def multi_many(self, batches: Iterable[Sequence[Operation]], **how: Any) -> list[list[Any]]:
        self._reach()
        return super().multi_many(batches, **how)
