"""ZooKeeper's request size limit (jute.maxbuffer), and the size of our requests.

Role        Pure. A larger request makes the server close the connection without an error, whatever else is in flight.
Source      NIOServerCnxn.readLength, BinaryInputArchive.maxBuffer: jute.maxbuffer, 0xfffff if it is not set. The
            layout of requests: org.apache.zookeeper.proto, MultiOperationRecord.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kafka_zk.zk.operations import Create, Delete, Operation, SetData

DEFAULT_MAX_REQUEST_BYTES = 0xFFFFF

HEADER_BYTES = 8
MULTI_HEADER_BYTES = 9
INT_BYTES = 4
ACL_BYTES = 128
"""More than the access list of any znode of ours takes."""

FENCE_BYTES = 256
"""More than is sent beside a znode's data to write it under a fence: headers, the check, what the path adds."""


def max_request_bytes(environment: Mapping[str, str]) -> int:
    """The ensemble's request limit, from -Djute.maxbuffer=BYTES (or 0x...) in KAFKA_OPTS, as for Apache's programs."""
    found = re.findall(r"-Djute\.maxbuffer=(0[xX][0-9a-fA-F]+|\d+)(?:\s|$)", environment.get("KAFKA_OPTS", ""))
    return int(found[-1], 0) if found else DEFAULT_MAX_REQUEST_BYTES


def request_bytes(operations: Sequence[Operation], *, chroot: str = "") -> int:
    """An upper bound of the bytes sent to the server."""
    total = HEADER_BYTES + MULTI_HEADER_BYTES
    for operation in operations:
        total += MULTI_HEADER_BYTES + INT_BYTES + len(chroot) + len(operation.path.encode()) + INT_BYTES
        if isinstance(operation, Create | SetData):
            total += INT_BYTES + len(operation.data or b"")
        if isinstance(operation, Create):
            total += ACL_BYTES
    return total


def largest(operations: Sequence[Operation]) -> Operation | None:
    """The operation with the most data."""
    carrying = [operation for operation in operations if not isinstance(operation, Delete)]
    return max(carrying, key=lambda operation: len(getattr(operation, "data", None) or b""), default=None)


def room_for_data(path: str, *, max_bytes: int) -> int:
    """How many bytes of data the znode `path` may hold."""
    return max_bytes - FENCE_BYTES - 2 * len(path.encode())
