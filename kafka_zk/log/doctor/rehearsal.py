"""Rehearses a start: runs the broker's own loader on a shadow of one partition's directory.

Role        Plain. Creates the shadow, runs LogLoader on it, and reports what has changed.
Invariants  What a start would do is not reimplemented: it is what LogLoader does. The real directory is
            not written to: small files are copied, segments are links whose cuts are noted instead of made, deletions
            and renames happen to the links.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.topic import LogConfig
from kafka_zk.log.doctor.partition_files import read_sparse
from kafka_zk.log.files import names
from kafka_zk.log.files.checkpoint import MalformedCheckpoint
from kafka_zk.log.files.disk import Disk
from kafka_zk.log.files.leader_epoch_file import EpochEntry
from kafka_zk.log.loading.loader import LogLoader
from kafka_zk.log.state.epoch_journal import EpochJournal
from kafka_zk.log.state.producer_journal import ProducerJournal
from kafka_zk.protocol.errors import BrokerError

LOADER_LOGS = ("kafka.log", "org.apache.kafka.storage.internals.log")
PRODUCER_EXPIRATION_MS = 86_400_000


class Start(NamedTuple):
    """What a start knows about a partition before it opens it."""

    directory: Path
    topic_partition: str
    clean_stop: bool
    recovery_point: int
    log_start_offset: int
    index_interval_bytes: int
    knows_recovery_point: bool = True
    """Whether the checkpoint of recovery points could be read: what it does not name was made after it."""
    is_compacted: bool = False
    """Whether the topic's cleanup.policy allows gaps, as far as the directory shows."""
    first_dirty_offset: int = 0


class Fate(NamedTuple):
    """What a start makes of one file. `size_bytes` is what stays of a segment that is cut, `becomes` a new name."""

    action: str
    size_bytes: int = 0
    becomes: str = ""


CUT, DELETED, REWRITTEN, RENAMED, MADE = "cut", "deleted", "rewritten", "renamed", "made"
AnyPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]


@dataclass(slots=True)
class Rehearsal:
    """`fates` by the name of the file; files that stay as they are have none. `failure`: why the loader gave up."""

    fates: dict[str, Fate] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    failure: str = ""
    log_start_offset: int = 0
    log_end_offset: int = 0
    epochs: list[EpochEntry] = field(default_factory=list)


