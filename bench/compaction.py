"""How fast a log is compacted, the cleaner alone: `python -m bench.compaction`.

Records of 100 bytes over 100,000 keys, in segments of 100 MB: bytes of the log a second, from the choice to the swap,
syncs included; the same a second of the helper's CPU, which other work on the machine changes less; what was left.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from bench.process import run_bench
from kafka_zk.clock import SystemClock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.topic import LogConfig
from kafka_zk.log.cleaner.choosing import dirt_of
from kafka_zk.log.cleaner.cleaning import Cleaning
from kafka_zk.log.cleaner.segment_facts import facts_of
from kafka_zk.log.cleaner.settings import CleanerSettings
from kafka_zk.log.cleaner.throttle import BYTES_AT_ONCE
from kafka_zk.log.helper.process import HelperProcess
from kafka_zk.log.manager import LogManager
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.protocol.types import NULL_UUID, TopicPartition
from kafka_zk.record import Codec, Record, build_batch
from kafka_zk.record.filtering import FILTER

KEYS = 100_000
FLOOR_MB_S = 50.0
SHAPES = ((100, Codec.NONE), (1, Codec.NONE), (100, Codec.LZ4), (100, Codec.ZSTD))
"""Records a batch, and how they are compressed."""


def filled(manager: LogManager, number: int, records: int, codec: Codec, wanted_bytes: int) -> UnifiedLog:
    chance = random.Random(1)
    log = manager.get_or_create_log(TopicPartition(f"bench-{number}", 0), topic_id=NULL_UUID, is_new=True)
    sample = chance.randbytes(1 << 16)
    while log.size_bytes < wanted_bytes:
        rows = []
        for offset in range(records):
            at = chance.randrange(len(sample) - 40)
            rows.append(
                Record(offset, 1_700_000_000_000, b"key-%08d" % chance.randrange(KEYS), sample[at : at + 40] * 2)
            )
        log.append_as_leader(memoryview(build_batch(rows, codec=codec)), leader_epoch=0)
    log.roll()
    log.update_high_watermark(log.log_end_offset)
    log.flush()
    return log


def cpu_seconds(helper: HelperProcess) -> float:
    """Of the helper's process so far."""
    if helper.pid is None:
        return 0.0
    fields = Path(f"/proc/{helper.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.compaction", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100, help="size of each log (default 100)")
    parser.add_argument("--check", action="store_true", help="exit 1 when the floor is missed, by the helper's CPU")
    options = parser.parse_args()
    wanted_bytes, is_missed = options.megabytes * 1_000_000, False
    if FILTER != "compiled":
        sys.exit("the pure twin runs: build the compiled modules first (see README.md)")
    with tempfile.TemporaryDirectory() as folder:
        properties = {
            "zookeeper.connect": "none",
            "log.dirs": str(Path(folder, "data")),
            "log.cleaner.enable": "false",
            "log.cleanup.policy": "compact",
            "log.segment.bytes": "100000000",
        }
        config, clock, helper = BrokerConfig.from_properties(properties), SystemClock(), HelperProcess("bench")
        manager = LogManager(
            config=config,
            topic_config=lambda topic: LogConfig.from_overrides(config, {}),
            clock=clock,
            metrics=MetricsRegistry(clock),
            on_log_dir_failure=lambda path: None,
        )
        manager.startup()
        for number, (records, codec) in enumerate(SHAPES):
            log = filled(manager, number, records, codec, wanted_bytes)
            before_bytes = log.size_bytes
            cleaning = Cleaning(
                log,
                dirt_of(facts_of(log), None, clock.wall_ms()).offsets,
                log.truncations,
                cleaner_id=0,
                settings=CleanerSettings.of(config),
                helper=helper,
                chunk_bytes=BYTES_AT_ONCE,
                rest_after=lambda size_bytes: None,
            )
            cpu_s = cpu_seconds(helper)
            started = time.perf_counter()
            cleaning.run()
            took_s, cpu_s = time.perf_counter() - started, cpu_seconds(helper) - cpu_s
            what = f"{records} records a batch, {codec.name.lower()}"
            rates = f"{before_bytes / took_s / 1e6:6.0f} MB/s {before_bytes / cpu_s / 1e6:6.0f} MB a second of CPU"
            print(f"{what:28s} {rates}, {log.size_bytes / before_bytes:.0%} left", flush=True)
            is_missed |= before_bytes / cpu_s / 1e6 < FLOOR_MB_S
        helper.stop()
        manager.shutdown()
    return 1 if is_missed and options.check else 0


if __name__ == "__main__":
    run_bench(main)
