"""Detects a ZooKeeper that stopped responding, so that its connection is closed.

Role        Pure: times are given. One of these belongs to one connection.
Invariants  A ZooKeeper that gets a request every sixth of the session timeout and sends nothing for 7/12 of it is given
            up before 3/4 are over, so that another one of the ensemble can be reached before the session ends.
            Time in which this process did not run counts for a sixth at most: it sent no requests, and answers may
            still be on their way.
Differs from Java's client, which counts its own pauses as silence; kazoo counts every request that it sends as a sign
            of life.
"""

from __future__ import annotations

TURNS = 6
GIVEN_UP_AFTER = 7 / 12


class Silence:
    """`session_s` as the ensemble granted it; `now_s` of a clock that only rises."""

    def __init__(self, session_s: float, now_s: float) -> None:
        self.turn_s = session_s / TURNS
        """Seconds between two pings of a server."""
        self.limit_s = session_s * GIVEN_UP_AFTER
        self._lasted_s = 0.0
        self._looked_s = now_s

    def is_broken(self, now_s: float) -> None:
        """The server has sent something."""
        self._lasted_s = 0.0
        self._looked_s = now_s

    def is_too_long(self, now_s: float) -> bool:
        """Whether to give the server up; called whenever a request is sent to it."""
        self._lasted_s += min(now_s - self._looked_s, self.turn_s)
        self._looked_s = now_s
        return self._lasted_s >= self.limit_s
