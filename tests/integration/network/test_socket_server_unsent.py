"""Answers that are there but cannot be sent: how much of them one connection may keep in memory."""

from __future__ import annotations

from kafka_zk.clock import SimClock
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network.server_metrics import SocketServerMetrics
from tests.integration.network.harness import Script, Slice, answer, connect, framed, serving
from tests.integration.network.test_socket_server_ends import everybody_had_a_turn

LARGE = b"x" * 1000
UNSENT_BYTES = 2500
"""Room for two large answers: the third goes beyond, and is the last."""

MORE_THAN_SOCKETS_TAKE = b"y" * 3_000_000


def test_behind_an_answer_that_is_still_to_come_only_so_much_is_made() -> None:
    script = Script()
    script.answers += [answer(LARGE) for _ in range(9)]
    with serving(script, unsent_bytes=UNSENT_BYTES) as server:
        client = connect(server)
        client.send(b"n", *[b"s"] * 9)
        script.wait_handled(4)
        everybody_had_a_turn(server)
        assert script.handled.count(b"s") == 3
        script.deferred[b"n"].complete(answer(b"late"))
        assert [client.receive() for _ in range(10)] == [b"late", *[LARGE] * 9]


def test_a_late_answer_counts_once_it_is_there() -> None:
    script = Script()
    with serving(script, unsent_bytes=UNSENT_BYTES) as server:
        client = connect(server)
        client.send(b"n1", b"n2")
        script.wait_handled(2)
        script.deferred[b"n2"].complete(answer(bytes(UNSENT_BYTES)))
        client.send(b"e-next")
        everybody_had_a_turn(server)
        assert b"e-next" not in script.handled
        script.deferred[b"n1"].complete(answer(b"first"))
        assert [client.receive() for _ in range(3)] == [b"first", bytes(UNSENT_BYTES), b"e-next"]


def test_a_turn_is_over_when_its_answers_are_large_and_their_bytes_are_shown() -> None:
    script = Script()
    script.answers += [answer(MORE_THAN_SOCKETS_TAKE) for _ in range(4)]
    with serving(script, send_buffer_bytes=4096, unsent_bytes=UNSENT_BYTES) as server:
        metrics = MetricsRegistry(SimClock())
        SocketServerMetrics(server, [], metrics)
        client = connect(server, receive_buffer_bytes=4096)
        client.send(*[b"s"] * 4)
        script.wait_handled(1)
        everybody_had_a_turn(server)
        assert script.handled.count(b"s") == 1
        assert bytes_shown(metrics) == len(MORE_THAN_SOCKETS_TAKE) + 4
        assert [len(client.receive()) for _ in range(4)] == [len(MORE_THAN_SOCKETS_TAKE)] * 4
        everybody_had_a_turn(server)
        assert bytes_shown(metrics) == 0


def test_what_a_connection_kept_goes_with_it() -> None:
    script = Script()
    script.answers.append(answer(LARGE))
    with serving(script, unsent_bytes=UNSENT_BYTES) as server:
        client = connect(server)
        client.send(b"n", b"s")
        script.wait_handled(2)
        everybody_had_a_turn(server)
        (kept,) = [each for each in server.connections() if each.unanswered_count]
        assert kept.unsent_bytes == len(LARGE) + 4
        kept.close()
        assert client.is_closed()
        script.deferred[b"n"].complete(answer(b"late"))
        assert kept.unsent_bytes == 0


def test_slices_of_segments_take_no_memory() -> None:
    script = Script()
    head = framed(bytes(10_000))[:4]
    script.answers += [[head, Slice(-1, 0, 10_000)] for _ in range(3)]
    with serving(script, unsent_bytes=UNSENT_BYTES) as server:
        client = connect(server)
        client.send(b"n", *[b"s"] * 3)
        script.wait_handled(4)
        assert server.unsent_bytes() == 3 * len(head)


def bytes_shown(metrics: MetricsRegistry) -> object:
    metric = metrics.find("kafka.network:type=RequestChannel,name=ResponseQueueBytes")
    assert metric is not None
    return dict(metric.attributes())["Value"]
