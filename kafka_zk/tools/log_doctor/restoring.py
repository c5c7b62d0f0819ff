"""--znodes: prints the znodes that the directories imply, or writes them to an empty ZooKeeper.

Invariants  Existing znodes are replaced only with --overwrite, and each replacement is reported.
            Nothing is written while brokers are registered, since they and their controller know better.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from kafka_zk.log.doctor.checkup import CheckUp
from kafka_zk.log.doctor.findings import Severity
from kafka_zk.log.doctor.log_dir import LogDir
from kafka_zk.tools.common.connect_string import check_connect_string
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.common.zookeeper_identity import tool_identity
from kafka_zk.tools.log_doctor.options import Wanted, WrongUsage
from kafka_zk.tools.log_doctor.znodes import Implied, Replica, beyond, imply
from kafka_zk.zk.errors import AuthFailed, ConnectionTimeout, NodeExists, NoNode, ZkError
from kafka_zk.zk.registration import live_broker_ids
from kafka_zk.zk.session import ZkClient

SESSION_TIMEOUT_MS = 30_000
NOT_IN_DIRECTORIES = (
    "topic configs, broker configs, quotas, users and ACLs are not in data directories: restore them before clients "
    "come back"
)


class Outcome(Enum):
    CREATED = "created"
    SAME = "there already"
    REPLACED = "replaced"
    KEPT = "kept"


class Written(NamedTuple):
    """The outcome for one znode; `before` is its previous content."""

    path: str
    outcome: Outcome
    data: bytes
    before: bytes = b""


def restore(result: CheckUp, wanted: Wanted) -> int:
    """The exit code. Raises WrongUsage, also where ZooKeeper refuses a write; OSError."""
    brokers = _broker_ids(result.log_dirs, wanted.broker_ids)
    implied = imply(_replicas(result, brokers), _cluster_id(result.log_dirs), broker_retention=wanted.broker_retention)
    implied.warnings.append(NOT_IN_DIRECTORIES)
    errors = result.count(Severity.ERROR)
    if errors:
        implied.warnings.append(f"the directories have {errors} errors; run without --znodes to see them")
    if not wanted.apply:
        _tell(implied, None, wanted)
        return 0
    written: list[Written] = []
    try:
        for each in _write(implied, wanted):
            written.append(each)  # noqa: PERF402 (a list made at once would be lost with an error)
    except ZkError as error:
        raise WrongUsage(f"not all znodes were written: {error}") from error
    finally:
        # Also after an error or Ctrl-C: what was replaced is nowhere else.
        if written or not implied.znodes:
            _tell(implied, written, wanted)
    return 2 if any(each.outcome is Outcome.KEPT for each in written) else 0


def _broker_ids(log_dirs: Sequence[LogDir], given: Sequence[int]) -> dict[str, int]:
    """Log directory -> the broker that it belongs to. Raises WrongUsage."""
    brokers = {}
    for number, log_dir in enumerate(log_dirs):
        if given:
            broker_id: int | None = given[number] if len(given) > 1 else given[0]
        else:
            broker_id = log_dir.meta.broker_id if log_dir.meta else None
        if broker_id is None or broker_id < 0:
            raise WrongUsage(f"{log_dir.path} has no meta.properties with a broker id; pass --broker-id")
        brokers[str(log_dir.path)] = broker_id
    return brokers


def _cluster_id(log_dirs: Sequence[LogDir]) -> str | None:
    """Raises WrongUsage."""
    ids = {each.meta.cluster_id for each in log_dirs if each.meta and each.meta.cluster_id}
    if len(ids) > 1:
        raise WrongUsage(f"the directories belong to different clusters: {', '.join(sorted(ids))}")
    return next(iter(ids), None)


def _replicas(result: CheckUp, brokers: dict[str, int]) -> Iterator[Replica]:
    for report in result.reports:
        if not report.task.is_copy:
            yield Replica(brokers[str(report.task.directory.parent)], report)


def _write(implied: Implied, wanted: Wanted) -> Iterator[Written]:
    """Raises WrongUsage."""
    try:
        check_connect_string(wanted.zookeeper)
    except JavaError as error:
        raise WrongUsage(f"--zookeeper {wanted.zookeeper}: {error}") from error
    identity = tool_identity(None)
    zk = ZkClient(
        wanted.zookeeper, session_timeout_ms=SESSION_TIMEOUT_MS, identity=identity, protects=identity.is_somebody
    )
    try:
        zk.start()
        _refuse_living_cluster(zk)
        paths = [path for path, _ in implied.znodes]
        for (path, data), found in zip(implied.znodes, zk.get_many(paths), strict=True):
            yield _put(zk, path, data, found, overwrite=wanted.overwrite)
    except (ConnectionTimeout, AuthFailed) as error:
        raise WrongUsage(f"cannot connect to ZooKeeper at {wanted.zookeeper}: {error}") from error
    finally:
        zk.close()


def _refuse_living_cluster(zk: ZkClient) -> None:
    try:
        living = live_broker_ids(zk)
    except NoNode:
        return
    if living:
        raise WrongUsage(
            f"brokers {', '.join(map(str, living))} are still registered in this ZooKeeper; stop them first"
        )


def _put(zk: ZkClient, path: str, data: bytes, found: object, *, overwrite: bool) -> Written:
    if isinstance(found, NoNode):
        try:
            zk.create(path, data, make_parents=True)
        except NodeExists:
            found = zk.get(path)
        else:
            return Written(path, Outcome.CREATED, data)
    if isinstance(found, ZkError):
        raise WrongUsage(f"{path} cannot be read: {found}") from found
    assert isinstance(found, tuple)
    before: bytes = found[0] or b""
    if _says_the_same(before, data):
        return Written(path, Outcome.SAME, data, before)
    data = beyond(data, before)
    if data == before:
        return Written(path, Outcome.SAME, data, before)
    if before and not overwrite:
        return Written(path, Outcome.KEPT, data, before)
    # A znode without data was made as a parent, or by a broker that had nothing to write.
    zk.set(path, data)
    return Written(path, Outcome.REPLACED if before else Outcome.CREATED, data, before)


def _says_the_same(before: bytes, data: bytes) -> bool:
    try:
        return bool(json.loads(before) == json.loads(data))
    except ValueError:
        return False


def _tell(implied: Implied, written: Sequence[Written] | None, wanted: Wanted) -> None:
    if wanted.as_json:
        print(json.dumps(_document(implied, written), indent=1))
        return
    if written is None:
        for path, data in implied.znodes:
            print(path, data.decode())
    for each in written or ():
        print(f"{each.outcome.value}: {each.path} {each.data.decode()}")
        if each.outcome is Outcome.KEPT:
            print(f"  it contains {each.before.decode(errors='replace')}; use --overwrite to replace it")
        elif each.outcome is Outcome.REPLACED:
            print(f"  it contained {each.before.decode(errors='replace')}")
    for warning in implied.warnings:
        print(f"warning: {warning}", file=sys.stderr)


def _document(implied: Implied, written: Sequence[Written] | None) -> dict[str, object]:
    if written is None:
        znodes: list[dict[str, object]] = [{"path": path, "data": json.loads(data)} for path, data in implied.znodes]
    else:
        znodes = [
            {
                "path": each.path,
                "data": json.loads(each.data),
                "outcome": each.outcome.value,
                "before": each.before.decode(errors="replace"),
            }
            for each in written
        ]
    return {"znodes": znodes, "warnings": implied.warnings}
