"""Which broker coordinates a group or a transactional id, over all versions of FindCoordinator.

Role        Pure.
Source      FindCoordinatorRequest and its builder, AbstractCoordinator (the connection of its own).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from kafka_zk.client.addresses import Address
from kafka_zk.client.network.cluster_snapshot import Node
from kafka_zk.protocol.errors import ErrorCode, UnsupportedVersion
from kafka_zk.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

COORDINATOR_ID_BASE: Final = 2**31 - 1
"""As in Java: coordinator connections have ids counted down from the largest int."""


class CoordinatorType(IntEnum):
    """What a coordinator coordinates, by its number on the wire."""

    GROUP = 0
    TRANSACTION = 1


def find_coordinator(kind: CoordinatorType, key: str, version: int) -> FindCoordinatorRequest:
    """Raises UnsupportedVersion for a broker that has groups only."""
    if version >= 4:
        return FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
    if version < 1 and kind is CoordinatorType.TRANSACTION:
        raise UnsupportedVersion("Cannot create a v0 FindCoordinator request because we require features supported "
                                 "only in 2 or later.")  # fmt: skip
    return FindCoordinatorRequest(key=key, key_type=kind)


def found_coordinator(answer: FindCoordinatorResponse) -> tuple[int, str | None, Node | None]:
    """Error code, its message, and the broker where there is one."""
    found = answer.coordinators[0] if answer.coordinators else answer
    if found.error_code != ErrorCode.NONE:
        return found.error_code, found.error_message, None
    return found.error_code, None, Node(found.node_id, Address(found.host, found.port))


def own_connection_of(node: Node) -> Node:
    """The broker under another id, so that requests to it as a coordinator do not wait behind others."""
    return Node(COORDINATOR_ID_BASE - node.id, node.address)
