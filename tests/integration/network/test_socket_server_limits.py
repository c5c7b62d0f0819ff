"""Limits and life: who may connect, who has to go, and how it starts and stops."""

from __future__ import annotations

import logging
import time
from types import SimpleNamespace
from typing import Any

import gevent
import pytest
from gevent import socket as cooperative

from kafka_zk.config.endpoints import EndPoint
from kafka_zk.network.answer_queue import Deferred
from kafka_zk.network.connection import Connection
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.parts import Parts
from kafka_zk.network.server import SocketServer
from kafka_zk.network.settings import SocketServerSettings
from tests.integration.network.harness import Client, Script, connect, serving

LOCAL = "127.0.0.1"


def test_an_address_with_all_its_connections_is_rejected_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with serving(Script(), max_connections_per_ip=1) as server:
        first = connect(server)
        assert first.ask(b"e") == b"e"
        caplog.set_level(logging.INFO)
        caplog.clear()
        assert connect(server).is_closed()
        (line,) = caplog.records
        assert "Rejected connection from /127.0.0.1, address already has the configured maximum of 1" in line.message
        first.close()
        while server.connection_count:
            gevent.sleep(0)
        assert connect(server).ask(b"e") == b"e"


def test_above_max_connections_the_next_client_waits_for_a_free_place() -> None:
    script = Script()
    with serving(script, max_connections=1) as server:
        first = connect(server)
        assert first.ask(b"e1") == b"e1"
        second = connect(server)
        second.send(b"e2")
        assert first.ask(b"e3") == b"e3"
        assert script.handled == [b"e1", b"e3"]
        first.close()
        assert second.receive() == b"e2"


def test_a_broker_connection_replaces_the_oldest_client_of_a_full_broker() -> None:
    clients, internal = (EndPoint(name, "PLAINTEXT", LOCAL, 0) for name in ("CLIENTS", "INTERNAL"))
    limits = {"inter_broker_listener": "INTERNAL", "max_connections": 2}
    with serving(Script(), clients, internal, **limits) as server:
        older, newer = connect(server, "CLIENTS"), connect(server, "CLIENTS")
        assert older.ask(b"e") == newer.ask(b"e") == b"e"
        broker = connect(server, "INTERNAL")
        assert broker.ask(b"e") == b"e"
        assert older.is_closed()
        assert newer.ask(b"e") == b"e"


def test_a_client_that_has_to_go_and_hangs_makes_room_once() -> None:
    clients, internal = (EndPoint(name, "PLAINTEXT", LOCAL, 0) for name in ("CLIENTS", "INTERNAL"))
    script = Script()
    with serving(script, clients, internal, inter_broker_listener="INTERNAL", max_connections=3) as server:
        hanging, older, newer = (connect(server, "CLIENTS") for _ in range(3))
        hanging.send(b"b")
        script.wait_handled(1)
        assert older.ask(b"e") == newer.ask(b"e") == b"e"
        brokers = [connect(server, "INTERNAL") for _ in range(2)]
        assert [broker.ask(b"e") for broker in brokers] == [b"e", b"e"]
        assert older.is_closed()
        script.unblock.set()
        assert newer.ask(b"e") == b"e"
        assert server.connection_count == 3


def test_a_client_that_was_told_to_end_has_made_room_although_it_hangs() -> None:
    clients, internal = (EndPoint(name, "PLAINTEXT", LOCAL, 0) for name in ("CLIENTS", "INTERNAL"))
    script = Script()
    with serving(script, clients, internal, inter_broker_listener="INTERNAL", max_connections=2) as server:
        older, hanging = (connect(server, "CLIENTS") for _ in range(2))
        assert older.ask(b"e") == b"e"
        hanging.send(b"b")
        script.wait_handled(2)
        next(each for each in server.connections() if each.client_port == hanging.socket.getsockname()[1]).close()
        assert connect(server, "INTERNAL").ask(b"e") == b"e"
        assert older.ask(b"e") == b"e"
        script.unblock.set()


def limits(**settings: Any) -> SocketServerSettings:
    endpoints = tuple(EndPoint(name, "PLAINTEXT", LOCAL, 0) for name in settings.pop("names", ("PLAINTEXT",)))
    return SocketServerSettings(endpoints=endpoints, inter_broker_listener="PLAINTEXT", **settings)


