"""Clients that log in leave others their turns."""

import itertools
import socket
import time
from collections.abc import Iterator

import gevent
import pytest
from gevent import get_hub

from kafka_zk.network.parking import LOGIN_TURN_NS, READ, LoginTurns, Parking


@pytest.fixture
def turns() -> Iterator[LoginTurns]:
    made = LoginTurns()
    yield made
    made.close()


class Clients:
    """They come at once, and each works for longer than a turn."""

    def __init__(self, turns: LoginTurns, count: int, work_ns: int = 2 * LOGIN_TURN_NS) -> None:
        self.served: list[int] = []
        self._turns = turns
        self._work_ns = work_ns
        self._sockets = socket.socketpair()
        self.parkings: dict[int, Parking] = {}
        self.greenlets = [gevent.spawn(self._come, number) for number in range(count)]

    def _come(self, number: int) -> None:
        parking = self.parkings[number] = Parking(self._sockets[0].fileno())
        try:
            self._turns.take_turn(parking)
            self.served.append(number)
            end_ns = time.monotonic_ns() + self._work_ns
            while time.monotonic_ns() < end_ns:
                pass
        finally:
            parking.close()

    def close(self) -> None:
        gevent.joinall(self.greenlets, timeout=30, raise_error=True)
        for each in self._sockets:
            each.close()


def served_at_polls(clients: Clients) -> list[int]:
    """How many had been served each time that the loop came to a socket of somebody else."""
    seen = [0]
    ours, theirs = socket.socketpair()
    theirs.send(b"always readable")
    watcher = get_hub().loop.io(ours.fileno(), READ)
    watcher.start(lambda: seen.append(len(clients.served)))
    clients.close()
    watcher.stop()
    watcher.close()
    ours.close()
    theirs.close()
    return [*seen, len(clients.served)]


def test_others_have_a_turn_after_each_half_millisecond_of_logins(turns: LoginTurns) -> None:
    clients = Clients(turns, 20)
    seen = served_at_polls(clients)
    assert clients.served == list(range(20))
    assert {after - before for before, after in itertools.pairwise(seen)} <= {0, 1, 2}


def test_many_short_logins_share_a_turn(turns: LoginTurns) -> None:
    clients = Clients(turns, 200, work_ns=0)
    seen = served_at_polls(clients)
    assert clients.served == list(range(200))
    assert len(seen) < 100


def test_who_is_ended_while_it_waits_keeps_nobody_waiting(turns: LoginTurns) -> None:
    clients = Clients(turns, 5)
    gevent.sleep(0)
    clients.parkings[3].end()
    with pytest.raises(Exception, match="closed by this broker"):
        clients.close()
    gevent.joinall(clients.greenlets, timeout=30)
    assert clients.served == [0, 1, 2, 4]
