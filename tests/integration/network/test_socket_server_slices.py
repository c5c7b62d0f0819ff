"""File slices and slow readers: bytes from the page cache, whole or not at all."""

from __future__ import annotations

import os
import random
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gevent
import pytest
from gevent.threadpool import ThreadPool

from kafka_zk.config.endpoints import EndPoint
from kafka_zk.network.connection import REQUESTS_PER_TURN
from kafka_zk.network.page_cache import is_in_memory
from kafka_zk.network.parking import Parking
from kafka_zk.network.server import READ_POOL_THREADS, SocketServer
from kafka_zk.network.settings import SocketServerSettings
from kafka_zk.network.transport import CHUNK_BYTES, COPIED_BYTES, HELD_BYTES, PlainTransport
from tests.integration.network.harness import TIMEOUT_S, Script, Slice, connect, resident_bytes, serving

FILE_BYTES = 3_000_000


@pytest.fixture
def segment(tmp_path: Path) -> Iterator[tuple[int, bytes]]:
    """An open file and what is in it."""
    content = random.Random(3).randbytes(FILE_BYTES)
    path = tmp_path / "segment"
    path.write_bytes(content)
    fileno = os.open(path, os.O_RDWR)
    yield fileno, content
    os.close(fileno)


def size(size_bytes: int) -> bytes:
    return struct.pack(">i", size_bytes)


@pytest.mark.parametrize("is_cold", [False, True])
def test_slices_and_bytes_arrive_in_their_order(segment: tuple[int, bytes], is_cold: bool) -> None:
    fileno, content = segment
    slices = [Slice(fileno, 100, 5000, is_cold=is_cold), Slice(fileno, 1_000_000, CHUNK_BYTES + 7, is_cold=is_cold)]
    wanted = b"head" + content[100:5100] + b"middle" + content[1_000_000 : 1_000_000 + CHUNK_BYTES + 7] + b"tail"
    script = Script()
    script.answers.append([size(len(wanted)), b"head", slices[0], b"middle", slices[1], b"tail"])
    with serving(script) as server:
        client = connect(server)
        client.send(b"s", b"e-after")
        assert client.receive() == wanted
        assert client.receive() == b"e-after"
        assert [part.release_count for part in slices] == [1, 1]


def test_what_is_sent_beside_a_slow_reader_is_counted_as_well(segment: tuple[int, bytes]) -> None:
    fileno, content = segment
    script = Script()
    script.answers.append([size(FILE_BYTES), Slice(fileno, 0, FILE_BYTES)])
    with serving(script, send_buffer_bytes=4096) as server:
        slow, quick = connect(server, receive_buffer_bytes=4096), connect(server)
        slow.send(b"s")
        assert slow.receive_exactly(4 + 10_000)[4:] == content[:10_000]
        assert quick.ask(b"e1234567") == b"e1234567"
        assert slow.receive_exactly(FILE_BYTES - 10_000) == content[10_000:]
        slow.send(b"e")
        assert slow.receive() == b"e"
        (listener,) = server._listeners.values()
        assert listener.outgoing_bytes == 4 + FILE_BYTES + 12 + 5


def test_bytes_that_left_the_page_cache_arrive_as_well(segment: tuple[int, bytes]) -> None:
    fileno, content = segment
    piece = Slice(fileno, 0, FILE_BYTES)
    script = Script()
    script.answers.append([size(FILE_BYTES), piece])
    with serving(script) as server:
        client = connect(server)
        os.fsync(fileno)
        os.posix_fadvise(fileno, 0, 0, os.POSIX_FADV_DONTNEED)
        client.send(b"s")
        assert client.receive() == content


