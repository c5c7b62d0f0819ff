"""The small vocabulary of the log tests: directories, logs, batches, and what can be read from them."""

from __future__ import annotations

import base64
import gzip
import json
import random
import shutil
import tarfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kafka_zk.clock import Clock, SimClock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.topic import LogConfig
from kafka_zk.log.directory.log_directory import LogDirectory
from kafka_zk.log.files.disk import DISK, Disk
from kafka_zk.log.loading.loader import LogLoader
from kafka_zk.log.manager import LogManager
from kafka_zk.log.pools import LogPools
from kafka_zk.log.segments.open_segments import OpenSegments
from kafka_zk.log.state.epoch_journal import EpochJournal
from kafka_zk.log.state.producer_journal import ProducerJournal
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import batches
from kafka_zk.record.builder import build_batch
from kafka_zk.record.record import decode_records
from kafka_zk.record.types import Record

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
T0 = 1_700_000_000_000
TP = TopicPartition("t", 0)
BROKER = BrokerConfig.from_properties({"zookeeper.connect": "localhost:2181"})
POOLS = LogPools()


def topic_config(**overrides: object) -> LogConfig:
    """`topic_config(segment_bytes=100)`: underscores stand for dots."""
    texts = {name.replace("_", "."): str(value) for name, value in overrides.items()}
    return LogConfig.from_overrides(BROKER, {"retention.ms": "-1", "segment.index.bytes": "2050", **texts})


class Place:
    """One log directory with a clock of its own, in which a partition is opened, closed and crashed."""

    def __init__(
        self, path: Path, *, disk: Disk = DISK, open_segments: int = 1000, pools: LogPools | None = None
    ) -> None:
        self.clock = SimClock(wall_ms=T0)
        self.failures: list[str] = []
        self.directory = LogDirectory(
            path,
            clock=self.clock,
            pools=pools or POOLS,
            on_failure=self.failures.append,
            open_segments=OpenSegments(open_segments),
            disk=disk,
        )
        self.topic_partition = TP
        self.partition = path / str(TP)
        self.partition.mkdir(exist_ok=True)

    def open(
        self,
        config: LogConfig | None = None,
        *,
        clean: bool = False,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        high_watermark: int = 0,
    ) -> UnifiedLog:
        config = config or topic_config()
        disk = self.directory.disk
        producers = ProducerJournal(self.partition, str(self.topic_partition), 86_400_000, disk)
        epochs = EpochJournal(self.partition, disk)
        epochs.create()
        loaded = LogLoader(
            directory=self.partition,
            topic_partition=str(self.topic_partition),
            config=config,
            producers=producers,
            epochs=epochs,
            disk=disk,
            clean_stop=clean,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            now_ms=self.clock.wall_ms(),
        ).load()
        return UnifiedLog(
            self.topic_partition,
            directory=self.partition,
            log_dir=self.directory,
            config=config,
            topic_id=None,
            loaded=loaded,
            producers=producers,
            epochs=epochs,
            high_watermark=high_watermark,
        )

    def crash(self, log: UnifiedLog) -> None:
        """Let go of the files as they are: nothing is completed, trimmed or synced."""
        log.flusher.wait()
        log.close_files()


