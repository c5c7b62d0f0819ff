"""The bytes of responses that kazoo does not decode for us, as Apache's server makes them."""

from __future__ import annotations

import struct
from collections.abc import Callable

from tests.simulation.model_zookeeper import Node

NO_NODE, NO_AUTH = -101, -102
DATA = 4

Find = Callable[[str], Node | int]
"""The znode, or the error code for who asks."""


def answer_to_multi_read(request: bytes, find: Find) -> bytes:
    response, offset = b"", 0
    while True:
        kind, is_end, _ = struct.unpack_from(">iBi", request, offset)
        offset += 9
        if is_end:
            return response + struct.pack(">iBi", -1, 1, -1)
        (size,) = struct.unpack_from(">i", request, offset)
        path = request[offset + 4 : offset + 4 + size].decode()
        offset += 4 + size + 1
        node = find(path)
        if isinstance(node, int):
            response += struct.pack(">iBii", -1, 0, node, node)
        else:
            response += struct.pack(">iBi", kind, 0, 0) + (_data_and_stat(node) if kind == DATA else _children(node))


def children_and_stat(node: Node) -> bytes:
    return _children(node) + _stat(node)


def _data_and_stat(node: Node) -> bytes:
    size = -1 if node.data is None else len(node.data)
    return struct.pack(">i", size) + (node.data or b"") + _stat(node)


def _children(node: Node) -> bytes:
    names = [name.encode() for name in sorted(node.children)]
    return struct.pack(">i", len(names)) + b"".join(struct.pack(">i", len(name)) + name for name in names)


def _stat(node: Node) -> bytes:
    return struct.pack(">qqqqiiiqiiq", *node.stat())