def test_when_fewer_connections_may_be_those_that_were_quiet_for_longest_end() -> None:
    script = Script()
    with serving(script) as server:
        first, second, third = (connect(server) for _ in range(3))
        for client in (second, third, first):
            assert client.ask(b"e") == b"e"
        server.use_limits_of(limits(max_connections=1))
        assert second.is_closed() and third.is_closed()
        waiting = connect(server)
        waiting.send(b"e-waits")
        assert first.ask(b"e") == b"e"
        assert b"e-waits" not in script.handled
        first.close()
        assert waiting.receive() == b"e-waits"
        server.use_limits_of(limits(max_connections=2))
        assert connect(server).ask(b"e") == waiting.ask(b"e") == b"e"


def test_when_fewer_connections_may_be_to_a_listener_or_from_an_address_those_that_are_there_stay() -> None:
    with serving(Script()) as server:
        clients = [connect(server) for _ in range(3)]
        assert [client.ask(b"e") for client in clients] == [b"e"] * 3
        server.use_limits_of(limits(max_connections_per_ip=1, max_connections_per_listener={"PLAINTEXT": 1}))
        assert [client.ask(b"e") for client in clients] == [b"e"] * 3


def test_the_listener_of_the_brokers_is_protected_as_long_as_it_is_not_the_only_one() -> None:
    with serving(Script(), inter_broker_listener="PLAINTEXT") as server:
        both = limits(names=("PLAINTEXT", "ADDED"), max_connections=2)
        server.use_limits_of(both)
        server.use_endpoints_of(both)
        brokers = [connect(server) for _ in range(3)]
        assert [broker.ask(b"e") for broker in brokers] == [b"e"] * 3
        server.use_limits_of(limits(max_connections=2))
        assert brokers[0].is_closed()
        assert [broker.ask(b"e") for broker in brokers[1:]] == [b"e"] * 2


def test_too_many_new_connections_a_second_wait_in_the_backlog() -> None:
    with serving(Script(), max_connection_creation_rate=1) as server:
        burst = [connect(server) for _ in range(20)]
        for client in burst[:10]:
            assert client.ask(b"e") == b"e"
        burst[19].send(b"e")
        assert burst[0].ask(b"e") == b"e"
        assert server.connection_count < 20


def test_a_listener_with_all_its_connections_lets_the_next_wait_and_others_go_on() -> None:
    clients, internal = (EndPoint(name, "PLAINTEXT", LOCAL, 0) for name in ("CLIENTS", "INTERNAL"))
    script = Script()
    limits = {"inter_broker_listener": "INTERNAL", "max_connections_per_listener": {"CLIENTS": 2}}
    with serving(script, clients, internal, **limits) as server:
        first, second, third = (connect(server, "CLIENTS") for _ in range(3))
        third.send(b"e3")
        assert first.ask(b"e1") == b"e1"
        assert second.ask(b"e2") == b"e2"
        for number in range(5):
            assert connect(server, "INTERNAL").ask(b"e-%d" % number) == b"e-%d" % number
        assert b"e3" not in script.handled
        second.close()
        assert third.receive() == b"e3"


def test_too_many_new_connections_a_second_hold_back_their_listener_only() -> None:
    clients, internal = (EndPoint(name, "PLAINTEXT", LOCAL, 0) for name in ("CLIENTS", "INTERNAL"))
    limits = {"inter_broker_listener": "INTERNAL", "max_connection_creation_rate_per_listener": {"CLIENTS": 1}}
    with serving(Script(), clients, internal, **limits) as server:
        burst = [connect(server, "CLIENTS") for _ in range(20)]
        for client in burst[:10]:
            assert client.ask(b"e") == b"e"
        for _ in range(30):
            assert connect(server, "INTERNAL").ask(b"e") == b"e"
        assert sum(connection.listener_name == "CLIENTS" for connection in server.connections()) < 20


def test_an_address_that_comes_too_often_waits_in_vain_and_others_do_not() -> None:
    with serving(Script(), quota_window_ms=100) as server:
        server.ip_rates.limit(None, 0)
        server.ip_rates.limit(LOCAL, 1_000_000)
        assert connect(server).ask(b"e") == b"e"
        server.ip_rates.limit(LOCAL, None)
        too_much = connect(server)
        too_much.send(b"e")
        assert too_much.is_closed()
        server.ip_rates.limit(None, None)
        assert connect(server).ask(b"e") == b"e"


