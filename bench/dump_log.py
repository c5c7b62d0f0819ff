"""kafka-dump-log beside Apache Kafka 3.9.1's, on the same file: `python -m bench.dump_log`.

Writes a segment of 200 MB with records of 1 KB and one with records of 100 bytes, dumps each with both tools, shallow
and with --print-data-log, and prints wall-clock and CPU seconds of each run, start of the JVM and of Python included.
What they print must be the same. Apache runs with the JVM options of its own start script.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.process import run_bench
from kafka_zk.record import Record, build_batch
from tests.support.apache import JVM_OPTIONS, java

APACHE_JVM = ("-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35")
DUMP_LOG = "kafka.tools.DumpLogSegments"
LOG = "00000000000000000000.log"
T0 = 1_700_000_000_000
_BASE_OFFSET = struct.Struct(">q")


class Shape(NamedTuple):
    """Records of `value_bytes`, so many a batch."""

    name: str
    value_bytes: int
    records_per_batch: int


class Run(NamedTuple):
    seconds: float
    cpu_seconds: float


SHAPES = (Shape("records of 1 KB", 1000, 16), Shape("records of 100 B", 100, 150))
OPTIONS: tuple[Sequence[str], ...] = ((), ("--print-data-log",))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.dump_log", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200, help="size of each segment (default 200)")
    parser.add_argument("--check", action="store_true", help="exit 1 where Apache's tool is faster")
    given = parser.parse_args()
    is_slower = False
    print(f"{'':40} {'ours':>16} {'Apache':>16}   (seconds, of them CPU)")
    with tempfile.TemporaryDirectory(prefix="kafka-zk-bench-") as folder_name:
        folder = Path(folder_name)
        for shape in SHAPES:
            path = write_segment(folder / shape.name.replace(" ", "-"), shape, given.megabytes << 20)
            for options in OPTIONS:
                arguments = ["--files", str(path), *options]
                theirs = timed(apache(arguments), folder / "apache.txt")
                ours = timed([sys.executable, "-m", "kafka_zk.tools.dump_log", *arguments], folder / "ours.txt")
                assert filecmp.cmp(folder / "apache.txt", folder / "ours.txt", shallow=False), "the texts differ"
                is_slower |= ours.seconds > theirs.seconds
                print(f"{shape.name + ' ' + ' '.join(options):40} {shown(ours):>16} {shown(theirs):>16}")
    return 1 if given.check and is_slower else 0


def apache(arguments: Sequence[str]) -> list[str]:
    command = java(DUMP_LOG, *arguments)
    return [*command[:1], *APACHE_JVM, *(part for part in command[1:] if part not in JVM_OPTIONS)]


def write_segment(folder: Path, shape: Shape, size_bytes: int) -> Path:
    """One batch again and again, each with its own base offset, which no crc covers."""
    records = [
        Record(index, T0 + index, b"key-%06d" % index, (b"value %d " % index * 200)[: shape.value_bytes])
        for index in range(shape.records_per_batch)
    ]
    batch = build_batch(records, leader_epoch=0)
    folder.mkdir()
    with (folder / LOG).open("wb") as file:
        for number in range(size_bytes // len(batch)):
            _BASE_OFFSET.pack_into(batch, 0, number * shape.records_per_batch)
            file.write(batch)
    return folder / LOG


def timed(command: Sequence[str], output: Path) -> Run:
    started = time.perf_counter()
    with output.open("wb") as stdout, subprocess.Popen(command, stdout=stdout) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{command} ended with {process.returncode}"
    return Run(time.perf_counter() - started, usage.ru_utime + usage.ru_stime)


def shown(run: Run) -> str:
    return f"{run.seconds:.1f} ({run.cpu_seconds:.1f})"


if __name__ == "__main__":
    run_bench(main)
