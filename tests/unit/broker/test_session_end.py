"""The helper that ends a killed broker's session: which one, where, and when it gives up."""

import socket
import time

import pytest

from kafka_zk.broker.membership import session_end
from tests.support.processes import free_port


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("zk1:2182", ("zk1", 2182)),
        ("zk1", ("zk1", 2181)),
        ("[::1]:2182", ("::1", 2182)),
        ("[::1]", ("::1", 2181)),
        (" 10.0.0.1:2181 ", ("10.0.0.1", 2181)),
    ],
)
def test_servers_are_written_as_in_zookeeper_connect(text: str, address: tuple[str, int]):
    assert session_end.parse_address(text) == address


@pytest.mark.parametrize("told", [[], ["12 ab\n", "\n"]])
def test_a_broker_that_has_no_session_or_took_it_back_needs_nothing(told: list[str]):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        session_end.watch(told, f"127.0.0.1:{server.getsockname()[1]}", session_timeout_ms=60_000)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_it_gives_up_when_the_session_has_timed_out_by_itself():
    began = time.monotonic()
    session_end.watch(["12 ab\n"], f"127.0.0.1:{free_port()}", session_timeout_ms=100)
    assert 0.1 <= time.monotonic() - began < 5