def test_a_connection_that_waits_in_vain_ends_with_the_server() -> None:
    with serving(Script()) as server:
        server.ip_rates.limit(LOCAL, 0)
        refused = connect(server)
    assert refused.is_closed()


def test_an_idle_connection_is_closed_and_a_busy_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    # The reaper's own clock: how fast the machine is decides nothing.
    now_ns = time.monotonic_ns()
    monkeypatch.setattr("kafka_zk.network.server.time", SimpleNamespace(monotonic_ns=lambda: now_ns))
    with serving(Script(), max_idle_ms=150) as server:
        idle, busy = connect(server), connect(server)
        assert busy.ask(b"e") == b"e", "both are accepted"
        in_between_ns = time.monotonic_ns()
        assert busy.ask(b"e") == b"e"
        now_ns = in_between_ns + 150_000_000
        assert idle.is_closed()
        assert busy.ask(b"e") == b"e"
        assert server.idle_closed_count == 1


def test_clients_that_come_before_processing_is_enabled_are_served_afterwards() -> None:
    script = Script()
    server = SocketServer(SocketServerSettings(endpoints=(EndPoint("L", "PLAINTEXT", LOCAL, 0),)), script)
    server.start()
    try:
        client = Client(server.bound_port("L"))
        client.send(b"e")
        for _ in range(5):
            gevent.sleep(0)
        assert script.handled == []
        server.enable_processing()
        assert client.receive() == b"e"
    finally:
        server.stop()


def test_stopping_lets_the_request_at_hand_finish_and_closes_everything() -> None:
    script = Script()
    with serving(script) as server:
        busy, idle = connect(server), connect(server)
        assert idle.ask(b"e") == b"e"
        busy.send(b"b", b"e-too late")
        script.wait_handled(2)
        port = server.bound_port("PLAINTEXT")
        stopping = gevent.spawn(server.stop)
        assert idle.is_closed()
        assert not stopping.ready()
        script.unblock.set()
        stopping.get(timeout=60)
        assert busy.receive() == b"b"
        assert busy.is_closed()
        assert script.handled == [b"e", b"b"]
        assert server.connection_count == 0
    with pytest.raises(ConnectionRefusedError):
        Client(port)


def test_stopping_does_not_wait_for_a_client_that_is_throttled() -> None:
    script = Script()
    script.mute_ms = 3_600_000
    with serving(script) as server:
        client = connect(server)
        client.send(b"m", b"e-too late")
        assert client.receive() == b"m"
        gevent.spawn(server.stop, timeout_s=600).get(timeout=60)
        assert client.is_closed()
        assert script.handled == [b"m"]
        assert server.connection_count == 0


def test_a_connection_closed_before_its_first_turn_never_starts() -> None:
    script = Script()
    with serving(script) as server:
        client = connect(server)
        client.send(b"e")
        while not server.connection_count:
            gevent.sleep(0)
        for connection in server.connections():
            connection.close()
        assert client.is_closed()
    assert server.connection_count == 0


def test_a_request_that_does_not_finish_does_not_stop_the_stop() -> None:
    script = Script()
    with serving(script) as server:
        client = connect(server)
        client.send(b"b")
        script.wait_handled(1)
        server.stop(timeout_s=0.05)
        assert client.is_closed()
        assert script.running_count == 1, "it was ended where it waited"


def test_each_listener_has_its_own_port_and_name() -> None:
    names: list[str] = []

    class Named(Script):
        def handle(self, frame: memoryview, connection: Connection) -> Parts | Deferred:
            names.append(f"{connection.listener_name}/{connection.security_protocol}/{connection.client_host}")
            return super().handle(frame, connection)

    endpoints = [EndPoint("A", "PLAINTEXT", LOCAL, 0), EndPoint("B", "PLAINTEXT", "", 0)]
    with serving(Named(), *endpoints) as server:
        assert connect(server, "A").ask(b"e") == b"e"
        assert connect(server, "B").ask(b"e") == b"e"
        assert server.bound_port("A") != server.bound_port("B")
    assert names == ["A/PLAINTEXT/127.0.0.1", "B/PLAINTEXT/127.0.0.1"]


@pytest.mark.skipif(not cooperative.has_ipv6, reason="a Python without IPv6")
@pytest.mark.parametrize("host", ["::1", ""])
def test_ipv6_clients_are_served_on_their_own_address_and_on_the_wildcard(host: str) -> None:
    with serving(Script(), EndPoint("L", "PLAINTEXT", host, 0)) as server:
        assert connect(server, "L", host="::1").ask(b"e") == b"e"


