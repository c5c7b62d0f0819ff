"""File slices and slow readers under TLS: the same bytes in few packets, and what waits belongs to one client alone."""

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

from kafka_zk.network.connection import Connection
from kafka_zk.network.listener_tls import ListenerTls
from kafka_zk.network.parts import Parts
from kafka_zk.network.tls_stream import CHUNK_BYTES, RECORD_BYTES, Step, TlsStream
from kafka_zk.network.transport import COPIED_BYTES
from kafka_zk.tls.contexts import client_context
from tests.integration.network.harness import TIMEOUT_S, Script, Slice
from tests.integration.network.test_socket_server_tls import OWN, TlsClient, serving

FILE_BYTES = 3_000_000
DATA_SEGMENTS_OUT = 156
"""Where tcpi_data_segs_out is in the kernel's struct tcp_info."""


@pytest.fixture
def segment(tmp_path: Path) -> Iterator[tuple[int, bytes]]:
    """An open file and what is in it."""
    content = random.Random(5).randbytes(FILE_BYTES)
    path = tmp_path / "segment"
    path.write_bytes(content)
    fileno = os.open(path, os.O_RDWR)
    yield fileno, content
    os.close(fileno)


def size(size_bytes: int) -> bytes:
    return struct.pack(">i", size_bytes)


@pytest.mark.parametrize("is_cold", [False, True])
def test_slices_and_bytes_of_every_size_arrive_in_their_order(segment: tuple[int, bytes], is_cold: bool) -> None:
    fileno, content = segment
    sizes = [COPIED_BYTES] * 4 + [COPIED_BYTES + 1, 1, CHUNK_BYTES, 500_000, 2, CHUNK_BYTES + 1, RECORD_BYTES]
    pieces = [Slice(fileno, 1000 * index, size_bytes, is_cold=is_cold) for index, size_bytes in enumerate(sizes)]
    between = [content[:length] for length in (0, 1, RECORD_BYTES + 1, CHUNK_BYTES, CHUNK_BYTES + 1, 400_000)]
    between += [b"|"] * (len(sizes) - len(between))
    wanted = b"".join(
        content[piece.position : piece.position + piece.size_bytes] + after
        for piece, after in zip(pieces, between, strict=True)
    )
    script = Script()
    script.answers.append([size(len(wanted)), *(part for pair in zip(pieces, between, strict=True) for part in pair)])
    with serving(script) as server:
        client = TlsClient(server)
        client.send(b"s", b"e-after")
        assert client.receive() == wanted
        assert client.receive() == b"e-after"
        assert {piece.release_count for piece in pieces} == {1}


@pytest.mark.parametrize("size_bytes", [COPIED_BYTES, FILE_BYTES], ids=["gathered", "by chunks"])
def test_what_a_slow_reader_waits_for_is_not_touched_by_others(segment: tuple[int, bytes], size_bytes: int) -> None:
    fileno, content = segment
    script = Script()
    script.answers += [[size(size_bytes), Slice(fileno, 0, size_bytes)] for _ in range(3)]
    with serving(script, send_buffer_bytes=4096) as server:
        slow, quick = TlsClient(server, receive_buffer_bytes=4096), TlsClient(server)
        slow.send(b"s", b"s", b"s")
        script.wait_handled(3)
        other = b"e" + bytes(COPIED_BYTES)
        assert quick.ask(other) == other
        for _ in range(3):
            assert slow.receive() == content[:size_bytes]


def test_what_comes_before_a_slice_that_is_gone_arrives(segment: tuple[int, bytes]) -> None:
    piece = Slice(segment[0], 0, 5_000)
    piece.is_intact = False
    script = Script()
    script.answers.append([size(5_000), piece])
    with serving(script) as server:
        client = TlsClient(server)
        client.send(b"e-before", b"s")
        assert client.receive() == b"e-before"
        assert client.receive_exactly(4) == size(5_000)
        assert client.is_closed()
        assert piece.release_count == 1


@pytest.mark.parametrize("size_bytes", [COPIED_BYTES, FILE_BYTES], ids=["gathered", "by chunks"])
def test_a_file_shorter_than_promised_ends_the_connection(segment: tuple[int, bytes], size_bytes: int) -> None:
    os.ftruncate(segment[0], 10_000)
    piece = Slice(segment[0], 5_000, size_bytes)
    script = Script()
    script.answers.append([size(size_bytes), piece])
    with serving(script) as server:
        client = TlsClient(server)
        client.send(b"s")
        assert client.receive_exactly(4) == size(size_bytes)
        assert client.is_closed()
        assert piece.release_count == 1


class Counting:
    """The handler: each request gets the next answer. Notes how many packets of data its client has been sent."""

    def __init__(self, answers: list[Parts]) -> None:
        self._answers = answers
        self.packet_counts: list[int] = []

    def handle(self, frame: memoryview, connection: Connection) -> Parts:
        info = connection._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        self.packet_counts += struct.unpack_from("I", info, DATA_SEGMENTS_OUT)
        return self._answers.pop(0)


def test_the_records_of_an_answer_leave_together(segment: tuple[int, bytes]) -> None:
    """Five records; loopback takes packets of 64 KiB."""
    fileno, content = segment
    handler: Any = Counting([[size(COPIED_BYTES), Slice(fileno, 0, COPIED_BYTES)] for _ in range(4)])
    with serving(handler) as server:
        client = TlsClient(server)
        for _ in range(4):
            assert client.ask(b"s") == content[:COPIED_BYTES]
    first, *others = handler.packet_counts
    assert others[-1] - others[-2] <= 3, (first, others)


def test_what_waits_for_more_leaves_with_it() -> None:
    """A head and what follows; and a peer that waits for the last bytes gets them at once."""
    listening = socket.create_server(("127.0.0.1", 0))
    theirs = socket.create_connection(listening.getsockname())
    ours, _ = listening.accept()
    listening.close()
    for sock in (ours, theirs):
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sender, receiver = (
        TlsStream(ours, ListenerTls(OWN, None).context),
        TlsStream(theirs, client_context(OWN), "localhost"),
    )
    while {sender.step(), receiver.step()} != {Step.DONE}:
        pass
    room = memoryview(bytearray(RECORD_BYTES * 2))
    sender.send(b"head", more_follows=True)
    with pytest.raises(BlockingIOError):
        receiver.recv_into(room)
    sender.send(b"tail")
    assert not sender.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CORK)
    with gevent.Timeout(TIMEOUT_S):
        gevent.socket.wait_read(receiver.sock.fileno())
    assert receiver.recv_into(room) == len(b"head" + b"tail")
    sender.sock.close()
    receiver.sock.close()
