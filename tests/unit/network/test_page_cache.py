"""Bytes of files in the page cache and out of it. The files lie on disk: on tmpfs nothing can leave the cache."""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_zk.network import cachestat, page_cache
from kafka_zk.network.page_cache import is_in_memory, read_from_memory, read_in

SIZE = 16 << 20
"""More than a kernel reads ahead of its own: 8 MiB on some disks."""
READ = 1 << 20
LOOKS = 10


def pages_in_memory(fileno: int) -> int:
    """Counted by mincore(2): unlike a look (RWF_NOWAIT) it does not make the kernel read what is missing."""
    with mmap.mmap(fileno, SIZE) as pages:
        start = ctypes.c_char.from_buffer(pages)
        found = (ctypes.c_ubyte * (SIZE // mmap.PAGESIZE))()
        failed = ctypes.CDLL(None, use_errno=True).mincore(ctypes.byref(start), ctypes.c_size_t(SIZE), found)
        del start
    assert not failed
    return sum(page & 1 for page in found)


def evict(fileno: int) -> None:
    """Leave no byte of the file in memory. Whoever else looks at the pages just then keeps them: ask for a while."""
    deadline = time.monotonic() + 5
    while True:
        os.posix_fadvise(fileno, 0, 0, os.POSIX_FADV_DONTNEED)
        if not pages_in_memory(fileno):
            return
        if time.monotonic() > deadline:
            pytest.skip("this file system keeps everything in memory")


@pytest.fixture
def evicted(tmp_path: Path) -> Iterator[int]:
    """A file of SIZE bytes, none of them in memory."""
    fileno = os.open(tmp_path / "segment", os.O_RDWR | os.O_CREAT)
    os.write(fileno, bytes(SIZE))
    os.fsync(fileno)
    evict(fileno)
    yield fileno
    os.close(fileno)


def finds_nothing(fileno: int, look: Callable[[], object]) -> bool:
    """Whether a look at evicted bytes finds none of them.

    One of a few: a look makes the kernel read, and a disk may be done with that before the look is.
    """
    for _ in range(LOOKS):
        evict(fileno)
        if not look():
            return True
    return False


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


@pytest.fixture(params=["counted", "looked at"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels with cachestat(2), and those before it."""
    if request.param == "looked at":
        monkeypatch.setattr(page_cache, "_counts_pages", False)
    elif not cachestat.is_known():
        pytest.skip("this kernel cannot count the pages of a range")


def test_history_that_was_read_in_is_in_memory(way: None, evicted: int) -> None:
    assert finds_nothing(evicted, lambda: is_in_memory(evicted, 0, READ, True))
    assert read_in(evicted, 0, READ) is None
    assert is_in_memory(evicted, 0, READ, True)
    assert is_in_memory(evicted, 1000, 1, True)


def test_a_hole_between_bytes_in_memory_is_found(evicted: int) -> None:
    if not cachestat.is_known():
        pytest.skip("without cachestat(2) there are only samples")
    assert read_in(evicted, 0, 1) is None
    assert read_in(evicted, SIZE - 1, 1) is None
    assert not is_in_memory(evicted, 0, SIZE)
    assert not is_in_memory(evicted, 0, SIZE, True)


def test_where_no_kernel_can_tell_history_is_on_disk_and_the_rest_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "_counts_pages", False)
    reader, writer = os.pipe()
    try:
        assert not is_in_memory(reader, 0, READ, True)
        assert is_in_memory(reader, 0, READ)
    finally:
        os.close(reader)
        os.close(writer)


def test_bytes_are_read_from_memory_only(evicted: int) -> None:
    room = bytearray(1000)
    assert finds_nothing(evicted, lambda: read_from_memory(evicted, 0, room))
    assert read_in(evicted, 0, READ) is None
    assert read_from_memory(evicted, 0, room)
    assert not read_from_memory(evicted, SIZE - 10, room), "the file ends before"
    assert not read_from_memory(-1, 0, room)
