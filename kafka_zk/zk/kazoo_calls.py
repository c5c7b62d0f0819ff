"""Translates requests, results and errors between our operations and kazoo's.

Role        The only module besides session.py that knows kazoo's types; sends nothing by itself.
Source      kazoo 2.11 (pinned): client, protocol.serialization, exceptions.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kazoo import exceptions as kazoo_errors
from kazoo.client import KazooClient
from kazoo.protocol import serialization
from kazoo.protocol.states import WatchedEvent, ZnodeStat
from kazoo.security import ACL, Id

from kafka_zk.giving_way import in_slices
from kafka_zk.zk import errors
from kafka_zk.zk.child_names import names_and_stat
from kafka_zk.zk.multi_read import OPCODE, Read, Result, decode, encode
from kafka_zk.zk.operations import Acl, Check, Create, Delete, Operation, SetData, Stat

WatchCallback = Callable[[WatchedEvent], None]
AclFor = Callable[[str], Sequence[Acl]]

_ERRORS: dict[type[Exception], type[errors.ZkError]] = {
    kazoo_errors.NoNodeError: errors.NoNode,
    kazoo_errors.NodeExistsError: errors.NodeExists,
    kazoo_errors.BadVersionError: errors.BadVersion,
    kazoo_errors.NotEmptyError: errors.NotEmpty,
    kazoo_errors.NoChildrenForEphemeralsError: errors.NoChildrenForEphemerals,
    kazoo_errors.NoAuthError: errors.NoAuth,
    kazoo_errors.AuthFailedError: errors.AuthFailed,
    kazoo_errors.SessionExpiredError: errors.SessionExpired,
    kazoo_errors.ConnectionClosedError: errors.ConnectionClosed,
    kazoo_errors.UnimplementedError: errors.Unimplemented,
    kazoo_errors.RolledBackError: errors.RolledBack,
    kazoo_errors.RuntimeInconsistency: errors.NotTried,
}


def always() -> bool:
    """For writes that are meant whatever has happened since."""
    return True


def _the_only(results: list[Any]) -> Any:
    return results[0]


class Request(NamedTuple):
    """One request: how to send it (the answer is a kazoo AsyncResult), and how to read the answer."""

    path: str | None
    send: Callable[[KazooClient], Any]
    read: Callable[[Any], Any]
    operations: Sequence[Operation] = ()
    """Its writes, where the znodes can tell after a lost reply whether they were applied."""
    of_results: Callable[[list[Any]], Any] = _the_only
    """From one result per operation to what `read` would give."""
    is_still_meant: Callable[[], bool] = always
    """May block. Called before a write that seems not to have been applied is sent again."""
    sets_watch: bool = False
    may_be_unknown: bool = False
    """Whether an old server refuses such a request, and closes the connection."""


def translated(error: Exception, path: str | None) -> errors.ZkError:
    """Our error for kazoo's."""
    known = _ERRORS.get(type(error))
    if known is not None:
        return known(path)
    return errors.ZkError(path, f"KeeperErrorCode = {type(error).__name__.removesuffix('Error')} for {path}: {error}")


def stat_of(stat: ZnodeStat | None) -> Stat | None:
    return None if stat is None else Stat._make(stat)


def get(path: str, watch: WatchCallback | None) -> Request:
    return Request(
        path,
        lambda kazoo: kazoo.get_async(path, watch),
        lambda answer: (answer[0], Stat._make(answer[1])),
        sets_watch=watch is not None,
    )


def exists(path: str, watch: WatchCallback | None) -> Request:
    return Request(path, lambda kazoo: kazoo.exists_async(path, watch), stat_of, sets_watch=watch is not None)


class _GetChildren(serialization.GetChildren2):  # type: ignore[misc]  # kazoo has no types
    """kazoo registers its watcher. The response stays as it came: the caller decodes it, not kazoo's greenlet."""

    @classmethod
    def deserialize(cls, response: bytes, offset: int) -> bytes:
        return response[offset:]


def children(path: str, watch: WatchCallback | None) -> Request:
    """Names and Stat."""

    def send(kazoo: KazooClient) -> Any:
        return _sent(kazoo, _GetChildren(_rooted(kazoo, path), watch))

    def read(response: bytes) -> tuple[list[str], Stat] | errors.ZkError:
        try:
            return names_and_stat(response, in_slices)
        except struct.error as error:
            return _malformed(path, str(error))

    return Request(path, send, read, sets_watch=watch is not None)


def _sent(kazoo: KazooClient, request: Any) -> Any:
    """A request of our own; its answer."""
    answer = kazoo.handler.async_result()
    kazoo._call(request, answer)
    return answer


def _malformed(path: str, why: str) -> errors.ZkError:
    return errors.ZkError(path, f"KeeperErrorCode = MarshallingError for {path}: {why}")


