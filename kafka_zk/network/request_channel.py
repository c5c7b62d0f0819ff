"""Admission of requests: at most queued.max.requests are handled or queued.

Role        Handlers run in the greenlets of their connections, so there is no queue to pass requests through; what
            remains of Kafka's RequestChannel is its limit. A connection takes one place per turn.
Invariants  Places are given in the order of requests. A connection that ends while it waits gives its
            place to the next one.
Source      RequestChannel (requestQueue) in Kafka 3.9.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections import deque

from kafka_zk.network.parking import Parking


class RequestChannel:
    """The places of one plane: the data plane has one, a control plane listener one of its own."""

    __slots__ = ("_max_requests", "_places_taken", "_queue")

    def __init__(self, max_requests: int) -> None:
        self._max_requests = max_requests
        self._places_taken = 0
        self._queue: deque[_Ticket] = deque()

    def enter(self, parking: Parking) -> None:
        """Blocks while all places are taken. Raises PeerClosed if the connection ends meanwhile."""
        if self._places_taken < self._max_requests:
            self._places_taken += 1
            return
        ticket = _Ticket(parking)
        self._queue.append(ticket)
        try:
            while not ticket.granted:
                parking.wait_woken()
        except BaseException:
            # Killed or closed while waiting: a place may have been granted already.
            if ticket.granted:
                self.leave()
            else:
                self._queue.remove(ticket)
            raise

    def leave(self) -> None:
        """Give the place to the connection that has waited longest, or free it."""
        if self._queue:
            ticket = self._queue.popleft()
            ticket.granted = True
            ticket.parking.wake()
        else:
            self._places_taken -= 1

    @property
    def queue_size(self) -> int:
        """Connections that have a request and no place."""
        return len(self._queue)

    @property
    def places_taken(self) -> int:
        return self._places_taken


class _Ticket:
    __slots__ = ("granted", "parking")

    def __init__(self, parking: Parking) -> None:
        self.parking = parking
        self.granted = False