class ShadowDisk(Disk):
    """Changes land in the shadow; cuts of the real segments behind the links are noted."""

    def __init__(self, shadow: Path) -> None:
        self._inside = f"{shadow}{os.sep}"
        self.cuts: dict[str, int] = {}
        self.renamed: dict[str, str] = {}

    def open(self, path: AnyPath, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if os.path.islink(path):
            flags = os.O_RDONLY | os.O_CLOEXEC
        return os.open(path, flags, mode, dir_fd=dir_fd)

    def pwrite(self, descriptor: int, data: object, position: int) -> int:
        assert self._is_inside(descriptor), "a rehearsal wrote to the real thing"
        return os.pwrite(descriptor, data, position)  # type: ignore[arg-type]

    def ftruncate(self, descriptor: int, length: int) -> None:
        if self._is_inside(descriptor):
            os.ftruncate(descriptor, length)
        elif length < os.fstat(descriptor).st_size:
            self.cuts[os.path.basename(_path_of(descriptor))] = length

    def truncate(self, path: object, length: int) -> None:
        assert str(path).startswith(self._inside) and not os.path.islink(str(path))
        os.truncate(str(path), length)

    def fsync(self, descriptor: object) -> None:
        """Nothing here is worth a sync."""

    def rename(
        self, src: AnyPath, dst: AnyPath, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        self.renamed[os.path.basename(str(src))] = os.path.basename(str(dst))
        os.rename(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    def _is_inside(self, descriptor: int) -> bool:
        return _path_of(descriptor).startswith(self._inside)


def rehearse(start: Start) -> Rehearsal:
    """Load the partition as a start would. Raises OSError when its files cannot be read."""
    with shadow_of(start.directory) as shadow:
        return rehearse_in(start, shadow)


def rehearse_in(start: Start, shadow: Path) -> Rehearsal:
    """The same in a shadow that the caller has made, and may look into afterwards."""
    disk, result = ShadowDisk(shadow), Rehearsal()
    epochs = EpochJournal(shadow, disk)
    with _listening(shadow, start.directory) as result.said:
        try:
            epochs.create()
            loaded = LogLoader(
                directory=shadow,
                topic_partition=start.topic_partition,
                config=log_config(start.index_interval_bytes, is_compacted=start.is_compacted),
                producers=ProducerJournal(shadow, start.topic_partition, PRODUCER_EXPIRATION_MS, disk),
                epochs=epochs,
                disk=disk,
                clean_stop=start.clean_stop,
                recovery_point=start.recovery_point,
                log_start_offset=start.log_start_offset,
                knows_recovery_point=start.knows_recovery_point,
                first_dirty_offset=start.first_dirty_offset,
                now_ms=time.time_ns() // 1_000_000,
            ).load()
        except (OSError, BrokerError, ValueError, AssertionError) as error:
            result.failure = f"{type(error).__name__}: {error}".replace(str(shadow), str(start.directory))
        else:
            result.log_start_offset, result.log_end_offset = loaded.log_start_offset, loaded.log_end_offset
            for segment in loaded.segments:
                segment.close_files()
    try:
        result.epochs = list(epochs.cache.entries)
    except (MalformedCheckpoint, OSError):
        result.epochs = []
    result.fates = _fates(start.directory, shadow, disk)
    return result


@contextmanager
def shadow_of(directory: Path) -> Iterator[Path]:
    """A directory of the same name and content in which nothing is real: to be changed at will. Raises OSError."""
    with tempfile.TemporaryDirectory(prefix="kafka-log-doctor-") as place:
        shadow = Path(place).resolve() / directory.name
        shadow.mkdir()
        with os.scandir(directory) as entries:
            for entry in entries:
                file = names.parse_offset_file(entry.name)
                if file is not None and file.kind == names.LOG:
                    os.symlink(os.path.abspath(entry.path), shadow / entry.name)
                elif entry.is_file():
                    _copy(Path(entry.path), shadow / entry.name)
        yield shadow


def _copy(source: Path, target: Path) -> None:
    if source.suffix in names.INDEXES:
        content, size = read_sparse(source)
        target.write_bytes(content)
        os.truncate(target, size)
    else:
        shutil.copyfile(source, target)


def _fates(directory: Path, shadow: Path, disk: ShadowDisk) -> dict[str, Fate]:
    fates = {name: Fate(CUT, size) for name, size in disk.cuts.items()}
    for path in sorted(directory.iterdir()):
        name, after = path.name, shadow / path.name
        if names.parse_offset_file(name) is None and name != names.LEADER_EPOCHS:
            continue
        if name in disk.renamed and not os.path.lexists(after):
            fates[name] = Fate(RENAMED, becomes=disk.renamed[name])
        elif not os.path.lexists(after):
            fates[name] = Fate(DELETED)
        elif after.is_symlink():
            if os.readlink(after) != os.path.abspath(path):
                fates[name] = Fate(REWRITTEN)
        elif _differ(path, after):
            fates[name] = Fate(REWRITTEN)
    for made in shadow.iterdir():
        if made.suffix in names.INDEXES and not os.path.lexists(directory / made.name):
            fates[made.name] = Fate(MADE)
    return fates


def _differ(before: Path, after: Path) -> bool:
    """Whether their bytes differ, unused space at the end of an index aside."""
    if before.suffix in names.INDEXES:
        return read_sparse(before)[0] != read_sparse(after)[0]
    return before.read_bytes() != after.read_bytes()


@contextmanager
def _listening(shadow: Path, directory: Path) -> Iterator[list[str]]:
    """Hear what the loader warns of, instead of letting it be printed."""
    said: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage().replace(str(shadow), str(directory)))

    listener = Listener(logging.WARNING)
    loggers = [logging.getLogger(name) for name in LOADER_LOGS]
    before = [logger.propagate for logger in loggers]
    for logger in loggers:
        logger.addHandler(listener)
        logger.propagate = False
    try:
        yield said
    finally:
        for logger, propagated in zip(loggers, before, strict=True):
            logger.removeHandler(listener)
            logger.propagate = propagated


@lru_cache(maxsize=8)
def log_config(index_interval_bytes: int, *, is_compacted: bool) -> LogConfig:
    """The topic's configs that recovery reads; the rest does not matter to it."""
    broker = BrokerConfig.from_properties({"zookeeper.connect": "none:2181"})
    policy = "compact" if is_compacted else "delete"
    overrides = {"index.interval.bytes": str(index_interval_bytes), "cleanup.policy": policy}
    return LogConfig.from_overrides(broker, overrides)


def _path_of(descriptor: int) -> str:
    return os.readlink(f"/proc/self/fd/{descriptor}")
