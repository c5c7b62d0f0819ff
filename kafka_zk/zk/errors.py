"""Errors of ZooKeeper operations.

Role        Pure. The only exceptions that leave the zk room. A connection loss is none of them: it is retried until
            it ends.
Invariants  A client of the broker sees UNKNOWN_SERVER_ERROR for them, as Apache answers a KeeperException nobody
            handled; `ControllerMoved` is the exception Apache has a code for.
Source      org.apache.zookeeper.KeeperException; kafka.zookeeper.ZooKeeperClientException and its subclasses.
"""

from __future__ import annotations

from kafka_zk.protocol.errors import ErrorCode, StaleControllerEpoch, UnknownServerError


class ZkError(UnknownServerError):
    """A ZooKeeper operation failed. `path` is the znode it was about, None where there is none."""

    keeper_code = "SystemError"

    def __init__(self, path: str | None = None, detail: str | None = None) -> None:
        about = f" for {path}" if path else ""
        super().__init__(detail or f"KeeperErrorCode = {self.keeper_code}{about}")
        self.path = path


class NoNode(ZkError):
    """The znode does not exist."""

    keeper_code = "NoNode"


class NodeExists(ZkError):
    """The znode exists already."""

    keeper_code = "NodeExists"


class BadVersion(ZkError):
    """The znode has another version than the one given."""

    keeper_code = "BadVersion"


class NotEmpty(ZkError):
    """The znode has children."""

    keeper_code = "Directory not empty"


class NoChildrenForEphemerals(ZkError):
    """An ephemeral znode cannot have children."""

    keeper_code = "NoChildrenForEphemerals"


class NoAuth(ZkError):
    """The znode's ACL does not let this client do it."""

    keeper_code = "NoAuth"


class AuthFailed(ZkError):
    """ZooKeeper did not accept this client's credentials."""

    keeper_code = "AuthFailed"


class SessionExpired(ZkError):
    """The session, or the generation the write was meant for, is over."""

    keeper_code = "Session expired"


class RolledBack(ZkError):
    """Part of a multi that came before the part that failed: it would have worked."""

    keeper_code = "RolledBack"


class NotTried(ZkError):
    """Part of a multi that came after the part that failed: nobody knows whether it would have worked."""

    keeper_code = "RuntimeInconsistency"


class TooLarge(ZkError):
    """A write that is too large for ZooKeeper, which would close the connection. Nothing was sent."""

    code = ErrorCode.INVALID_REQUEST
    keeper_code = "BadArguments"


class GivenUp(ZkError):
    """A large write that was lost with one connection after the other, at last alone on one."""

    code = ErrorCode.INVALID_REQUEST
    keeper_code = "ConnectionLoss"


class ConnectionTimeout(ZkError):
    """No connection within zookeeper.connection.timeout.ms."""

    keeper_code = "ConnectionLoss"


class InvalidConnectString(ZkError):
    """zookeeper.connect names no server, or not as host:port."""

    keeper_code = "BadArguments"


class ConnectionClosed(ZkError):
    """This client has been closed."""

    keeper_code = "ConnectionLoss"


class ControllerMoved(StaleControllerEpoch):
    """A write fenced by a controller that is not (or no longer) the one of the cluster.

    Source: ControllerMovedException, code STALE_CONTROLLER_EPOCH.
    """


class MalformedZNode(ZkError):
    """A znode's data are not what the znode should hold."""

    keeper_code = "DataInconsistency"


class EndPointsTaken(ZkError):
    """Another broker advertises an address of this one."""
