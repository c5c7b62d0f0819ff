"""A broker with three log directories, and moves of its one partition between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import gevent

from kafka_zk.log.files.checkpoint import read_offsets
from kafka_zk.log.files.disk import DISK, Disk
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafka_zk.protocol.types import TopicPartition

from .broker import Broker, answered, offsets_in

TP = TopicPartition("t", 0)
PATIENCE_S = 30
LITTLE = 1
"""Bytes a second: a move stops after its first batch, to all appearances for ever."""


def made_in(folder: Path, *, disk: Disk = DISK, **overrides: str) -> Broker:
    """`overrides`: configs of its topics, with _ for a dot."""
    dirs = ",".join(str(folder / name) for name in ("a", "b", "c"))
    configs = {name.replace("_", "."): value for name, value in overrides.items()}
    return Broker(folder / "a", {"log.dirs": dirs}, {"segment.bytes": "1000", **configs}, disk=disk)


def throttle(broker: Broker, bytes_per_second: int) -> None:
    broker.manager.moves._bytes_per_second = lambda: bytes_per_second


def move(broker: Broker, folder: Path | str, topic: str = "t", index: int = 0) -> int:
    asked = AlterReplicaLogDir(path=str(folder), topics=[AlterReplicaLogDirTopic(name=topic, partitions=[index])])
    answer = broker.call(AlterReplicaLogDirsRequest(dirs=[asked]), 2)
    code: int = answer.results[0].partitions[0].error_code
    return code


def begin_move(broker: Broker, folder: Path) -> None:
    """Of 27 records in nine batches, with a throttle that lets one through."""
    broker.lead()
    for _ in range(9):
        broker.produce(3)
    throttle(broker, LITTLE)
    assert move(broker, folder) == 0


def log_of(broker: Broker) -> UnifiedLog:
    log = broker.partition().log
    assert log is not None
    return log


def wait_until(condition: Callable[[], object], what: str) -> None:
    """The threads that wait for the disk tell the loop of this very thread."""
    with gevent.Timeout(PATIENCE_S, AssertionError(what)):
        while not condition():
            gevent.sleep(0.001)


def wait_for_move(broker: Broker, folder: Path) -> None:
    def is_there() -> bool:
        return log_of(broker).log_dir.path == folder and not broker.log_manager.future.all()

    wait_until(is_there, f"t-0 is in {folder}")


def wait_for_a_part(broker: Broker) -> UnifiedLog:
    def some() -> bool:
        return any(future.log_end_offset for future in broker.log_manager.future.all())

    wait_until(some, "some of it is copied")
    return broker.log_manager.future.all()[0]


def read_all(broker: Broker) -> list[int]:
    """The offsets that a consumer is handed, a segment at a time."""
    found: list[int] = []
    offset = log_of(broker).log_start_offset
    while offset < log_of(broker).high_watermark:
        found += offsets_in(answered(broker.fetch(offset)))
        offset = found[-1] + 1
    return found


def says(checkpoint: Path, offsets: Mapping[TopicPartition, int]) -> bool:
    return checkpoint.exists() and read_offsets(checkpoint) == offsets


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_dir())
