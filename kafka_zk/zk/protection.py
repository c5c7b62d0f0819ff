"""Who may read and write which znode while zookeeper.set.acl is true.

Role        Pure.
Source      KafkaZkClient.defaultAcls, ZkData.defaultAcls and ZkData.SensitiveRootPaths in Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_zk.zk.operations import ANYONE_ALL, ANYONE_READ, CREATOR_ALL, Acl

OPEN_PATH: Final = "/consumers"
"""Offsets of consumers of Kafka 0.8, which have no identity."""

SENSITIVE_PREFIXES: Final = ("/config/users", "/config/brokers", "/delegation_token/tokens")
"""They hold credentials: only their creator may read what begins like this."""


def open_to_everyone(path: str) -> Sequence[Acl]:
    """The access list of every znode while zookeeper.set.acl is false."""
    return (ANYONE_ALL,)


def protected(path: str) -> Sequence[Acl]:
    """The access list of the znode `path`, without the chroot, in Kafka's order."""
    if path == OPEN_PATH:
        return (ANYONE_ALL,)
    if path.startswith(SENSITIVE_PREFIXES):
        return (CREATOR_ALL,)
    return (CREATOR_ALL, ANYONE_READ)