class CountingPool(ThreadPool):
    """Counts what goes through it."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.count = 0

    def apply(self, *how: Any, **more: Any) -> Any:
        self.count += 1
        return super().apply(*how, **more)


@pytest.mark.parametrize("size_bytes", [COPIED_BYTES, COPIED_BYTES + 1, FILE_BYTES])
def test_history_costs_a_thread_only_where_it_is_on_disk(segment: tuple[int, bytes], size_bytes: int) -> None:
    fileno, content = segment
    script = Script()
    script.answers += [[size(size_bytes), Slice(fileno, 0, size_bytes, is_cold=True)] for _ in range(3)]
    pool = CountingPool(1)
    endpoint = EndPoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 0)
    server = SocketServer(SocketServerSettings(endpoints=(endpoint,)), script, read_pool=pool)
    server.start()
    try:
        server.enable_processing()
        client = connect(server)
        assert client.ask(b"s") == content[:size_bytes]
        assert pool.count == 0, "all of it was in memory"
        os.fsync(fileno)
        os.posix_fadvise(fileno, 0, 0, os.POSIX_FADV_DONTNEED)
        # A small read that must not wait may start one of the kernel's own, and find it done.
        on_disk = size_bytes > COPIED_BYTES and not is_in_memory(fileno, 0, size_bytes)
        assert client.ask(b"s") == content[:size_bytes]
        assert pool.count >= 1 or not on_disk
        before = pool.count
        assert client.ask(b"s") == content[:size_bytes]
        assert pool.count == before, "it is in memory again"
    finally:
        server.stop()
        pool.kill()


def test_small_slices_and_large_ones_arrive_in_their_order(segment: tuple[int, bytes]) -> None:
    fileno, content = segment
    sizes = [COPIED_BYTES] * (2 * HELD_BYTES // COPIED_BYTES + 1) + [COPIED_BYTES + 1, 1, 500_000, 2, COPIED_BYTES]
    pieces = [Slice(fileno, 1000 * index, size_bytes) for index, size_bytes in enumerate(sizes)]
    wanted = b"".join(content[piece.position : piece.position + piece.size_bytes] + b"|" for piece in pieces)
    script = Script()
    script.answers.append([size(len(wanted)), *(part for piece in pieces for part in (piece, b"|"))])
    with serving(script) as server:
        client = connect(server)
        client.send(b"s", b"e-after")
        assert client.receive() == wanted
        assert client.receive() == b"e-after"
        assert {piece.release_count for piece in pieces} == {1}


@pytest.mark.parametrize("size_bytes", [COPIED_BYTES + 1, CHUNK_BYTES * 4])
def test_a_file_shorter_than_promised_ends_the_connection(segment: tuple[int, bytes], size_bytes: int) -> None:
    fileno, _ = segment
    os.ftruncate(fileno, 10_000)
    piece = Slice(fileno, 5_000, size_bytes)
    script = Script()
    script.answers.append([size(size_bytes), piece])
    with serving(script) as server:
        client = connect(server)
        client.send(b"s")
        assert len(client.receive_exactly(4 + 5_000)) == 5_004
        assert client.is_closed()
        assert piece.release_count == 1


def test_a_small_slice_that_cannot_be_read_whole_is_not_sent(segment: tuple[int, bytes]) -> None:
    fileno, _ = segment
    os.ftruncate(fileno, 10_000)
    piece = Slice(fileno, 8_000, 5_000)
    script = Script()
    script.answers.append([size(5_000), piece])
    with serving(script) as server:
        client = connect(server)
        client.send(b"e-before", b"s")
        assert client.receive() == b"e-before"
        assert client.receive_exactly(4) == size(5_000)
        assert client.is_closed()
        assert piece.release_count == 1


@pytest.mark.parametrize("size_bytes", [5_000, 50_000])
def test_a_slice_of_a_truncated_log_is_not_sent(segment: tuple[int, bytes], size_bytes: int) -> None:
    piece = Slice(segment[0], 0, size_bytes)
    piece.is_intact = False
    script = Script()
    script.answers.append([size(size_bytes), piece])
    with serving(script) as server:
        client = connect(server)
        client.send(b"s")
        assert client.receive_exactly(4) == size(size_bytes)
        assert client.is_closed()
        assert piece.release_count == 1


def test_a_truncation_between_two_chunks_ends_the_connection(segment: tuple[int, bytes]) -> None:
    fileno, content = segment
    piece = Slice(fileno, 0, FILE_BYTES)
    script = Script()
    script.answers.append([size(FILE_BYTES), piece])
    with serving(script, send_buffer_bytes=4096) as server:
        client = connect(server, receive_buffer_bytes=4096)
        client.send(b"s")
        assert client.receive_exactly(4 + 10_000)[4:] == content[:10_000]
        piece.is_intact = False
        received = 10_000
        while chunk := client.socket.recv(1 << 20):
            received += len(chunk)
        assert received < FILE_BYTES
        assert piece.release_count == 1


def test_slices_are_released_when_their_client_is_gone(segment: tuple[int, bytes]) -> None:
    pieces = [Slice(segment[0], 0, FILE_BYTES) for _ in range(3)]
    script = Script()
    script.answers += [[size(FILE_BYTES), piece] for piece in pieces]
    with serving(script) as server:
        client, other = connect(server), connect(server)
        client.send(b"s", b"s", b"l-never", b"s")
        script.wait_handled(3)
        client.socket.setsockopt(1, 13, struct.pack("ii", 1, 0))  # SO_LINGER: reset instead of a polite end
        client.close()
        while server.connection_count > 1:
            assert other.ask(b"e") == b"e"
        script.deferred[b"l-never"].complete([size(1), late := Slice(segment[0], 0, 1)])
        assert [piece.release_count for piece in pieces] == [1, 1, 0]
        assert late.release_count == 1


def test_a_slow_reader_holds_up_nobody_and_no_memory(segment: tuple[int, bytes]) -> None:
    script = Script()
    pieces = [Slice(segment[0], 0, FILE_BYTES) for _ in range(200)]
    script.answers += [[size(FILE_BYTES), piece] for piece in pieces]
    with serving(script) as server:
        slow, quick = connect(server), connect(server)
        assert quick.ask(b"e") == b"e"
        before = resident_bytes()
        slow.send(*[b"s"] * 200)
        for n in range(300):
            assert quick.ask(b"e%d" % n) == b"e%d" % n
        assert resident_bytes() - before < 20_000_000
        assert script.handled.count(b"s") <= REQUESTS_PER_TURN, "who does not read its answers is not read from"
        assert slow.receive() == segment[1]


def test_slow_readers_of_what_is_on_disk_hold_no_thread(segment: tuple[int, bytes]) -> None:
    fileno, content = segment
    script = Script()
    slow_count = 3 * READ_POOL_THREADS
    script.answers += [[size(FILE_BYTES), Slice(fileno, 0, FILE_BYTES, is_cold=True)] for _ in range(slow_count + 1)]
    with serving(script) as server:
        slow = [connect(server, receive_buffer_bytes=4096) for _ in range(slow_count)]
        for client in slow:
            client.send(b"s")
            assert client.receive_exactly(4) == size(FILE_BYTES), "its answer is on its way and does not get on"
        quick = connect(server)
        assert quick.ask(b"s") == content


def test_a_client_that_never_reads_is_closed_when_idle_for_too_long(segment: tuple[int, bytes]) -> None:
    piece = Slice(segment[0], 0, FILE_BYTES)
    script = Script()
    script.answers.append([size(FILE_BYTES), piece])
    with serving(script, max_idle_ms=100, send_buffer_bytes=4096) as server:
        client = connect(server, receive_buffer_bytes=4096)
        client.send(b"s")
        with gevent.Timeout(TIMEOUT_S):
            while piece.release_count == 0:
                gevent.sleep(0.01)
        assert server.idle_closed_count == 1


def test_a_small_piece_of_history_in_memory_leaves_with_what_surrounds_it(segment: tuple[int, bytes]) -> None:
    fileno, content = segment
    sent: list[bytes] = []

    class Noted:
        """As much of a socket as the transport uses; it takes everything."""

        def send(self, data: bytes, flags: int) -> int:
            sent.append(bytes(data))
            return len(data)

    near_and_far: Any = Noted()
    no_pool: Any = None
    near, far = socket.socketpair()
    with near, far:
        parking = Parking(near.fileno())
        transport = PlainTransport(near_and_far, parking, no_pool)
        transport.send([b"head", Slice(fileno, 0, COPIED_BYTES, is_cold=True), b"tail"])
        parking.close()
    assert sent == [b"head" + content[:COPIED_BYTES] + b"tail"]
