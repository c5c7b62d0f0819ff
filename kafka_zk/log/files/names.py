"""All file and directory names in a log directory: built and parsed.

Role        Pure. No other module builds or parses file names.
Invariants  Files of a segment are named by its base offset in 20 digits; a snapshot by its offset.
            A partition's directory is `topic-partition`; while it is moved, deleted or set aside it also carries 32 hex
            digits and a suffix, and never more than 255 bytes.
Example     00000000000000000123.log, 00000000000000000123.snapshot.deleted, t-0.6c3e...-delete
Source      LogFileUtils, UnifiedLog.logDeleteDirName, LocalLog.parseTopicPartitionName.
"""

from __future__ import annotations

import enum
import re
from typing import NamedTuple
from uuid import UUID

from kafka_zk.protocol.types import TopicPartition

LOG = ".log"
OFFSET_INDEX = ".index"
TIME_INDEX = ".timeindex"
TRANSACTION_INDEX = ".txnindex"
PRODUCER_SNAPSHOT = ".snapshot"
DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"

INDEXES = (OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)
SEGMENT_FILES = (LOG, *INDEXES)

LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
REMOTE_INDEX_CACHE = "remote-log-index-cache"
CLUSTER_METADATA_DIR = "__cluster_metadata-0"

MAX_NAME_LENGTH = 255
_OFFSET_FILE = re.compile(
    r"([0-9]{1,20})(\.log|\.index|\.timeindex|\.txnindex|\.snapshot)(\.deleted|\.cleaned|\.swap)?"
)
_MARKED_DIR = re.compile(r"(.+)-([0-9]+)\.[0-9a-f]{32}(-delete|-future|-stray)")
_LIVE_DIR = re.compile(r"(.+)-([0-9]+)")


class OffsetFile(NamedTuple):
    """A file named by an offset. `state` is empty, or the suffix of a file in transition."""

    offset: int
    kind: str
    state: str


class DirKind(enum.Enum):
    LIVE = ""
    FUTURE = "-future"
    DELETED = "-delete"
    STRAY = "-stray"


class PartitionDir(NamedTuple):
    topic_partition: TopicPartition
    kind: DirKind


def offset_file_name(offset: int, kind: str, state: str = "") -> str:
    return f"{offset:020d}{kind}{state}"


def parse_offset_file(name: str) -> OffsetFile | None:
    """The offset, kind and state in a file's name; None for every other file."""
    match = _OFFSET_FILE.fullmatch(name)
    return OffsetFile(int(match[1]), match[2], match[3] or "") if match else None


def marked_dir_name(topic_partition: TopicPartition, kind: DirKind, unique_id: UUID) -> str:
    """The name of a partition's directory that is moving, deleted or set aside.

    The topic is cut where the name would not fit, except in a future directory, whose topic must be read back.
    """
    suffix = f"-{topic_partition.partition}.{unique_id.hex}{kind.value}"
    topic = topic_partition.topic
    if kind is not DirKind.FUTURE:
        # A name by hand in ZooKeeper may have letters of several bytes; none is cut in its middle.
        topic = topic.encode(errors="replace")[: MAX_NAME_LENGTH - len(suffix)].decode(errors="ignore")
    return topic + suffix


def parse_partition_dir(name: str) -> PartitionDir | None:
    """The partition that a directory's name names; None when it names none."""
    match = _MARKED_DIR.fullmatch(name)
    if match:
        return PartitionDir(TopicPartition(match[1], int(match[2])), DirKind(match[3]))
    if name.endswith((DirKind.DELETED.value, DirKind.FUTURE.value, DirKind.STRAY.value)):
        return None
    match = _LIVE_DIR.fullmatch(name)
    return PartitionDir(TopicPartition(match[1], int(match[2])), DirKind.LIVE) if match else None