def test_a_port_in_use_is_a_clear_error() -> None:
    with serving(Script()) as server:
        taken = EndPoint("L", "PLAINTEXT", LOCAL, server.bound_port("PLAINTEXT"))
        second = SocketServer(SocketServerSettings(endpoints=(taken,)), Script())
        with pytest.raises(NetworkError, match=r"Socket server failed to bind to 127\.0\.0\.1:\d+: Address already"):
            second.start()


def test_a_listener_that_cannot_be_added_keeps_no_other_away() -> None:
    first = EndPoint("PLAINTEXT", "PLAINTEXT", LOCAL, 0)
    with serving(Script(), first) as server:
        taken = [EndPoint(f"TAKEN{n}", "PLAINTEXT", LOCAL, server.bound_port("PLAINTEXT")) for n in range(3)]
        free = [EndPoint(f"FREE{n}", "PLAINTEXT", LOCAL, 0) for n in range(3)]
        with pytest.raises(NetworkError, match="Address already"):
            server.use_endpoints_of(SocketServerSettings(endpoints=(first, *taken, *free)))
        assert server.open_listeners == {"PLAINTEXT", "FREE0", "FREE1", "FREE2"}
        assert all(connect(server, name).ask(b"e") == b"e" for name in server.open_listeners)


@pytest.mark.parametrize("host", [LOCAL, ""])
@pytest.mark.parametrize("port", [-1, 2**16, 2**16 + 12_345])
def test_a_port_that_is_none_is_a_clear_error(host: str, port: int) -> None:
    server = SocketServer(SocketServerSettings(endpoints=(EndPoint("L", "PLAINTEXT", host, port),)), Script())
    with pytest.raises(NetworkError, match=rf":{port}: port out of range"):
        server.start()


def test_a_listener_whose_host_is_no_name_keeps_no_other_away() -> None:
    first = EndPoint("PLAINTEXT", "PLAINTEXT", LOCAL, 0)
    with serving(Script(), first) as server:
        nowhere = [EndPoint(f"NOWHERE{n}", "PLAINTEXT", "no..name", 0) for n in range(3)]
        free = [EndPoint(f"FREE{n}", "PLAINTEXT", LOCAL, 0) for n in range(3)]
        with pytest.raises(NetworkError, match=r"failed to bind to no\.\.name:0: .*label empty"):
            server.use_endpoints_of(SocketServerSettings(endpoints=(first, *nowhere, *free)))
        assert server.open_listeners == {"PLAINTEXT", "FREE0", "FREE1", "FREE2"}


def test_the_port_of_a_removed_listener_is_free_at_once_and_its_clients_are_gone() -> None:
    script = Script()
    with serving(script) as server:
        idle, waiting, hanging = (connect(server) for _ in range(3))
        assert idle.ask(b"e") == b"e"
        waiting.send(b"l")
        hanging.send(b"b")
        script.wait_handled(3)
        same_port = EndPoint("OTHER", "PLAINTEXT", LOCAL, server.bound_port("PLAINTEXT"))
        server.use_endpoints_of(SocketServerSettings(endpoints=(same_port,)))
        assert connect(server, "OTHER").ask(b"e") == b"e"
        assert idle.is_closed()
        assert waiting.is_closed()
        script.unblock.set()
        assert hanging.receive() == b"b"
        assert hanging.is_closed()


def test_a_listener_added_during_the_start_serves_nobody_before_it_is_done() -> None:
    script = Script()
    first, added = (EndPoint(name, "PLAINTEXT", LOCAL, 0) for name in ("FIRST", "ADDED"))
    server = SocketServer(SocketServerSettings(endpoints=(first,)), script)
    server.start()
    try:
        server.use_endpoints_of(SocketServerSettings(endpoints=(first, added)))
        client = connect(server, "ADDED")
        client.send(b"e")
        gevent.idle()
        assert not script.handled
        server.enable_processing()
        assert client.receive() == b"e"
    finally:
        server.stop()


def test_a_pending_answer_survives_the_end_of_its_connection() -> None:
    script = Script()
    with serving(script) as server:
        client = connect(server)
        client.send(b"l1")
        script.wait_handled(1)
        (connection,) = server.connections()
        connection.close()
        assert client.is_closed()
        assert script.deferred[b"l1"].complete([b"nobody reads this"])
