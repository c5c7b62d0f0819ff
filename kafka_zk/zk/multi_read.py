"""MultiRead: the data or the children of many znodes, in one request and one response.

Role        Pure: paths to bytes, bytes to results, and how many znodes a request asks for.
Invariants  One result a path, in order: a znode that cannot be read has its own error, and the others are read.
            A request is small enough for every ensemble that serves brokers. How large its response is, is up to those
            who wrote the znodes: so the first request asks for few, and the next ones for as many as come to
            `RESPONSE_BYTES` if they are like the last.
            It sets no watch: ZooKeeper takes the flag, and drops it.
Source      ZooKeeper 3.6: ZooDefs.OpCode.multiRead, MultiOperationRecord, MultiResponse, ErrorResult. Older servers
            answer Unimplemented, and close the connection.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Any, TypeAlias

from kafka_zk.zk.child_names import INT, STAT, names_at
from kafka_zk.zk.operations import Stat

OPCODE = 22

FIRST_COUNT, MOST_COUNT = 16, 256
"""Znodes of the first request, and of any: with more, a znode costs no less."""
RESPONSE_BYTES = 128 * 1024
REQUEST_BYTES = 16 * 1024
"""More only for a single path."""

_OPERATION = struct.Struct(">iBi")
_END = _OPERATION.pack(-1, True, -1)
_FAILED = -1
_NO_WATCH = b"\0"
_AROUND_PATH_BYTES = _OPERATION.size + INT.size + len(_NO_WATCH)
_AROUND_DATA_BYTES = _OPERATION.size + INT.size + STAT.size


class Read(IntEnum):
    """What is read of each znode; ZooKeeper's opcodes."""

    DATA = 4
    CHILDREN = 8


Result: TypeAlias = tuple[bytes | None, Stat] | list[str] | int
"""Data and Stat, or the names of the children; an int is ZooKeeper's error code (-101: no such znode)."""


def encode(read: Read, paths: Sequence[str]) -> bytes:
    """The request. `paths` are ZooKeeper's own, with the chroot."""
    operation = _OPERATION.pack(read, False, -1)
    request = bytearray()
    for path in paths:
        name = path.encode()
        request += operation + INT.pack(len(name)) + name + _NO_WATCH
    return bytes(request + _END)


def decode(response: bytes, read: Read) -> list[Result]:
    """One result a path. Raises ValueError for bytes that are no response to such a request."""
    take = _TAKE[read]
    results: list[Result] = []
    offset = 0
    try:
        while True:
            kind, is_end, _ = _OPERATION.unpack_from(response, offset)
            offset += _OPERATION.size
            if is_end:
                break
            if kind == read:
                result, offset = take(response, offset)
            elif kind == _FAILED:
                result, offset = INT.unpack_from(response, offset)[0], offset + INT.size
            else:
                raise ValueError(f"a result of type {kind} for a read of type {read}")
            results.append(result)
    except struct.error as error:
        raise ValueError(f"the response ends early: {error}") from error
    if offset != len(response):
        raise ValueError(f"{len(response) - offset} bytes follow the response")
    return results


def _take_data(response: bytes, offset: int) -> tuple[Result, int]:
    (size_bytes,) = INT.unpack_from(response, offset)
    offset += INT.size
    data = None
    if size_bytes >= 0:
        data = response[offset : offset + size_bytes]
        offset += size_bytes
    return (data, Stat._make(STAT.unpack_from(response, offset))), offset + STAT.size


_TAKE: dict[Read, Callable[[bytes, int], tuple[Result, int]]] = {
    Read.DATA: _take_data,
    Read.CHILDREN: names_at,
}


def next_count(results: Sequence[Any]) -> int:
    """How many znodes like these come to `RESPONSE_BYTES`; at most `MOST_COUNT`. `results` may hold errors."""
    size_bytes = len(results) * _AROUND_DATA_BYTES
    for result in results:
        if isinstance(result, list):
            size_bytes += sum(map(len, result)) + len(result) * INT.size
        elif isinstance(result, tuple):
            size_bytes += result[1].data_length
    return max(1, min(MOST_COUNT, len(results) * RESPONSE_BYTES // size_bytes))


def portions(paths: Sequence[str], count: int, *, chroot: str) -> Iterator[Sequence[str]]:
    """The paths of one request after the other: at most `count`, and no more than `REQUEST_BYTES` take."""
    begin = size_bytes = 0
    for at, path in enumerate(paths):
        path_bytes = _AROUND_PATH_BYTES + len(chroot) + len(path.encode())
        if at > begin and (at - begin == count or size_bytes + path_bytes > REQUEST_BYTES):
            yield paths[begin:at]
            begin, size_bytes = at, 0
        size_bytes += path_bytes
    if begin < len(paths):
        yield paths[begin:]
