"""FrameReader: every way a stream can be cut gives the same frames, and memory follows what was really sent."""

from __future__ import annotations

import random
import struct

import pytest

from kafka_zk.network.errors import InvalidFrame
from kafka_zk.network.frames import GROWTH, MIN_LARGE_BYTES, BufferPool, FrameReader

BUFFER = 64


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


def reader(*, max_frame_bytes: int = 10_000, pool: BufferPool | None = None) -> FrameReader:
    return FrameReader(pool or BufferPool(BUFFER), max_frame_bytes)


def feed(to: FrameReader, stream: bytes, pieces: list[int], *, rest_between: bool) -> list[bytes]:
    """Receive `stream` in pieces as a socket would give them; returns the frames, copied when they come."""
    frames, position = [], 0
    for piece in pieces:
        left = piece
        while left:
            room = to.room()
            count = min(left, len(room))
            room[:count] = stream[position : position + count]
            to.received(count)
            position += count
            left -= count
            while (frame := to.next_frame()) is not None:
                frames.append(bytes(frame))
        if rest_between:
            to.rest()
    return frames


@pytest.mark.parametrize("rest_between", [False, True])
def test_any_cut_of_the_stream_gives_the_same_frames(rest_between: bool, chance: random.Random) -> None:
    for _ in range(300):
        bodies = [chance.randbytes(chance.choice((0, 1, 7, 59, 60, 61, 64, 200, 5000))) for _ in range(6)]
        stream = framed(*bodies)
        pieces, left = [], len(stream)
        while left:
            pieces.append(min(left, chance.choice((1, 2, 3, 4, 5, 63, 64, 65, 1000))))
            left -= pieces[-1]
        assert feed(reader(), stream, pieces, rest_between=rest_between) == bodies


def test_byte_by_byte_is_the_same_as_whole() -> None:
    bodies = [b"", b"a", b"b" * 60, b"c" * 61, b"d" * 500]
    stream = framed(*bodies)
    assert feed(reader(), stream, [1] * len(stream), rest_between=True) == bodies
    assert feed(reader(), stream, [len(stream)], rest_between=False) == bodies


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (-1, "Invalid receive (size = -1)"),
        (-(2**31), "Invalid receive (size = -2147483648)"),
        (101, "Invalid receive (size = 101 larger than 100)"),
        (0x47455420, "Invalid receive (size = 1195725856 larger than 100)"),  # "GET "
    ],
)
def test_an_illegal_size_is_refused_in_kafkas_words(size: int, message: str) -> None:
    with pytest.raises(InvalidFrame) as refused:
        feed(reader(max_frame_bytes=100), struct.pack(">i", size) + b"rest", [8], rest_between=False)
    assert str(refused.value) == message


def test_an_illegal_size_behind_a_good_frame_does_not_spoil_it() -> None:
    to = reader(max_frame_bytes=100)
    room = to.room()
    stream = framed(b"good") + struct.pack(">i", -5)
    room[: len(stream)] = stream
    to.received(len(stream))
    assert bytes(to.next_frame() or b"") == b"good"
    assert to.has_frame
    with pytest.raises(InvalidFrame):
        to.next_frame()


def test_a_reader_at_rest_holds_no_buffer() -> None:
    pool = BufferPool(BUFFER)
    to = reader(pool=pool)
    feed(to, framed(b"whole"), [9], rest_between=True)
    assert to.held_bytes == 0
    assert pool.free_count == 1


def test_half_a_frame_at_rest_costs_its_own_size_only() -> None:
    to = reader()
    feed(to, framed(b"x" * 40), [10], rest_between=True)
    assert to.held_bytes == 10
    assert feed(to, framed(b"x" * 40)[10:], [34], rest_between=True) == [b"x" * 40]


def test_whole_frames_laid_aside_come_back_with_resume() -> None:
    to = reader()
    stream = framed(b"one", b"two")
    to.room()[: len(stream)] = stream
    to.received(len(stream))
    assert bytes(to.next_frame() or b"") == b"one"
    to.rest()
    to.resume()
    assert to.has_frame
    assert bytes(to.next_frame() or b"") == b"two"


def test_an_announced_size_alone_reserves_nothing() -> None:
    to = reader(max_frame_bytes=100_000_000, pool=BufferPool(BUFFER))
    feed(to, struct.pack(">i", 90_000_000) + b"only this", [13], rest_between=True)
    assert to.held_bytes <= MIN_LARGE_BYTES


def test_memory_of_a_large_frame_follows_what_has_arrived() -> None:
    to = reader(max_frame_bytes=100_000_000)
    sent = struct.pack(">i", 50_000_000) + b"y" * 100_000
    feed(to, sent, [len(sent)], rest_between=True)
    assert 100_000 <= to.held_bytes <= 100_000 * GROWTH


def test_a_large_frame_has_memory_of_its_own() -> None:
    to = reader()
    body = bytes(range(256)) * 4
    stream = framed(body, b"next")
    received: list[memoryview] = []
    position = 0
    while position < len(stream):
        room = to.room()
        count = min(len(room), len(stream) - position)
        room[:count] = stream[position : position + count]
        to.received(count)
        position += count
        while (frame := to.next_frame()) is not None:
            received.append(frame)
    assert bytes(received[0]) == body, "the next frame was received over it"


def test_large_frames_take_turns_in_one_buffer() -> None:
    pool = BufferPool(BUFFER, large_bytes=1_000)
    to = reader(pool=pool)
    for number in range(3):
        body = bytes([number]) * 900
        assert feed(to, framed(body), [100, 150, 654], rest_between=True) == [body]
    to.rest()
    assert pool.free_large_count == 1


def test_a_large_buffer_is_kept_until_its_frame_was_handled() -> None:
    pool = BufferPool(BUFFER, large_bytes=1_000)
    to = reader(pool=pool)
    feed(to, framed(b"a" * 900)[:500], [500], rest_between=True)
    assert (to.held_bytes, pool.free_large_count) == (1_000, 0)
    assert feed(to, framed(b"a" * 900)[500:], [404], rest_between=False) == [b"a" * 900]
    assert pool.free_large_count == 0
    to.room()
    assert pool.free_large_count == 1


def test_who_leaves_in_the_middle_of_a_large_frame_gives_its_buffer_back() -> None:
    pool = BufferPool(BUFFER, large_bytes=1_000)
    to = reader(pool=pool)
    feed(to, framed(b"a" * 900)[:500], [500], rest_between=True)
    to.close()
    assert (to.held_bytes, pool.free_large_count) == (0, 1)


def test_a_frame_larger_than_the_large_buffers_has_memory_of_its_own() -> None:
    pool = BufferPool(BUFFER, large_bytes=1_000)
    to = reader(pool=pool)
    body = b"b" * 2_000
    assert feed(to, framed(body), [1_000, 1_004], rest_between=True) == [body]
    to.rest()
    assert (to.held_bytes, pool.free_large_count) == (0, 0)


def test_the_pool_keeps_a_bounded_number_of_buffers() -> None:
    pool = BufferPool(BUFFER, keep=2)
    for buffer in [pool.borrow() for _ in range(5)]:
        pool.give_back(buffer)
    assert pool.free_count == 2
    for buffer in [pool.borrow_large() for _ in range(20)]:
        pool.give_back(buffer)
    assert pool.free_large_count == 8
