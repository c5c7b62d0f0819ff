"""Errors of ZooKeeper operations.

Role        Pure. The only exceptions that leave the package zk. A connection loss is none of them: the operation is
            retried until there is a connection.
Invariants  A client of the broker sees UNKNOWN_SERVER_ERROR for them, as Apache answers an unhandled KeeperException;
            `ControllerMoved` is the exception that Apache has a code for.
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
    """The znode's ACL does not allow this client the operation."""

    keeper_code = "NoAuth"


class AuthFailed(ZkError):
    """ZooKeeper did not accept this client's credentials."""

    keeper_code = "AuthFailed"


class SessionExpired(ZkError):
    """The session, or the generation the write was meant for, is over."""

    keeper_code = "Session expired"


class Unimplemented(ZkError):
    """The server does not know this kind of request."""

    keeper_code = "Unimplemented"


class RolledBack(ZkError):
    """An operation of a multi before the one that failed: it would have succeeded."""

    keeper_code = "RolledBack"


class NotTried(ZkError):
    """An operation of a multi after the one that failed: it might have succeeded or not."""

    keeper_code = "RuntimeInconsistency"


class TooLarge(ZkError):
    """A write that is too large for ZooKeeper, which would close the connection. Nothing was sent."""

    code = ErrorCode.INVALID_REQUEST
    keeper_code = "BadArguments"


class GivenUp(ZkError):
    """A request that was lost with several connections, alone with the last one: a large write, or a MultiRead."""

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
    """A write fenced by the epoch of a broker that is not (or no longer) the controller.

    Source: ControllerMovedException, code STALE_CONTROLLER_EPOCH.
    """


class MalformedZNode(ZkError):
    """A znode holds data of a wrong format."""

    keeper_code = "DataInconsistency"


class EndPointsTaken(ZkError):
    """Another broker advertises an address of this one."""
