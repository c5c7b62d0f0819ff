"""A mechanism in a thread: its answers and errors come back, and the loop goes on meanwhile."""

from __future__ import annotations

import threading

import gevent
import pytest

from kafka_zk.sasl.server.mechanism import ExchangeInterrupted, Identity, InvalidExchange, SaslRefused
from kafka_zk.security.authentication.in_thread import InThread
from kafka_zk.worker_pool import WorkerPool


class Slow:
    """Answers when it is told to; knows the client after that."""

    def __init__(self, error: Exception | None = None) -> None:
        self.identity: Identity | None = None
        self.may_go_on = threading.Event()
        self._error = error

    def respond(self, token: bytes) -> bytes:
        assert self.may_go_on.wait(10)
        if self._error is not None:
            raise self._error
        self.identity = Identity("alice")
        return token.upper()


def test_the_loop_goes_on_while_a_token_is_looked_at() -> None:
    slow, pool = Slow(), WorkerPool(1)
    mechanism = InThread(slow, pool)
    answer = gevent.spawn(mechanism.respond, b"token")
    gevent.sleep(0)
    assert mechanism.identity is None
    slow.may_go_on.set()
    assert answer.get(timeout=10) == b"TOKEN"
    assert mechanism.identity == Identity("alice")
    pool.kill()


@pytest.mark.parametrize("error", [SaslRefused("a"), InvalidExchange("b"), ExchangeInterrupted("c")])
def test_what_the_mechanism_raises_is_raised(error: Exception) -> None:
    slow, pool = Slow(error), WorkerPool(1)
    slow.may_go_on.set()
    with pytest.raises(type(error), match=str(error)):
        InThread(slow, pool).respond(b"token")
    pool.kill()