class WatchedDisk(Disk):
    """Calls `before` ahead of every change, once told to. For one thread only: give the log's pools to the loop."""

    CHANGES = ("open", "pwrite", "ftruncate", "truncate", "fsync", "rename", "unlink")

    def __init__(self) -> None:
        self.before: Callable[[str], None] = lambda change: None
        self._thread = threading.get_ident()
        for change in self.CHANGES:
            setattr(self, change, self._watched(change, getattr(Disk, change)))

    def copy_before_each_change(self, source: Path, into: Path) -> list[tuple[str, Path]]:
        """From now on keep what a kill would leave; fills with the name of each change and the copy made before it."""
        copies: list[tuple[str, Path]] = []

        def keep(change: str) -> None:
            target = into / f"killed-{len(copies)}"
            copies.append((change, target))
            shutil.copytree(source, target)

        self.before = keep
        return copies

    def _watched(self, change: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            assert threading.get_ident() == self._thread, f"{change} in a thread: who comes first would be chance"
            self.before(change)
            return function(*arguments, **options)

        return call


def produced(
    *values: str,
    timestamp: int = T0,
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    transactional: bool = False,
    keys: Sequence[bytes | None] | None = None,
    **options: Any,
) -> memoryview:
    """A batch as a client sends it, in a buffer of its own; record i is a millisecond later than record i - 1."""
    records = [
        Record(index, timestamp + index, keys[index] if keys else b"k", value.encode(), ())
        for index, value in enumerate(values)
    ]
    return memoryview(
        build_batch(
            records,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
            **options,
        )
    )


def read_slices(log: UnifiedLog, offset: int, *, max_bytes: int = 1 << 20, up_to: int | None = None) -> bytes:
    """The bytes of one read; the slices are released."""
    end = log.log_end_offset if up_to is None else up_to
    result = log.read(offset, max_bytes=max_bytes, up_to=end, min_one=True)
    data = b"".join(piece.read() for piece in result.slices)
    for piece in result.slices:
        piece.release()
    assert len(data) == result.size_bytes
    return data


def all_records(log: UnifiedLog, from_offset: int | None = None, *, max_bytes: int = 1 << 20) -> list[Record]:
    """Every record that a consumer gets from an offset to the log end; control records are left out, as it does."""
    offset = log.log_start_offset if from_offset is None else from_offset
    records: list[Record] = []
    while True:
        data = read_slices(log, offset, max_bytes=max_bytes)
        if not data:
            return records
        for batch in batches(data):
            if not batch.header.is_control:
                records += [record for record in decode_records(batch) if record.offset >= offset]
            offset = batch.header.next_offset


def read_committed(log: UnifiedLog, offset: int | None = None, *, max_bytes: int = 1) -> tuple[list[Record], int]:
    """What a consumer of committed records gets, as it finds it out from batches and aborted transactions, and its
    position when there is nothing more for it."""
    records: list[Record] = []
    offset = log.log_start_offset if offset is None else offset
    while offset < log.last_stable_offset:
        result = log.read(offset, max_bytes=max_bytes, up_to=log.last_stable_offset, min_one=True)
        if not result.slices:
            break
        aborted = result.find_aborted()
        data = b"".join(piece.read() for piece in result.slices)
        for piece in result.slices:
            piece.release()
        for batch in batches(data):
            header = batch.header
            is_aborted = header.is_transactional and any(
                entry.producer_id == header.producer_id and entry.first_offset <= header.base_offset < entry.last_offset
                for entry in aborted
            )
            if not header.is_control and not is_aborted:
                records += [record for record in decode_records(batch) if record.offset >= offset]
            offset = header.next_offset
    return records, offset


def values(log: UnifiedLog, from_offset: int | None = None) -> list[str]:
    return [(record.value or b"").decode() for record in all_records(log, from_offset)]


def unpack(archive: str, into: Path) -> Path:
    """A golden directory that comes as an archive."""
    with tarfile.open(GOLDEN / archive) as packed:
        packed.extractall(into, filter="data")
    return into


def expected_records(path: str, isolation_level: str = "read_uncommitted") -> dict[str, list[Record]]:
    """`topic-partition` -> what Apache's consumer read from it."""
    file = GOLDEN / path
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    loaded = json.loads(text)
    rows = loaded["recovered"] if isinstance(loaded, dict) else loaded
    return {
        f"{each['topic']}-{each['partition']}": [_record(row) for row in each["records"]]
        for each in rows
        if each["isolation_level"] == isolation_level
    }


def manager_on(
    *paths: Path,
    configs: Mapping[str, LogConfig] | None = None,
    disk: Disk = DISK,
    on_failure: Callable[[str], None] = lambda path: None,
    clock: Clock | None = None,
    properties: Mapping[str, str] | None = None,
    metrics: MetricsRegistry | None = None,
    pools: LogPools | None = None,
    chance: random.Random | None = None,
) -> LogManager:
    clock = clock or SimClock(wall_ms=T0)
    config = BrokerConfig.from_properties(
        {"zookeeper.connect": "localhost:2181", "log.dirs": ",".join(map(str, paths)), **(properties or {})}
    )
    known = configs or {}
    return LogManager(
        config=config,
        topic_config=lambda topic: known.get(topic) or topic_config(),
        clock=clock,
        metrics=MetricsRegistry(clock) if metrics is None else metrics,
        on_log_dir_failure=on_failure,
        disk=disk,
        pools=pools,
        chance=chance,
    )


def _record(row: dict[str, Any]) -> Record:
    headers = tuple((header["key"], _bytes(header["value"])) for header in row["headers"])
    return Record(row["offset"], row["timestamp"], _bytes(row["key"]), _bytes(row["value"]), headers)


def _bytes(field: dict[str, str] | None) -> bytes | None:
    if field is None:
        return None
    return field["utf8"].encode() if "utf8" in field else base64.b64decode(field["base64"])


def killed(manager: LogManager) -> None:
    """As a kill leaves it: what is flushed in threads just then is on the disk, and nothing else is written."""
    for log in manager.all_logs():
        log.flusher.wait()
        for segment in log.segments:
            segment.close_files()
    manager.release()
