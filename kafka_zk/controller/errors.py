"""The controller's own errors. `ControllerMoved` belongs to the package zk.

Source      StateChangeFailedException; the IllegalStateException of an interrupted request batch.
"""

from __future__ import annotations

from kafka_zk.protocol.errors import BrokerError
from kafka_zk.zk.errors import ConnectionClosed, ControllerMoved, SessionExpired


class StateChangeFailed(BrokerError):
    """A partition could not be moved; it stays where it is until the next event tries again."""


class BatchAbandoned(BrokerError):
    """State changes may be in ZooKeeper that no broker was sent: this controller has to resign."""


RESIGNATION_ERRORS = (ControllerMoved, SessionExpired, ConnectionClosed, BatchAbandoned)
"""The controller resigns after one of these and does nothing more. Any other error affects only what failed."""
