"""One socket: what came is read, whatever came behind it."""

from __future__ import annotations

import select
import socket

import pytest

from kafka_zk.client.network.channel import STAGING_BYTES, Channel
from kafka_zk.client.network.frames import SIZE

PATIENCE_MS = 20_000


def test_an_answer_is_taken_though_the_broker_hung_up_behind_it() -> None:
    """A large one fills its buffer to the last byte, so that the end is met by the same call."""
    size = STAGING_BYTES + 1000
    with socket.create_server(("127.0.0.1", 0)) as server:
        channel = Channel(socket.AF_INET, server.getsockname(), receive_buffer_bytes=1 << 20)
        peer, _ = server.accept()
        with peer:
            peer.sendall(SIZE.pack(size) + bytes(size))
    end = select.poll()
    end.register(channel, select.POLLRDHUP)
    assert end.poll(PATIENCE_MS)
    assert [len(frame) for frame in channel.read()] == [size]
    with pytest.raises(ConnectionResetError):
        channel.read()
    channel.close()
