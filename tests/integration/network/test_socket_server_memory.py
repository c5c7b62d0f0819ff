"""queued.max.request.bytes: what is read waits for memory, and nothing is lost or kept."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import gevent
import pytest
from gevent import socket as cooperative

from kafka_zk.clock import SimClock
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network import request_memory
from kafka_zk.network.frames import BUFFER_BYTES, FrameReader
from kafka_zk.network.server import SocketServer
from kafka_zk.network.settings import SocketServerSettings
from tests.integration.network.harness import TIMEOUT_S, Client, Script, connect, framed, serving

SEED = 20261121


def eventually(claim: Callable[[], object]) -> None:
    with gevent.Timeout(TIMEOUT_S):
        while not claim():
            gevent.sleep(0.001)


def memory_of(server: SocketServer) -> Any:
    assert server.memory is not None
    return server.memory


def test_without_a_limit_nobody_counts() -> None:
    script = Script()
    with serving(script) as server:
        assert connect(server).ask(b"e") == b"e"
        (connection,) = server.connections()
        assert type(connection._reader) is FrameReader
        assert connection._host.handler is script
        assert server.memory is None


def test_a_request_waits_until_another_has_been_handled() -> None:
    script = Script()
    with serving(script, queued_max_request_bytes=100) as server:
        first, second = connect(server), connect(server)
        first.send(b"b" + bytes(200))
        script.wait_handled(1)
        assert memory_of(server).available_bytes == 100 - 201
        second.send(b"e", b"e2")
        second.send(b"e3")
        eventually(lambda: "1 wait" in repr(server.memory))
        assert len(script.handled) == 1
        script.unblock.set()
        assert [second.receive() for _ in range(3)] == [b"e", b"e2", b"e3"]
        assert first.receive() == b"b" + bytes(200)
        eventually(lambda: memory_of(server).used_bytes == 0)


def test_a_request_behind_an_answer_that_is_still_to_come_takes_no_memory() -> None:
    script = Script()
    with serving(script, queued_max_request_bytes=4) as server:
        waiting = [connect(server) for _ in range(3)]
        for number, client in enumerate(waiting):
            client.send(b"l%d" % number, b"e%d" % number + bytes(100))
        script.wait_handled(3)
        assert connect(server).ask(b"e needed for the answers") == b"e needed for the answers"
        assert memory_of(server).used_bytes == 0
        for number, client in enumerate(waiting):
            script.deferred[b"l%d" % number].complete([framed(b"answer")])
            assert client.receive() == b"answer"
            assert client.receive() == b"e%d" % number + bytes(100)
        assert memory_of(server).used_bytes == 0


def test_requests_at_hand_in_one_connection_take_what_there_is_in_order() -> None:
    script = Script()
    with serving(script, queued_max_request_bytes=10) as server:
        client = connect(server)
        bodies = [b"e%04d" % number + bytes(number) for number in range(100)]
        client.send(*bodies)
        assert [client.receive() for _ in bodies] == bodies
        assert memory_of(server).used_bytes == 0


def test_a_request_takes_its_memory_as_soon_as_its_size_is_known() -> None:
    with serving(Script(), queued_max_request_bytes=100) as server:
        half, other = connect(server), connect(server)
        half.send_raw(framed(b"e" + bytes(499))[:3])
        assert other.ask(b"e") == b"e"
        assert memory_of(server).used_bytes == 0
        half.send_raw(framed(b"e" + bytes(499))[3:10])
        eventually(lambda: memory_of(server).used_bytes == 500)
        other.send(b"e")
        eventually(lambda: "1 wait" in repr(server.memory))
        half.send_raw(framed(b"e" + bytes(499))[10:])
        assert half.receive() == b"e" + bytes(499)
        assert other.receive() == b"e"
        assert memory_of(server).used_bytes == 0


@pytest.mark.parametrize("count", [1, 3])
def test_what_a_client_that_sends_no_more_asked_last_is_handled_once_there_is_memory(count: int) -> None:
    script = Script()
    with serving(script, queued_max_request_bytes=100) as server:
        busy, last = connect(server), connect(server)
        busy.send(b"b" + bytes(200))
        script.wait_handled(1)
        bodies = [b"e%d" % number for number in range(count)]
        last.send(*bodies)
        eventually(lambda: "1 wait" in repr(server.memory))
        last.socket.shutdown(cooperative.SHUT_WR)
        gevent.idle()
        script.unblock.set()
        assert [last.receive() for _ in bodies] == bodies
        assert last.is_closed()
        busy.receive()
        eventually(lambda: memory_of(server).used_bytes == 0)


def test_a_large_request_is_not_read_before_it_is_paid_for() -> None:
    script = Script()
    with serving(script, queued_max_request_bytes=10) as server:
        busy, large = connect(server), connect(server)
        busy.send(b"b" + bytes(50))
        script.wait_handled(1)
        body = b"e" + bytes(20 * BUFFER_BYTES)
        sending = gevent.spawn(large.send, body)
        eventually(lambda: "1 wait" in repr(server.memory))
        assert sum(connection._reader.held_bytes for connection in server.connections()) <= 2 * BUFFER_BYTES
        script.unblock.set()
        assert large.receive() == body
        sending.get()
        eventually(lambda: memory_of(server).used_bytes == 0)


def test_who_goes_away_leaves_nothing_behind() -> None:
    script = Script()
    with serving(script, queued_max_request_bytes=10) as server:
        half = connect(server)
        half.send_raw(framed(b"e" + bytes(3 * BUFFER_BYTES))[: 2 * BUFFER_BYTES])
        eventually(lambda: memory_of(server).used_bytes == 3 * BUFFER_BYTES + 1)
        waits = [connect(server) for _ in range(3)]
        for client in waits:
            client.send(b"e")
        eventually(lambda: "3 wait" in repr(server.memory))
        for connection in list(server.connections())[-2:]:
            connection.close()
        eventually(lambda: server.connection_count == 2)
        assert "1 wait" in repr(server.memory)
        half.close()
        eventually(lambda: memory_of(server).used_bytes == 0)
        assert waits[0].receive() == b"e"
        for ends in (b"c", b"x"):
            client = connect(server)
            client.send(ends)
            assert client.is_closed()
        assert memory_of(server).used_bytes == 0


def test_few_places_and_little_memory_never_block_each_other() -> None:
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    script = Script()
    with serving(script, queued_max_request_bytes=64, queued_max_requests=1) as server:

        def ask(client: Client) -> None:
            for _ in range(10):
                bodies = [b"e" + bytes(chance.choice((0, 5, 100, 2_000, BUFFER_BYTES))) for _ in range(12)]
                sending = gevent.spawn(client.send, *bodies)
                assert [client.receive() for _ in bodies] == bodies
                sending.get()

        gevent.joinall([gevent.spawn(ask, connect(server)) for _ in range(10)], raise_error=True, timeout=60)
        assert len(script.handled) == 10 * 10 * 12
        eventually(lambda: memory_of(server).used_bytes == 0)


LARGE_BYTES = 8 << 20
"""More than the buffers of both sockets."""


@pytest.mark.parametrize("is_late", [False, True])
def test_a_large_answer_is_charged_until_it_is_sent(is_late: bool) -> None:
    script = Script()
    with serving(script, queued_max_request_bytes=1 << 20) as server:
        slow, other = connect(server), connect(server)
        script.answers = [[framed(bytes(LARGE_BYTES))]]
        slow.send(b"l" if is_late else b"s")
        if is_late:
            script.wait_handled(1)
            script.deferred.pop(b"l").complete(script.answers.pop())
        eventually(lambda: memory_of(server).used_bytes == LARGE_BYTES + 4)
        other.send(b"e")
        eventually(lambda: "1 wait" in repr(server.memory))
        assert slow.receive() == bytes(LARGE_BYTES)
        assert other.receive() == b"e"
        eventually(lambda: memory_of(server).used_bytes == 0)


def test_the_charge_of_an_answer_ends_with_its_connection() -> None:
    script = Script()
    with serving(script, queued_max_request_bytes=1 << 20) as server:
        script.answers = [[framed(bytes(LARGE_BYTES))]]
        leaver = connect(server)
        leaver.send(b"s")
        eventually(lambda: memory_of(server).used_bytes > LARGE_BYTES)
        leaver.close()
        eventually(lambda: memory_of(server).used_bytes == 0)


def test_who_takes_nothing_of_its_answer_keeps_nobody_waiting_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_memory, "STALLED_NS", 1_000_000)
    script = Script()
    with serving(script, queued_max_request_bytes=1 << 20, max_idle_ms=60_000) as server:
        script.answers = [[framed(bytes(LARGE_BYTES))]]
        stalled = connect(server)
        stalled.send(b"s")
        eventually(lambda: memory_of(server).used_bytes > LARGE_BYTES)
        assert connect(server).ask(b"e") == b"e"
        eventually(lambda: server.connection_count == 1)


def test_operators_see_the_pool_and_how_long_it_was_empty() -> None:
    clock = SimClock()
    metrics = MetricsRegistry(clock)
    endpoint = EndPoint("L", "PLAINTEXT", "127.0.0.1", 0)
    script = Script()
    settings = SocketServerSettings(endpoints=(endpoint,), queued_max_request_bytes=100)
    server = SocketServer(settings, script, metrics=metrics)
    server.start()
    server.enable_processing()

    def shown(name: str, attribute: str = "Value") -> Any:
        metric = metrics.find(name)
        assert metric is not None, name
        return metric.attributes()[attribute]

    try:
        sockets, group = "kafka.network:type=SocketServer,name=", "kafka.server:type=socket-server-metrics"
        assert shown(f"{sockets}MemoryPoolAvailable") == 100
        first, second = connect(server, "L"), connect(server, "L")
        first.send(b"b" + bytes(100))
        script.wait_handled(1)
        assert (shown(f"{sockets}MemoryPoolAvailable"), shown(f"{sockets}MemoryPoolUsed")) == (-1, 101)
        second.send(b"e")
        eventually(lambda: "1 wait" in repr(server.memory))
        gevent.sleep(0.02)
        script.unblock.set()
        assert second.receive() == b"e"
        assert shown(group, "MemoryPoolDepletedTimeTotal") >= 20
        clock.advance(1000)
        metrics.fold()
        # Milliseconds a millisecond, over one full window of 30 s and a little.
        assert 0 < shown(group, "MemoryPoolAvgDepletedPercent") <= 1
    finally:
        server.stop()


def test_an_answer_that_is_ready_does_not_wait_for_the_memory_that_it_holds() -> None:
    script = Script()
    with serving(script, queued_max_request_bytes=100_000, max_idle_ms=-1) as server:
        client, other = connect(server), connect(server)
        client.send(b"n1")
        script.wait_handled(1)
        # Waits behind the first one's, and is more than is left.
        script.answers.append([framed(bytes(200_000))])
        client.send(b"s")
        script.wait_handled(2)
        eventually(lambda: memory_of(server).available_bytes < 0)
        large = framed(b"e" + bytes(300_000))
        client.send_raw(large[:1000])
        eventually(lambda: "1 wait" in repr(server.memory))
        client.send_raw(large[1000:2000])
        (connection,) = [each for each in server.connections() if each.unanswered_count]
        # It has found these bytes, and no memory for the frame.
        eventually(lambda: connection._parking is not None and not connection._parking._wants_read)
        script.deferred[b"n1"].complete([framed(b"first")])
        other.send(b"e")
        assert client.receive() == b"first"
        assert len(client.receive()) == 200_000
        client.send_raw(large[2000:])
        assert len(client.receive()) == 300_001
        assert other.receive() == b"e"
        eventually(lambda: memory_of(server).used_bytes == 0)


def test_what_an_answer_holds_is_free_when_its_connection_ends_with_a_fault() -> None:
    script = Script()
    with serving(script, queued_max_request_bytes=220_000) as server:
        client = connect(server)
        script.answers.append([framed(bytes(200_000))])
        # A large answer, and in the same turn a handler that fails.
        client.send(b"s", b"x")
        script.wait_handled(2)
        eventually(lambda: server.connection_count == 0)
        eventually(lambda: memory_of(server).used_bytes == 0)


def test_a_connection_that_is_muted_leaves_the_line_for_memory() -> None:
    script = Script()
    with serving(script, queued_max_request_bytes=10) as server:
        throttled, busy, other = connect(server), connect(server), connect(server)
        throttled.send(b"n")
        script.wait_handled(1)
        busy.send(b"b" + bytes(50))
        script.wait_handled(2)
        throttled.send(b"e" + bytes(50))
        eventually(lambda: "1 wait" in repr(server.memory))
        # The answer comes late, and is throttled.
        (connection,) = [each for each in server.connections() if each.unanswered_count]
        connection.mute(600_000)
        script.deferred[b"n"].complete([framed(b"late")])
        assert throttled.receive() == b"late"
        eventually(lambda: "0 wait" in repr(server.memory))
        script.unblock.set()
        busy.receive()
        assert other.ask(b"e") == b"e"
