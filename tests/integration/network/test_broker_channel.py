"""BrokerChannel: requests and responses matched, and every failure told to whoever waits."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

import gevent
import pytest
from gevent import socket as cooperative

from kafka_zk.api.dispatch import Dispatcher
from kafka_zk.api.registry import ApiRegistry, api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.services import Services
from kafka_zk.network.channel import BrokerChannel
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.pending import Pending
from kafka_zk.network.server import SocketServer
from kafka_zk.protocol.messages.describe_log_dirs import (
    DESCRIBE_LOG_DIRS_REQUEST,
    DESCRIBE_LOG_DIRS_RESPONSE,
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from tests.integration.network.harness import TIMEOUT_S, serving


@pytest.fixture
def late() -> list[Pending[Any]]:
    return []


@pytest.fixture
def server(late: list[Pending[Any]]) -> Iterator[SocketServer]:
    """Answers a request for topics with their names as directories; with none, later."""
    registry = ApiRegistry()

    @api(DESCRIBE_LOG_DIRS_REQUEST, DESCRIBE_LOG_DIRS_RESPONSE, registry=registry)
    def handler(request: Any, ctx: RequestContext) -> Any:
        if request.topics is None:
            late.append(Pending())
            return late[-1]
        results = [DescribeLogDirsResult(log_dir=f"{ctx.client_id}:{topic.topic}") for topic in request.topics]
        return DescribeLogDirsResponse(results=results)

    with serving(Dispatcher(Services(), registry)) as running:
        yield running


def connect(server: SocketServer, **options: Any) -> BrokerChannel:
    return BrokerChannel.connect("127.0.0.1", server.bound_port("PLAINTEXT"), client_id="me", **options)


def request(*topics: str) -> DescribeLogDirsRequest:
    return DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic=topic) for topic in topics])


def directories(response: Any) -> list[str]:
    return [result.log_dir for result in response.results]


@pytest.mark.parametrize("api_version", [0, 4])
def test_a_response_answers_its_request(server: SocketServer, api_version: int) -> None:
    channel = connect(server)
    assert directories(channel.send(request("a", "b"), api_version)) == ["me:a", "me:b"]
    channel.close()


def test_many_requests_may_be_on_their_way(server: SocketServer) -> None:
    channel = connect(server)
    answers = [channel.submit(request(f"t{n}"), 4) for n in range(200)]
    assert [directories(answer.result(TIMEOUT_S * 1000)) for answer in answers] == [[f"me:t{n}"] for n in range(200)]


def test_greenlets_may_share_a_channel_although_a_request_fills_the_socket(server: SocketServer) -> None:
    channel = connect(server)
    filler = ["y" * 30_000] * 20

    def ask(name: str) -> list[str]:
        return directories(channel.send(request(name, *filler), 4))

    senders = [gevent.spawn(ask, str(n)) for n in range(8)]
    gevent.joinall(senders, raise_error=True)
    assert [sender.value[0] for sender in senders] == [f"me:{n}" for n in range(8)]


def test_a_request_without_a_response_in_time_closes_the_channel(server: SocketServer) -> None:
    channel = connect(server)
    with pytest.raises(NetworkError, match="no answer within 20 ms"):
        channel.send(DescribeLogDirsRequest(topics=None), 4, timeout_ms=20)
    assert channel.is_closed
    with pytest.raises(NetworkError):
        channel.send(request("a"), 4)


def test_closing_fails_whoever_waits(server: SocketServer, late: list[Pending[Any]]) -> None:
    channel = connect(server)
    waiting = channel.submit(DescribeLogDirsRequest(topics=None), 4)
    channel.close()
    channel.close()
    with pytest.raises(NetworkError, match="was closed"):
        waiting.result(TIMEOUT_S * 1000)


def test_a_broker_that_goes_away_fails_whoever_waits(server: SocketServer, late: list[Pending[Any]]) -> None:
    channel = connect(server)
    waiting = channel.submit(DescribeLogDirsRequest(topics=None), 4)
    while not late:
        gevent.sleep(0)
    for connection in server.connections():
        connection.close()
    with pytest.raises(NetworkError, match="the broker closed the connection"):
        waiting.result(TIMEOUT_S * 1000)
    assert channel.is_closed


def test_nobody_listening_is_a_network_error() -> None:
    with cooperative.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        with pytest.raises(NetworkError, match=f"Connection to 127.0.0.1:{port} failed"):
            BrokerChannel.connect("127.0.0.1", port, client_id="me")


def test_whatever_connecting_raises_is_a_network_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller sends an order again after one, and drops it after anything else."""
    with pytest.raises(NetworkError, match="failed"):
        BrokerChannel.connect("a" * 64 + ".example", 9092, client_id="me")

    def no_thread(*_: object, **more: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(cooperative, "create_connection", no_thread)
    with pytest.raises(NetworkError, match="can't start new thread"):
        BrokerChannel.connect("127.0.0.1", 9092, client_id="me")


@pytest.mark.parametrize(
    "reply",
    [
        struct.pack(">iib", 5, 999, 0),  # a correlation id that nobody waits for
        struct.pack(">iibb", 6, 0, 0, 1),  # a body that ends too early
        struct.pack(">ib", 1, 7),  # no room for a correlation id
        struct.pack(">i", -1),
    ],
)
def test_a_reply_that_makes_no_sense_fails_the_request(reply: bytes) -> None:
    with Answering(lambda peer: peer.sendall(reply)) as port:
        channel = BrokerChannel.connect("127.0.0.1", port, client_id="me")
        with pytest.raises(NetworkError):
            channel.send(request("a"), 4, timeout_ms=TIMEOUT_S * 1000)
        assert channel.is_closed


class Answering:
    """A server that waits for a request and then does as told."""

    def __init__(self, act: Callable[[Any], None]) -> None:
        self._act = act
        self._listener = cooperative.socket()

    def __enter__(self) -> int:
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen()
        self._greenlet = gevent.spawn(self._serve)
        return int(self._listener.getsockname()[1])

    def _serve(self) -> None:
        peer, _ = self._listener.accept()
        peer.recv(100_000)
        self._act(peer)
        while peer.recv(100_000):
            pass
        peer.close()

    def __exit__(self, *_: object) -> None:
        self._greenlet.kill()
        self._listener.close()
