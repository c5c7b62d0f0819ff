"""One large segment: how fast it is recovered after a crash, and how fast an offset and a time are found in it.

`python -m bench.segment`: a file of 1 GB of plain batches without its indexes, opened as after a crash. Figures are of
CPU time, user and system: they say what a core does and hardly depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import random
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from crc32c import crc32c

from bench.process import run_bench
from kafka_zk.clock import SimClock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.topic import LogConfig
from kafka_zk.log.directory.data_dir import DataDir
from kafka_zk.log.directory.log_directory import LogDirectory
from kafka_zk.log.loading.opening import LogOpener
from kafka_zk.log.pools import LogPools
from kafka_zk.log.segments.open_segments import OpenSegments
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import Record, build_batch

RECOVERY_FLOOR_MB_S, OFFSET_FLOOR_US, TIME_FLOOR_US = 400.0, 30.0, 100.0
FIRST_TIMESTAMP = 1_700_000_000_000
LOOKUP_COUNT = 5000
PARTITION = TopicPartition("bench", 0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.segment", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--records", type=int, default=140, help="records of 100 bytes per batch (default 140: 16 KB)")
    parser.add_argument("--check", action="store_true", help="exit 1 when a floor is missed")
    parser.add_argument("--folder", type=Path, help="directory for the segment (default: TMPDIR)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kafka-zk-bench-", dir=options.folder) as folder:
        directory = Path(folder) / str(PARTITION)
        directory.mkdir()
        write_segment(directory / f"{0:020d}.log", options.megabytes * 1_000_000, options.records)
        began_s = time.process_time()
        log = recovered(Path(folder))
        recovery_mb_s = log.size_bytes / 1e6 / (time.process_time() - began_s)
        chance = random.Random(1)
        end_offset = log.log_end_offset
        offset_us = microseconds(lambda: find_offset(log, chance.randrange(end_offset)))
        time_us = microseconds(lambda: find_time(log, FIRST_TIMESTAMP + chance.randrange(end_offset)))
    rows = (
        ("recovery, MB a second of CPU", recovery_mb_s, recovery_mb_s >= RECOVERY_FLOOR_MB_S),
        ("an offset found, us", offset_us, offset_us <= OFFSET_FLOOR_US),
        ("a time found, us", time_us, time_us <= TIME_FLOOR_US),
    )
    for title, value, is_met in rows:
        print(f"{title:46s}{value:14.1f}{'' if is_met else '   floor missed'}")
    return 0 if all(is_met for _, _, is_met in rows) or not options.check else 1


def write_segment(path: Path, size_bytes: int, record_count: int) -> None:
    """Batches of different bytes that follow one another in offset and time, a millisecond a record."""
    chance = random.Random(0)
    records = [Record(index, index, None, chance.randbytes(100)) for index in range(record_count)]
    batch, offset = bytearray(build_batch(records)), 0
    with path.open("wb") as file:
        while file.tell() < size_bytes:
            first = FIRST_TIMESTAMP + offset
            struct.pack_into(">q", batch, 0, offset)
            struct.pack_into(">qq", batch, 27, first, first + record_count - 1)
            struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
            file.write(batch)
            offset += record_count


def recovered(folder: Path) -> UnifiedLog:
    """The log, as a start after a crash opens it."""
    clock, pools = SimClock(wall_ms=FIRST_TIMESTAMP), LogPools()
    config = BrokerConfig.from_properties({"zookeeper.connect": "localhost:2181"})
    directory = LogDirectory(folder, clock=clock, pools=pools, on_failure=print, open_segments=OpenSegments(limit=10))
    topic = LogConfig.from_overrides(config, {"segment.bytes": str((1 << 31) - 1)})
    opener = LogOpener(config, lambda name: topic, clock, pools, random.Random(0))
    path = folder / str(PARTITION)
    log = opener.open(DataDir(directory), path, PARTITION, topic, sync_later=lambda changed: None)
    log.update_high_watermark(log.log_end_offset)
    return log


def find_offset(log: UnifiedLog, offset: int) -> None:
    found = log.read(offset, max_bytes=1000, up_to=log.log_end_offset, min_one=True)
    for piece in found.slices:
        piece.release()


def find_time(log: UnifiedLog, timestamp: int) -> None:
    found = log.offset_for_timestamp(timestamp)
    assert found is not None and found.offset == timestamp - FIRST_TIMESTAMP, (timestamp, found)


def microseconds(look_up: Callable[[], None]) -> float:
    look_up()
    began_s = time.process_time()
    for _ in range(LOOKUP_COUNT):
        look_up()
    return (time.process_time() - began_s) / LOOKUP_COUNT * 1e6


if __name__ == "__main__":
    run_bench(main)
