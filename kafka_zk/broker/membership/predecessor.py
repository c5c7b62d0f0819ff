"""A start that finds its own broker id registered: by the session of its predecessor, or by another living process.

Role        Pure: decides whether the start waits. A predecessor that was killed keeps /brokers/ids/N until its session
            ends; where it was one of Apache's there is no session file that would let us end it.
Invariants  Waits only for a registration with one of our own addresses, on which this process listens by now: whoever
            registered it listens there no more. The same session holds it all the time; a new one is alive.
            Ends after a session's timeout, counted anew once ZooKeeper was away: sessions live on from its return.
Source      Ours. Apache's KafkaZkClient.registerBroker fails at once with NodeExists (KAFKA-7165).
"""

from __future__ import annotations

from kafka_zk.zk.znodes import BrokerRegistration

EXPIRY_SLACK_MS = 6_000
"""ZooKeeper looks for sessions that have ended once a tick (2 s by default), and hears of their last sign of life as
late."""

ZOOKEEPER_AWAY_MS = 2_000
"""Who could not look for so long had no connection."""


class WaitForPredecessor:
    """The wait of one start. `timeout_ms`: what its predecessor's session was most likely given."""

    def __init__(self, mine: BrokerRegistration, *, timeout_ms: int) -> None:
        self._addresses = _addresses(mine)
        self._limit_ms = timeout_ms + EXPIRY_SLACK_MS
        self._session_id: int | None = None
        self._looked_ms = 0
        self._until_ms = 0

    def goes_on(self, found: BrokerRegistration | None, session_id: int, now_ms: int) -> bool:
        """Whether to look again: `found` is registered under our id by that session, None if nobody is.

        If not, registering is to be tried: it succeeds, or fails with the reason.
        """
        if found is None or self._addresses.isdisjoint(_addresses(found)):
            return False
        if self._session_id is None:
            self._session_id = session_id
            self._until_ms = now_ms + self._limit_ms
        elif session_id != self._session_id:
            return False
        elif now_ms - self._looked_ms >= ZOOKEEPER_AWAY_MS:
            self._until_ms = now_ms + self._limit_ms
        self._looked_ms = now_ms
        return now_ms < self._until_ms

    def left_ms(self, now_ms: int) -> int:
        """How long it may still take."""
        return max(0, self._until_ms - now_ms)


def _addresses(registration: BrokerRegistration) -> set[tuple[str, int]]:
    return {(endpoint.host.lower(), endpoint.port) for endpoint in registration.endpoints}
