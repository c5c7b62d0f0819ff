"""The broker id and cluster id: whether meta.properties, the configuration and ZooKeeper agree.

Role        Pure. The server reads and writes meta.properties, and asks ZooKeeper.
Invariants  A broker never starts on data of another cluster, of another broker (KAFKA-7335), or of KRaft.
Source      MetaPropertiesEnsemble.verify, KafkaServer.initialLoadMetaProps and getOrGenerateBrokerId.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping
from pathlib import Path

from kafka_zk.log.files.meta_properties import VERSION, MetaProperties

Found = Mapping[Path, MetaProperties | None]
"""The meta.properties files of all live log directories by their paths; None where there is none yet."""


class IdentityMismatch(Exception):
    """The data belongs to another broker or another cluster."""


def check_identity(found: Found, *, cluster_id: str, broker_id: int) -> None:
    """Raise IdentityMismatch unless every file that exists names this cluster and this broker.

    A `broker_id` below 0 is unknown yet: then the files must only agree with each other.
    """
    for path, meta in sorted(found.items()):
        if meta is None:
            continue
        if meta.version != VERSION:
            raise IdentityMismatch(
                f"Found unexpected version in {path}. ZK-based brokers that are not migrating only support version 0 "
                "(which is implicit when the `version` field is missing)."
            )
        if meta.cluster_id is not None and meta.cluster_id != cluster_id:
            raise IdentityMismatch(f"Invalid cluster.id in: {path}. Expected {cluster_id}, but read {meta.cluster_id}")
        if meta.broker_id is None:
            continue
        if broker_id < 0:
            broker_id = meta.broker_id
        elif meta.broker_id != broker_id:
            raise IdentityMismatch(
                f"Stored node id {meta.broker_id} doesn't match previous node id {broker_id} in {path}. If you moved "
                "your data, make sure your configured node id matches. If you intend to create a new node, you should "
                "remove all data in your data directories."
            )


def stored_broker_id(found: Found) -> int | None:
    """The broker id that the directories agree on; None if none has one."""
    return next((meta.broker_id for meta in found.values() if meta is not None and meta.broker_id is not None), None)


def new_cluster_id() -> str:
    """A cluster id as Kafka generates them: 16 random bytes in 22 characters, never starting like an option."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text
