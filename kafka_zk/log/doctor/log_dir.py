"""Examines one log directory apart from its logs: lock, identity, checkpoints.

Role        Plain. Probes the lock without taking it; reads every small file once.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kafka_zk.log.directory.partition_dirs import partition_dirs
from kafka_zk.log.doctor.checks.offsets import Checkpointed
from kafka_zk.log.doctor.findings import (
    BEING_DELETED,
    BEING_MOVED,
    CHECKPOINT_MALFORMED,
    CHECKPOINT_NAMES_NOBODY,
    IDENTITY_MALFORMED,
    IDENTITY_MISSING,
    LEFT_BY_WRITE,
    NOT_A_PARTITION,
    NOT_STOPPED_CLEANLY,
    SET_ASIDE,
    UNREADABLE,
    Finding,
    Kind,
)
from kafka_zk.log.files import clean_shutdown, meta_properties, names
from kafka_zk.log.files.checkpoint import MalformedCheckpoint, read_offsets
from kafka_zk.log.files.meta_properties import MalformedMetaProperties, MetaProperties
from kafka_zk.log.files.names import DirKind
from kafka_zk.log.loading.refusals import InvalidLogDirectory, partition_of
from kafka_zk.protocol.types import TopicPartition

CHECKPOINTS = (names.RECOVERY_POINTS, names.HIGH_WATERMARKS, names.LOG_START_OFFSETS, names.CLEANER_OFFSETS)
_FLOCK = struct.Struct("hhqqi4x")


class LogDirInUse(Exception):
    """A broker is running on this directory, so its files may change during the check."""


class FoundPartition(NamedTuple):
    directory: Path
    topic_partition: TopicPartition
    kind: DirKind


@dataclass(slots=True)
class LogDir:
    """A log directory as found. `meta` is None without a readable meta.properties."""

    path: Path
    clean_stop: bool = False
    knows_recovery_points: bool = False
    meta: MetaProperties | None = None
    checkpoints: dict[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    partitions: list[FoundPartition] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def checkpointed(self, topic_partition: TopicPartition) -> Checkpointed:
        return Checkpointed(*(self.checkpoints[name].get(topic_partition) for name in CHECKPOINTS))

    def note(self, kind: Kind, file: str, what: str, start: str, partition: str = "") -> None:
        self.findings.append(Finding(kind, str(self.path), partition, file, what, start))


def check_free(path: Path) -> None:
    """Raise LogDirInUse if a broker holds the lock of the directory. Raises OSError.

    Only asks: taking the lock, even for a moment, could make a broker's start fail.
    """
    try:
        descriptor = os.open(path / names.LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, holder = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    finally:
        os.close(descriptor)
    if kind != fcntl.F_UNLCK:
        raise LogDirInUse(
            f"{path} is in use: process {holder} holds the lock on {names.LOCK}. Stop the broker first: it "
            "writes data while it stops."
        )


def look_at(path: Path) -> LogDir:
    """Raises OSError when the directory itself cannot be read."""
    found = LogDir(path)
    names_there = sorted(os.listdir(path))
    found.clean_stop = clean_shutdown.exists(path)
    _read_identity(found)
    for name in CHECKPOINTS:
        found.checkpoints[name] = _read_checkpoint(found, name)
    told = {each.file for each in found.findings}
    found.knows_recovery_points = names.RECOVERY_POINTS in names_there and names.RECOVERY_POINTS not in told
    for name in names_there:
        if name.endswith(".tmp"):
            found.note(LEFT_BY_WRITE, name, "a write that was not finished", "leaves it alone")
    _find_partitions(found)
    if not found.clean_stop and found.partitions:
        found.note(
            NOT_STOPPED_CLEANLY,
            names.CLEAN_SHUTDOWN,
            "there is no marker of a clean shutdown",
            "recovers each partition from its recovery point",
        )
    return found


def _find_partitions(found: LogDir) -> None:
    for directory in partition_dirs(found.path):
        try:
            topic_partition, kind = partition_of(directory)
        except InvalidLogDirectory as error:
            found.note(NOT_A_PARTITION, directory.name, "not the name of a partition", f"stops with: {error}")
            continue
        told = str(topic_partition)
        if kind is DirKind.DELETED:
            found.note(BEING_DELETED, directory.name, "marked for deletion", "deletes it later", told)
        elif kind is DirKind.STRAY:
            found.note(SET_ASIDE, directory.name, "set aside by a broker", "leaves it alone", told)
        else:
            if kind is DirKind.FUTURE:
                found.note(
                    BEING_MOVED,
                    directory.name,
                    "a copy whose move did not finish",
                    "loads it and continues the move",
                    told,
                )
            found.partitions.append(FoundPartition(directory, topic_partition, kind))
    there = {each.topic_partition for each in found.partitions}
    for name in CHECKPOINTS:
        for topic_partition in sorted(found.checkpoints[name].keys() - there):
            found.note(
                CHECKPOINT_NAMES_NOBODY,
                name,
                f"offset {found.checkpoints[name][topic_partition]}, but the partition is not in this directory",
                "drops that entry",
                str(topic_partition),
            )


def _read_identity(found: LogDir) -> None:
    try:
        found.meta = meta_properties.read(found.path / names.META_PROPERTIES)
    except MalformedMetaProperties as error:
        found.note(IDENTITY_MALFORMED, names.META_PROPERTIES, str(error), "takes the log directory offline, or stops")
        return
    except OSError as error:
        found.note(UNREADABLE, names.META_PROPERTIES, str(error), "takes the log directory offline, or stops")
        return
    if found.meta is None:
        found.note(IDENTITY_MISSING, names.META_PROPERTIES, "there is none", "writes one")


def _read_checkpoint(found: LogDir, name: str) -> Mapping[TopicPartition, int]:
    try:
        return read_offsets(found.path / name)
    except MalformedCheckpoint as error:
        found.note(CHECKPOINT_MALFORMED, name, str(error), "treats it as empty, with a warning")
    except OSError as error:
        found.note(UNREADABLE, name, str(error), "takes the log directory offline, or stops")
    return {}


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Keep brokers off the directory while it is changed. Raises LogDirInUse, OSError."""
    lock = path / names.LOCK
    was_there = lock.exists()
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if not was_there:
            owner = path.stat()
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LogDirInUse(f"{path} is in use: another process holds the lock on {names.LOCK}.") from error
        yield
    finally:
        os.close(descriptor)