class _MultiRead:
    """A request object of kazoo. Its response stays as it came: the caller decodes it, not kazoo's greenlet."""

    type = OPCODE

    def __init__(self, read: Read, paths: Sequence[str]) -> None:
        self.paths = paths
        self._read = read

    def __repr__(self) -> str:
        return f"MultiRead({self._read.name}, {len(self.paths)} paths from {self.paths[0]})"

    def serialize(self) -> bytes:
        return encode(self._read, self.paths)

    def deserialize(self, response: bytes, offset: int) -> bytes:
        return response[offset:]


def read_many(read: Read, paths: Sequence[str]) -> Request:
    """The data or the children of many znodes. The answer is one result a path: a value as of a single read, or a
    ZkError; or a ZkError for all.
    """

    def send(kazoo: KazooClient) -> Any:
        return _sent(kazoo, _MultiRead(read, [_rooted(kazoo, path) for path in paths]))

    def result_of(response: bytes) -> list[Any] | errors.ZkError:
        try:
            results = decode(response, read)
            if len(results) == len(paths):
                return [_read_result(result, path) for result, path in zip(results, paths, strict=True)]
            why = f"{len(results)} results for {len(paths)} paths"
        except ValueError as error:
            why = str(error)
        return _malformed(paths[0], why)

    return Request(paths[0], send, result_of, may_be_unknown=True)


def _read_result(result: Result, path: str) -> Any:
    if not isinstance(result, int):
        return result
    known = kazoo_errors.EXCEPTIONS.get(result)
    return (
        errors.ZkError(path, f"KeeperErrorCode = {result} for {path}") if known is None else translated(known(), path)
    )


def create(operation: Create, acl: Sequence[Acl], is_still_meant: Callable[[], bool] = always) -> Request:
    return Request(
        operation.path,
        lambda kazoo: kazoo.create_async(
            operation.path, operation.data, kazoo_acl(acl), operation.ephemeral, operation.sequential
        ),
        str,
        (operation,),
        is_still_meant=is_still_meant,
    )


def set_data(operation: SetData) -> Request:
    return Request(
        operation.path,
        lambda kazoo: kazoo.set_async(operation.path, operation.data, operation.version),
        Stat._make,
        (operation,),
    )


def delete(operation: Delete) -> Request:
    return Request(
        operation.path, lambda kazoo: kazoo.delete_async(operation.path, operation.version), bool, (operation,)
    )


def sync(path: str) -> Request:
    """Have the server we read from catch up with its leader."""
    return Request(path, lambda kazoo: kazoo.sync_async(path), str)


def get_acl(path: str) -> Request:
    def read(answer: tuple[list[ACL], ZnodeStat]) -> list[Acl]:
        return [Acl(entry.perms, entry.id.scheme, entry.id.id) for entry in answer[0]]

    return Request(path, lambda kazoo: kazoo.get_acls_async(path), read)


def set_acl(path: str, acl: Sequence[Acl]) -> Request:
    return Request(path, lambda kazoo: kazoo.set_acls_async(path, kazoo_acl(acl)), Stat._make)


def multi(operations: Sequence[Operation], acl_for: AclFor, is_still_meant: Callable[[], bool] = always) -> Request:
    """All of `operations` or none. The answer is one result per operation: a value or a ZkError."""

    def send(kazoo: KazooClient) -> Any:
        transaction = kazoo.transaction()
        # kazoo's own methods refuse znodes without data, so its requests are made here.
        transaction.operations.extend(_part(kazoo, operation, acl_for) for operation in operations)
        return transaction.commit_async()

    def read(answers: Sequence[Any]) -> list[Any]:
        return [_part_result(answer, operation.path) for answer, operation in zip(answers, operations, strict=True)]

    return Request(operations[0].path, send, read, operations, list, is_still_meant)


def _rooted(kazoo: KazooClient, path: str) -> str:
    """ZooKeeper's own path."""
    return str(kazoo.chroot) if path == "/" and kazoo.chroot else f"{kazoo.chroot}{path}"


def _part(kazoo: KazooClient, operation: Operation, acl_for: AclFor) -> Any:
    path = _rooted(kazoo, operation.path)
    match operation:
        case Create(_, data, ephemeral, sequential):
            flags = int(ephemeral) | int(sequential) << 1
            return serialization.Create(path, data, kazoo_acl(acl_for(operation.path)), flags)
        case SetData(_, data, version):
            return serialization.SetData(path, data, version)
        case Delete(_, version):
            return serialization.Delete(path, version)
        case Check(_, version):
            return serialization.CheckVersion(path, version)


def _part_result(answer: Any, path: str) -> Any:
    if isinstance(answer, Exception):
        return translated(answer, path)
    return Stat._make(answer) if isinstance(answer, ZnodeStat) else answer


def kazoo_acl(acl: Sequence[Acl]) -> list[ACL]:
    return [ACL(entry.permissions, Id(entry.scheme, entry.identity)) for entry in acl]
