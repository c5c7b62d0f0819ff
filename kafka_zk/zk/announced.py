"""A change of a znode together with its notice: both are made, or neither.

Role        Acts, through the session. For what other brokers learn by sequential notices only.
Invariants  A change without a notice cannot happen: a broker that dies, or whose session ends, between the two would
            leave the others with what was before, for good where that is a right or a token that was taken away.
Differs from Kafka: it writes the notice afterwards, on its own.
Source      ZkAclChangeStore.createChangeNode, KafkaZkClient.setOrCreateDelegationToken, createTokenChangeNotification.
"""

from __future__ import annotations

from typing import Any

from kafka_zk.zk.errors import NoNode, RolledBack, ZkError
from kafka_zk.zk.operations import Create, Delete, SetData
from kafka_zk.zk.session import ZkClient


def change_announced(zk: ZkClient, change: Create | SetData | Delete, notice: Create) -> Any:
    """Blocks. The result of `change`, which is made with the sequential znode `notice`. Missing parents are created.

    Raises NoNode (of SetData and Delete), NodeExists (of Create), BadVersion, SessionExpired, TooLarge.
    """
    if isinstance(change, Delete):
        # In case the reply is lost: see ZkClient.delete.
        zk.exists(change.path)
    error, result = _tried(zk, change, notice)
    if isinstance(error, NoNode) and (error.path == notice.path or isinstance(change, Create)):
        for path in (change.path, notice.path):
            zk.ensure_path(path.rpartition("/")[0])
        error, result = _tried(zk, change, notice)
    if error is not None:
        raise error
    return result


def _tried(zk: ZkClient, change: Create | SetData | Delete, notice: Create) -> tuple[ZkError | None, Any]:
    changed, told = zk.multi([change, notice])
    if not isinstance(told, ZkError):
        return None, changed
    return (told if isinstance(changed, RolledBack) else changed), None
