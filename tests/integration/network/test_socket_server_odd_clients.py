"""Odd clients, many at once: who still reads gets every answer, and nothing is kept of those who have gone."""

from __future__ import annotations

import random
import struct

import gevent
import pytest
from gevent import socket as cooperative

from tests.integration.network.harness import Client, Script, answer, connect, framed, serving
from tests.integration.network.test_socket_server_ends import wait_until

SEED = 20261124
CLIENTS = 120

GARBAGE = (struct.pack(">i", -1), struct.pack(">i", 2**31 - 1), framed(b"c"), framed(b"x"))
RESET = struct.pack("ii", 1, 0)

LIMITS = {
    "max_connections": CLIENTS // 2,
    "queued_max_requests": 4,
    "queued_max_request_bytes": 4000,
    "send_buffer_bytes": 4096,
}
"""Each of them keeps some clients waiting."""


def odd_requests(chance: random.Random, number: int) -> list[bytes]:
    """Answered at once, later, never, throttled; small ones and some that fill buffers."""
    kinds = [chance.choice([b"e", b"e", b"n", b"l", b"m", b"0"]) for _ in range(chance.randrange(1, 30))]
    large = b"x" * 20_000
    return [
        b"%s%d-%d" % (kind, number, each) + large[: chance.choice([0] * 9 + [20_000])]
        for each, kind in enumerate(kinds)
    ]


def use_oddly(client: Client, chance: random.Random, requests: list[bytes]) -> None:
    """Blocks. Ask, in a way of one's own, and read what must come. Asserts that it does."""
    data = b"".join(map(framed, requests))
    answered = [request for request in requests if request[:1] != b"0"]
    way = chance.choice(["half-closes", "garbage", "byte by byte", "cut off", "goes", "resets"])
    if way == "byte by byte":
        for position in range(50):
            client.send_raw(data[position : position + 1])
        client.send_raw(data[50:])
    else:
        client.send_raw(data[: chance.randrange(len(data))] if way == "cut off" else data)
    if way == "garbage":
        client.send_raw(chance.choice(GARBAGE))
    elif way == "resets":
        client.socket.setsockopt(cooperative.SOL_SOCKET, cooperative.SO_LINGER, RESET)
    elif way in ("half-closes", "cut off"):
        client.socket.shutdown(cooperative.SHUT_WR)
    if way in ("half-closes", "garbage", "byte by byte"):
        assert [client.receive() for _ in answered] == [expected(request) for request in answered], way
        assert way == "byte by byte" or client.is_closed()
    else:
        gevent.sleep(0)
    client.close()


def expected(request: bytes) -> bytes:
    return b"late " + request if request[:1] in (b"n", b"l") else request


@pytest.mark.parametrize("limits", [{}, LIMITS], ids=["no limits", "limits"])
def test_odd_clients_get_what_they_read_and_leave_nothing_behind(limits: dict[str, int]) -> None:
    chance = random.Random(SEED)
    script = Script()
    script.mute_ms = 1

    def settle() -> None:
        while True:
            gevent.sleep(0.001)
            for request, late in list(script.deferred.items()):
                if chance.random() < 0.5:
                    del script.deferred[request]
                    late.complete(answer(expected(request)))

    # All connect at once: with the default backlog of 50 some are sent again after a second, and then more.
    with serving(script, backlog_size=2 * CLIENTS, **limits) as server:
        settling = gevent.spawn(settle)
        clients = [
            gevent.spawn(lambda number=number: use_oddly(connect(server), chance, odd_requests(chance, number)))
            for number in range(CLIENTS)
        ]
        gevent.joinall(clients, raise_error=True)
        wait_until(lambda: not server.connection_count, "connections stay")
        settling.kill()
        assert (server.requests.places_taken, server.requests.queue_size, server.unsent_bytes()) == (0, 0, 0)
        assert server.memory is None or server.memory.used_bytes == 0
