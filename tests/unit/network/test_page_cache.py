"""Bytes of files in the page cache and out of it. The files lie on disk: on tmpfs nothing can leave the cache."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.network.page_cache import is_in_memory, read_in

SIZE = 4 << 20
READ = 1 << 20


@pytest.fixture
def evicted(tmp_path: Path) -> Iterator[int]:
    """A file of SIZE bytes, none of them in memory."""
    fileno = os.open(tmp_path / "segment", os.O_RDWR | os.O_CREAT)
    os.write(fileno, bytes(SIZE))
    os.fsync(fileno)
    # Whoever else looks at the pages just then keeps them: ask again for a while.
    deadline = time.monotonic() + 5
    os.posix_fadvise(fileno, 0, 0, os.POSIX_FADV_DONTNEED)
    while is_in_memory(fileno, 0, SIZE):
        if time.monotonic() > deadline:
            pytest.skip("this file system keeps everything in memory")
        os.posix_fadvise(fileno, 0, 0, os.POSIX_FADV_DONTNEED)
    yield fileno
    os.close(fileno)


def test_bytes_just_written_are_in_memory(tmp_path: Path) -> None:
    with (tmp_path / "segment").open("wb+") as file:
        file.write(bytes(SIZE))
        file.flush()
        assert is_in_memory(file.fileno(), 0, SIZE)


def test_bytes_are_in_memory_once_they_were_read_in(evicted: int) -> None:
    assert read_in(evicted, 0, READ) is None
    assert is_in_memory(evicted, 0, READ)
    assert not is_in_memory(evicted, 0, SIZE), "the last byte is still on disk only"
    assert not is_in_memory(evicted, SIZE - READ, 1)


def test_reading_in_ends_with_the_file(evicted: int) -> None:
    assert read_in(evicted, SIZE - 10, READ) is None
    assert is_in_memory(evicted, SIZE - 10, 10)


def test_a_read_that_fails_is_told_and_not_raised() -> None:
    assert isinstance(read_in(-1, 0, READ), OSError)
