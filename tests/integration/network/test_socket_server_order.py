"""Order of answers, turns, admission, throttling: who is served when."""

from __future__ import annotations

import time

import gevent

from kafka_zk.network.answer_queue import Deferred
from kafka_zk.network.connection import REQUESTS_PER_TURN, Connection
from kafka_zk.network.parts import Parts
from tests.integration.network.harness import Script, answer, connect, serving


def test_answers_leave_in_request_order_although_the_first_comes_last() -> None:
    script = Script()
    with serving(script) as server:
        client = connect(server)
        client.send(b"n1", b"n2", b"e3")
        script.wait_handled(3)
        script.deferred[b"n2"].complete(answer(b"second"))
        script.deferred[b"n1"].complete(answer(b"first"))
        assert [client.receive() for _ in range(3)] == [b"first", b"second", b"e3"]


def test_behind_an_ordinary_late_answer_the_next_request_does_not_start() -> None:
    script = Script()
    with serving(script) as server:
        client, other = connect(server), connect(server)
        client.send(b"l1", b"e2")
        script.wait_handled(1)
        assert other.ask(b"e") == b"e", "others go on"
        assert script.handled == [b"l1", b"e"]
        script.deferred[b"l1"].complete(answer(b"late"))
        assert [client.receive(), client.receive()] == [b"late", b"e2"]


def test_an_answer_that_is_ready_at_once_is_no_different() -> None:
    class Ready(Script):
        def handle(self, frame: memoryview, connection: Connection) -> Parts | Deferred:
            late = super().handle(frame, connection)
            if not isinstance(late, list):
                late.complete(answer(bytes(frame)))
            return late

    with serving(Ready()) as server:
        client = connect(server)
        client.send(*[b"l%d" % n for n in range(20)], b"e")
        assert [client.receive() for _ in range(21)] == [*[b"l%d" % n for n in range(20)], b"e"]


def test_at_most_32_requests_of_a_connection_wait_for_their_answers() -> None:
    script = Script()
    with serving(script) as server:
        client, other = connect(server), connect(server)
        client.send(*[b"n%d" % n for n in range(50)])
        script.wait_handled(32)
        assert other.ask(b"e") == b"e"
        assert len(script.handled) == 33
        for n in range(32):
            script.deferred[b"n%d" % n].complete(answer(b"%d" % n))
        assert [client.receive() for _ in range(32)] == [b"%d" % n for n in range(32)]
        script.wait_handled(33 + 18)


def test_a_connection_with_much_to_do_lets_others_in_after_a_turn() -> None:
    script = Script()
    with serving(script) as server:
        greedy, modest = connect(server), connect(server)
        assert modest.ask(b"e-first") == b"e-first"
        script.handled.clear()
        greedy.send(*[b"eg%d" % n for n in range(500)])
        modest.send(b"em")
        script.wait_handled(501)
        assert script.handled.index(b"em") <= 3 * REQUESTS_PER_TURN
        assert [greedy.receive() for _ in range(500)] == [b"eg%d" % n for n in range(500)]


def test_large_requests_end_a_turn_by_their_bytes() -> None:
    script = Script()
    with serving(script, turn_bytes=400) as server:
        greedy, other = connect(server), connect(server)
        assert greedy.ask(b"e") == other.ask(b"e") == b"e"
        script.handled.clear()
        # Whichever the loop looks at first: its third request comes after the other's first.
        greedy.send(*[b"0g" + bytes(200) for _ in range(4)])
        other.send(*[b"0o" + bytes(200) for _ in range(4)])
        script.wait_handled(8)
        first = [frame[1:2] for frame in script.handled]
        assert len(set(first[:3])) == 2


def test_a_muted_client_gets_its_answer_at_once_and_the_next_one_later() -> None:
    script = Script()
    with serving(script) as server:
        client = connect(server)
        started = time.monotonic()
        client.send(b"m1", b"e2")
        assert client.receive() == b"m1"
        answered = time.monotonic()
        assert client.receive() == b"e2"
        assert time.monotonic() - started >= 1
        assert answered - started < 1


def test_only_so_many_requests_are_admitted_and_the_others_wait_their_turn() -> None:
    script = Script()
    with serving(script, queued_max_requests=1) as server:
        blocking, first, second = (connect(server) for _ in range(3))
        blocking.send(b"b")
        script.wait_handled(1)
        first.send(b"e1")
        second.send(b"e2")
        while server.requests.queue_size < 2:
            gevent.sleep(0)
        assert script.handled == [b"b"]
        script.unblock.set()
        assert [blocking.receive(), first.receive(), second.receive()] == [b"b", b"e1", b"e2"]
        assert (server.requests.queue_size, server.requests.places_taken) == (0, 0)


def test_a_place_that_nobody_wants_any_more_goes_to_the_next() -> None:
    script = Script()
    with serving(script, queued_max_requests=1) as server:
        blocking, leaving, staying = (connect(server) for _ in range(3))
        blocking.send(b"b")
        script.wait_handled(1)
        leaving.send(b"e1")
        while server.requests.queue_size < 1:
            gevent.sleep(0)
        staying.send(b"e2")
        while server.requests.queue_size < 2:
            gevent.sleep(0)
        (waiting,) = [c for c in server.connections() if c.client_port == leaving.socket.getsockname()[1]]
        waiting.close()
        assert leaving.is_closed()
        script.unblock.set()
        assert staying.receive() == b"e2"
        assert script.handled == [b"b", b"e2"]
        assert blocking.receive() == b"b"
        assert server.requests.places_taken == 0


def test_requests_without_answers_do_not_hold_up_the_answers_of_others() -> None:
    with serving(Script()) as server:
        client = connect(server)
        client.send(b"0", b"0", b"e1", b"0", b"e2")
        assert [client.receive(), client.receive()] == [b"e1", b"e2"]


def test_an_answer_that_gets_ready_while_others_are_being_sent_is_not_forgotten() -> None:
    script = Script()
    large = b"x" * 1_000_000
    script.answers.append(answer(large))
    with serving(script, send_buffer_bytes=4096) as server:
        client = connect(server, receive_buffer_bytes=4096)
        client.send(b"s", b"n")
        script.wait_handled(2)
        script.deferred[b"n"].complete(answer(b"late"))
        assert client.receive() == large
        assert client.receive() == b"late", "and no further request was needed for that"
