"""Detects a ZooKeeper that stopped responding, so that its connection is closed.

Role        Pure: times are given. One of these belongs to one connection.
Invariants  A ZooKeeper that is asked something every sixth of the session and says nothing for 7/12 of it is given up
            before 3/4 are over, so another one of the ensemble can be reached before the session ends.
            Time in which this process stood still counts for a sixth at most: nobody was asked anything, and what was
            answered may still be on its way.
Differs from Java's client, which lets what its own pauses took count as silence; kazoo lets every request that is sent
            count as a sign of life.
"""

from __future__ import annotations

TURNS = 6
GIVEN_UP_AFTER = 7 / 12


class Silence:
    """`session_s` as the ensemble granted it; `now_s` of a clock that only rises."""

    def __init__(self, session_s: float, now_s: float) -> None:
        self.turn_s = session_s / TURNS
        """How often a server is asked for a sign of life."""
        self.limit_s = session_s * GIVEN_UP_AFTER
        self._lasted_s = 0.0
        self._looked_s = now_s

    def is_broken(self, now_s: float) -> None:
        """The server has said something."""
        self._lasted_s = 0.0
        self._looked_s = now_s

    def is_too_long(self, now_s: float) -> bool:
        """Whether to give the server up; asked whenever it is asked something."""
        self._lasted_s += min(now_s - self._looked_s, self.turn_s)
        self._looked_s = now_s
        return self._lasted_s >= self.limit_s
