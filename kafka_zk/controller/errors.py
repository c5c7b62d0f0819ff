"""The controller's own errors. `ControllerMoved` belongs to the package zk.

Source      StateChangeFailedException; the IllegalStateException of an interrupted request batch.
"""

from __future__ import annotations

from kafka_zk.protocol.errors import BrokerError
from kafka_zk.zk.errors import ConnectionClosed, ControllerMoved, SessionExpired


class StateChangeFailed(BrokerError):
    """A partition could not be moved; it stays where it is until the next event tries again."""


class BatchAbandoned(BrokerError):
    """State changes may stand in ZooKeeper that no broker was told: this controller has to resign."""


END_OF_TERM = (ControllerMoved, SessionExpired, ConnectionClosed, BatchAbandoned)
"""After one of these nothing of the term may act; every other failure concerns what failed, and nothing else."""
