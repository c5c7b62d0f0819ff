"""Every kind of finding the doctor reports: its name, severity and meaning.

Role        Pure. Checks note findings by kind; severity is never decided in passing.
Invariants  ERROR: data is lost or in danger, or the broker would not start. WARNING: a start repairs it, or an
            operator should look. INFO: normal, or for information only.
            One finding per kind and file, however many places it has: the first is reported, the others are counted.
            Only of open transactions each one is reported, since each is ended by a command of its own.
"""

from __future__ import annotations

import enum
from typing import NamedTuple


class Severity(enum.Enum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Kind(NamedTuple):
    """A kind of finding. `meaning` is for the manual."""

    name: str
    severity: Severity
    meaning: str


class Finding(NamedTuple):
    """`partition` is empty for what concerns the whole directory; `file` is a path below it, empty for itself."""

    kind: Kind
    log_dir: str
    partition: str
    file: str
    what: str
    start: str
    """What a start of the broker would do about it."""


def _error(name: str, meaning: str) -> Kind:
    return Kind(name, Severity.ERROR, meaning)


def _warning(name: str, meaning: str) -> Kind:
    return Kind(name, Severity.WARNING, meaning)


def _info(name: str, meaning: str) -> Kind:
    return Kind(name, Severity.INFO, meaning)


# Batches and records
BAD_CRC = _error("bad-crc", "the bytes of a batch are not those that were written")
BAD_BATCH = _error("bad-batch", "bytes that are not a batch, followed by more batches or where none may be missing")
TORN_TAIL = _warning("torn-tail", "the last append before a crash is incomplete")
BATCHES_OVERLAP = _error("batches-overlap", "an offset occurs twice, or offsets go backwards")
OFFSET_OUT_OF_RANGE = _error("offset-out-of-range", "a batch does not belong in the segment that holds it")
RECORDS_MISSING = _error("records-missing", "offsets are skipped in a log that was never compacted")
RECORDS_MISSING_ABOVE_CLEANED = _warning(
    "records-missing-above-cleaned", "offsets are skipped beyond the offset up to which the cleaner has cleaned"
)
COMPACTED = _info("compacted", "offsets are skipped where the log was compacted")
BAD_RECORDS = _error("bad-records", "the records inside a batch do not match its header (--deep)")

# Indexes
INDEX_MISSING = _warning("index-missing", "an index file does not exist")
INDEX_ORPHANED = _warning("index-orphaned", "an index without its segment")
INDEX_CORRUPT = _warning("index-corrupt", "an index contradicts itself")
INDEX_MISMATCH = _warning(
    "index-mismatch", "an offset index does not match its segment: reads may miss records or fail"
)
TIME_INDEX_MISMATCH = _warning(
    "time-index-mismatch", "a time index does not match its segment: look-ups by time and retention may be wrong"
)
INDEX_UNTRIMMED = _info("index-untrimmed", "an index with unused space after its entries, as a crash leaves it")
ABORTED_UNLISTED = _error("aborted-unlisted", "read_committed consumers would get records of an aborted transaction")
ABORTED_UNFOUNDED = _error("aborted-unfounded", "a transaction index hides records for which there is no abort marker")

WRONG_INDEX = frozenset(
    (INDEX_MISSING, INDEX_CORRUPT, INDEX_MISMATCH, TIME_INDEX_MISMATCH, ABORTED_UNLISTED, ABORTED_UNFOUNDED)
)
"""What rebuilding an index repairs."""

# Producer snapshots, leader epochs
SNAPSHOT_CORRUPT = _warning("snapshot-corrupt", "a producer snapshot cannot be read")
SNAPSHOT_BEYOND_END = _warning("snapshot-beyond-end", "a producer snapshot lies beyond the end of the log")
SNAPSHOT_OLD = _info(
    "snapshot-old", "a producer snapshot of an earlier shutdown, or of a segment that no longer exists"
)
SNAPSHOT_MISMATCH = _warning("snapshot-mismatch", "a producer snapshot contradicts the log")
EPOCHS_MALFORMED = _warning("epochs-malformed", "leader-epoch-checkpoint cannot be read")
EPOCHS_DISORDERED = _warning("epochs-disordered", "leader epochs or their start offsets go backwards")
EPOCH_BEYOND_END = _warning("epoch-beyond-end", "a leader epoch starts beyond the end of the log")
EPOCH_MISMATCH = _warning("epoch-mismatch", "batches carry a leader epoch other than the one in the checkpoint")

# Transactions
TRANSACTION_HANGING = _warning(
    "transaction-hanging", "no coordinator will end this transaction: read_committed consumers stop before it"
)
TRANSACTION_OPEN = _info("transaction-open", "a transaction was open when the broker stopped")

# Checkpoints
FLUSHED_MISSING = _error("flushed-missing", "the log ends below its recovery point: synced records are gone")
COMMITTED_MISSING = _error("committed-missing", "the log ends below its high watermark: committed records are gone")
END_DISAGREES = _error("end-disagrees", "the log continues beyond the end that a clean shutdown recorded")
LOG_START_BEYOND_END = _error("log-start-beyond-end", "the log start offset lies beyond the end of the log")
CLEANER_OFFSET_INVALID = _warning("cleaner-offset-invalid", "the cleaner's checkpoint lies outside the log")
CHECKPOINT_MALFORMED = _warning("checkpoint-malformed", "a checkpoint file cannot be read")
CHECKPOINT_NAMES_NOBODY = _warning("checkpoint-names-nobody", "a checkpoint names a partition that does not exist")

# Identity
TOPIC_ID_MISSING = _info("topic-id-missing", "no topic id: brokers before 2.8 wrote none")
TOPIC_ID_MALFORMED = _error("topic-id-malformed", "partition.metadata cannot be read")
TOPIC_ID_DIFFERS = _error("topic-id-differs", "partitions of one topic have different topic ids")
IDENTITY_MISSING = _info("identity-missing", "no meta.properties")
IDENTITY_MALFORMED = _error("identity-malformed", "meta.properties cannot be read")
SECRET_EXPOSED = _warning("secret-exposed", "everybody on the machine can read a file with secrets (--config)")
IDENTITY_DIFFERS = _error("identity-differs", "directories belong to different brokers or clusters")

# Directories and files
NOT_STOPPED_CLEANLY = _info(
    "not-stopped-cleanly", "no clean shutdown marker: the broker crashed, or was running when the files were copied"
)
NOT_A_PARTITION = _error("not-a-partition", "a directory that does not belong to a partition")
PARTITION_TWICE = _error("partition-twice", "two log directories hold the same partition")
UNREADABLE = _error("unreadable", "a file or directory cannot be read")
START_FAILS = _error("start-fails", "a start cannot load this partition")
LEFT_BY_CLEANING = _warning("left-by-cleaning", "files of an unfinished cleaning or split")
LEFT_BY_DELETION = _info("left-by-deletion", "files marked for deletion")
LEFT_BY_WRITE = _info("left-by-write", "a temporary file of an unfinished write")
BEING_DELETED = _info("being-deleted", "a partition marked for deletion")
BEING_MOVED = _info("being-moved", "a copy of a partition from an unfinished move between log directories")
SET_ASIDE = _warning("set-aside", "a partition that a broker set aside (-stray): it is neither served nor deleted")
UNKNOWN_FILE = _info("unknown-file", "not a file of Kafka's; ignored")

KINDS: tuple[Kind, ...] = tuple(value for value in globals().values() if isinstance(value, Kind))


class Notes:
    """The findings about one partition, or about a directory, as they come. What a start does is added at the end."""

    def __init__(self) -> None:
        self._first: dict[tuple[Kind, str], str] = {}
        self._more: dict[tuple[Kind, str], int] = {}

    def add(self, kind: Kind, file: str, what: str) -> None:
        key = (kind, file)
        if key in self._first:
            self._more[key] = self._more.get(key, 0) + 1
        else:
            self._first[key] = what

    def has(self, kind: Kind, file: str) -> bool:
        return (kind, file) in self._first

    def all(self) -> list[tuple[Kind, str, str]]:
        """(kind, file, what), in the order they were found."""
        return [
            (kind, file, f"{what} (and {more} more)" if (more := self._more.get((kind, file))) else what)
            for (kind, file), what in self._first.items()
        ]
