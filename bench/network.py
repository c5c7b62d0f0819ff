"""What the package network alone costs: requests a second and broker CPU a request, with a handler that does nothing.

The server runs in a process of its own; raw clients send pre-encoded Heartbeat-sized frames and count bytes. Usage:
    python -m bench.network [--seconds 3] [--connections 8] [--in-flight 5] [--size 200]
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import socket
import struct
import time
from multiprocessing.connection import Connection as Pipe
from selectors import EVENT_READ, DefaultSelector

from bench.process import run_bench

ANSWER_BYTES = 50


def serve(pipe: Pipe) -> None:
    """The broker's side; tells its port, and its CPU seconds whenever asked."""
    import gevent
    from gevent import get_hub

    from kafka_zk.config.endpoints import EndPoint
    from kafka_zk.network.connection import Connection
    from kafka_zk.network.parts import Parts
    from kafka_zk.network.server import SocketServer
    from kafka_zk.network.settings import SocketServerSettings

    class Trivial:
        answer: Parts = [struct.pack(">ii", ANSWER_BYTES + 4, 0), bytes(ANSWER_BYTES)]

        def handle(self, frame: memoryview, connection: Connection) -> Parts:
            return list(self.answer)

    endpoint = EndPoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 0)
    server = SocketServer(SocketServerSettings(endpoints=(endpoint,)), Trivial())
    server.start()
    server.enable_processing()
    pipe.send(server.bound_port("PLAINTEXT"))
    watcher = get_hub().loop.io(pipe.fileno(), 1)
    while True:
        gevent.get_hub().wait(watcher)
        if pipe.recv() == "stop":
            server.stop()
            return
        usage = resource.getrusage(resource.RUSAGE_SELF)
        pipe.send((usage.ru_utime + usage.ru_stime, usage.ru_maxrss))


def load(port: int, *, connections: int, in_flight: int, size: int, seconds: float) -> int:
    """Requests answered in `seconds`; every connection keeps `in_flight` requests on their way."""
    frame = struct.pack(">i", size) + bytes(size)
    answer_bytes = ANSWER_BYTES + 8
    selector = DefaultSelector()
    for _ in range(connections):
        sock = socket.create_connection(("127.0.0.1", port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(frame * in_flight)
        selector.register(sock, EVENT_READ, (sock, [0]))
    answered, deadline = 0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        for key, _ in selector.select():
            sock, rest = key.data
            count, rest[0] = divmod(rest[0] + len(sock.recv(1 << 16)), answer_bytes)
            answered += count
            if count:
                sock.sendall(frame * count)
    for key in list(selector.get_map().values()):
        key.data[0].close()
    return answered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--in-flight", type=int, default=5)
    parser.add_argument("--size", type=int, default=200)
    options = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,))
    server.start()
    shape = {"connections": options.connections, "in_flight": options.in_flight, "size": options.size}
    try:
        port = ours.recv()
        load(port, **shape, seconds=0.5)
        ours.send("usage")
        cpu_before, _ = ours.recv()
        started = time.monotonic()
        answered = load(port, **shape, seconds=options.seconds)
        took = time.monotonic() - started
        ours.send("usage")
        cpu, resident_kib = ours.recv()
        print(
            f"{options.connections} connections, {options.in_flight} in flight, {options.size} B: "
            f"{answered / took:,.0f} req/s, {(cpu - cpu_before) / answered * 1e6:.1f} us broker CPU a request, "
            f"{resident_kib / 1024:.0f} MB resident"
        )
        ours.send("stop")
    finally:
        server.join(timeout=5)
        if server.is_alive():
            server.kill()


if __name__ == "__main__":
    run_bench(main)
