"""The same logs under our broker and Apache Kafka 3.9.1: made whole after a crash, and compacted.

`python -m bench.same_directory`: each broker makes the topics, is stopped, and gets the same segments in the place of
its own, without indexes and without the mark of a clean stop. Then it starts: what it says in its own log about each
recovery and each cleaning is the clock; beside it stands the CPU of all its processes meanwhile.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import struct
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bench.brokers import Broker, apache_broker, our_broker
from bench.process import cpu_seconds_of_tree, run_bench
from bench.segment import write_segment
from kafka_zk.record import Codec, Record, build_batch
from tests.support.processes import wait_until
from tests.support.zookeeper import EmbeddedZooKeeper

COMPACTION_FLOOR_MB_S = 50.0
PATIENCE_S = 230.0
KEYS, POOL = 100_000, 200_000
"""Keys, and records that come again and again, each time behind one another."""
OVERRIDES = {"log.cleaner.backoff.ms": "200", "log.cleaner.dedupe.buffer.size": str(128 << 20)}
LEFT_BY_A_STOP = (".kafka_cleanshutdown", "recovery-point-offset-checkpoint", "cleaner-offset-checkpoint")

_LOADED = re.compile(r"Completed load of Log\(dir=\S+/([\w-]+)-0, .* in (\d+) ?ms")
_CLEANED = re.compile(r"cleaned log ([\w-]+)-0 .*\n\s*([\d.,]+) MB of log processed in ([\d.,]+) seconds")
MIB = 1 << 20


@dataclass(frozen=True)
class Load:
    """Records of 100 bytes: so many a batch, and how packed. With keys the topic is compacted."""

    name: str
    title: str
    records: int
    codec: Codec = Codec.NONE
    is_compacted: bool = False


LOADS = (
    Load("recovered-many", "recovery, 16 KB a batch", 140),
    Load("recovered-single", "recovery, single records", 1),
    Load("compacted-many", "compaction, 100 records a batch", 100, is_compacted=True),
    Load("compacted-single", "compaction, single records", 1, is_compacted=True),
    Load("compacted-lz4", "compaction, lz4", 100, Codec.LZ4, is_compacted=True),
    Load("compacted-zstd", "compaction, zstd", 100, Codec.ZSTD, is_compacted=True),
)


@dataclass
class Found:
    """MB a second of what one broker did, by load: on the clock, and for each second of CPU meanwhile."""

    rates: dict[str, float] = field(default_factory=dict)
    cpu_rates: dict[str, float] = field(default_factory=dict)
    start_cpu_s: float = 0.0
    """Of the start, all recoveries included."""


def main() -> int:
    options = _options()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    loads = [load for load in LOADS if options.only in load.title]
    with tempfile.TemporaryDirectory(prefix="kafka-zk-bench-", dir=options.folder) as folder_name:
        folder = Path(folder_name)
        sources = {load: _written(folder / "source", load, options.megabytes * 1_000_000) for load in loads}
        zookeeper = EmbeddedZooKeeper(folder / "zookeeper")
        brokers = [(our_broker(folder / "ours", zookeeper.connect, OVERRIDES), folder / "ours")]
        if not options.ours_alone:
            brokers.append((apache_broker(folder / "apache", zookeeper.connect, OVERRIDES), folder / "apache"))
        zookeeper.start()
        found = []
        try:
            for broker, place in brokers:
                found.append(_measured(broker, place, sources))
        except Exception:
            print(f"the end of {broker.name}'s log:\n{broker.log_end()}", file=sys.stderr)
            raise
        finally:
            for broker, _ in brokers:
                broker.stop()
            zookeeper.stop()
    _print(loads, [broker.name for broker, _ in brokers], found)
    missed = _missed(loads, found[0])
    for sentence in missed:
        print(f"floor missed: {sentence}")
    return 1 if missed and options.check else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.same_directory", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000, help="size of each log (default 1000)")
    parser.add_argument("--only", default="", help="run only the loads whose title contains this")
    parser.add_argument(
        "--ours-alone", action="store_true", help="skip Apache's broker; Java is only needed for ZooKeeper"
    )
    parser.add_argument("--check", action="store_true", help="exit 1 when a floor is missed")
    parser.add_argument("--folder", type=Path, help="directory for the brokers' data (default: TMPDIR)")
    return parser.parse_args()


def _written(folder: Path, load: Load, size_bytes: int) -> list[Path]:
    """The segments of a load; the last one holds one batch, and is the active one."""
    place = folder / load.name
    place.mkdir(parents=True)
    first = place / f"{0:020d}.log"
    if not load.is_compacted:
        write_segment(first, size_bytes, load.records)
        return [first]
    batches, end_offset = _keyed_batches(load), 0
    with first.open("wb") as file:
        while file.tell() < size_bytes:
            for batch in batches:
                struct.pack_into(">q", batch, 0, end_offset)
                file.write(batch)
                end_offset += load.records
    active = place / f"{end_offset:020d}.log"
    struct.pack_into(">q", batches[0], 0, end_offset)
    active.write_bytes(batches[0])
    return [first, active]


def _keyed_batches(load: Load) -> list[bytearray]:
    chance = random.Random(1)
    sample, batches = chance.randbytes(1 << 16), []
    for _ in range(POOL // load.records):
        rows = []
        for offset in range(load.records):
            at = chance.randrange(len(sample) - 40)
            key = b"key-%08d" % chance.randrange(KEYS)
            rows.append(Record(offset, 1_700_000_000_000, key, sample[at : at + 40] * 2))
        batches.append(build_batch(rows, codec=load.codec, leader_epoch=0))
    return batches


def _measured(broker: Broker, folder: Path, sources: Mapping[Load, list[Path]]) -> Found:
    broker.start()
    for load in sources:
        configs = {"cleanup.policy": "compact"} if load.is_compacted else {}
        broker.create_topic(load.name, 1, {**configs, "segment.bytes": str((1 << 31) - 1)})
    broker.stop()
    for name in LEFT_BY_A_STOP:
        (folder / "data" / name).unlink(missing_ok=True)
    for load, segments in sources.items():
        _replace(folder / "data" / f"{load.name}-0", segments)
    found, sizes = Found(), {load.name: segments[0].stat().st_size for load, segments in sources.items()}
    broker.launch()
    wanted = {load.name for load in sources}
    loaded = _awaited(folder, _LOADED, wanted, broker)
    used_s = found.start_cpu_s = cpu_seconds_of_tree(broker.pid)
    for load in sources:
        if not load.is_compacted:
            found.rates[load.name] = sizes[load.name] / 1e6 / max(float(loaded[load.name].groups[1]) / 1000, 1e-3)
    compacted = {load.name for load in sources if load.is_compacted}
    # One log is cleaned after the other.
    for name, told in sorted(_awaited(folder, _CLEANED, compacted, broker).items(), key=lambda each: each[1].cpu_s):
        read_mib, seconds = (float(text.replace(",", "")) for text in told.groups[1:])
        megabytes = read_mib * MIB / 1e6
        found.rates[name] = megabytes / max(seconds, 0.1)
        found.cpu_rates[name] = megabytes / max(told.cpu_s - used_s, 0.01)
        used_s = told.cpu_s
    broker.stop()
    return found


def _replace(partition: Path, segments: list[Path]) -> None:
    """Give a log other segments: what was derived from its own goes."""
    for file in partition.iterdir():
        if file.name != "partition.metadata":
            file.unlink()
    for segment in segments:
        os.link(segment, partition / segment.name)


class Told(NamedTuple):
    """A line of a broker's log: what the pattern holds, and what CPU the broker had used when it was seen."""

    groups: tuple[str, ...]
    cpu_s: float


def _awaited(folder: Path, pattern: re.Pattern[str], wanted: set[str], broker: Broker) -> dict[str, Told]:
    """What the broker says about each wanted topic, the first time it does."""
    found: dict[str, Told] = {}

    def all_told() -> bool:
        assert broker.is_running, f"{broker.name} ended"
        for log in (folder / "broker.log", *(folder / "logs").glob("log-cleaner.log")):
            text = log.read_text(errors="replace")
            matches = {match[1]: match.groups() for match in pattern.finditer(text) if match[1] in wanted}
            if matches.keys() - found.keys():
                cpu_s = cpu_seconds_of_tree(broker.pid)
                found.update((name, Told(groups, cpu_s)) for name, groups in matches.items() if name not in found)
        return wanted <= found.keys()

    wait_until(all_told, f"{broker.name} tells of {sorted(wanted)}", PATIENCE_S)
    return found


def _print(loads: list[Load], names: list[str], found: list[Found]) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, load average {os.getloadavg()[0]:.1f}")
    print(f"{'MB a second, by the clock':46s}" + "".join(f"{name:>14s}" for name in names))
    for load in loads:
        print(f"{load.title:46s}" + "".join(f"{each.rates[load.name]:14.0f}" for each in found))
        if load.is_compacted:
            print(f"{'  of CPU':46s}" + "".join(f"{each.cpu_rates[load.name]:14.0f}" for each in found))
    print(f"{'CPU of the start with all recoveries, s':46s}" + "".join(f"{each.start_cpu_s:14.1f}" for each in found))


def _missed(loads: list[Load], ours: Found) -> list[str]:
    """By CPU, which other work on the machine changes little. The floor of recovery is held by bench.segment."""
    rates = [(load.title, ours.cpu_rates[load.name]) for load in loads if load.is_compacted]
    return [
        f"{title}: {rate:.0f} MB/s of CPU, not {COMPACTION_FLOOR_MB_S:.0f}"
        for title, rate in rates
        if rate < COMPACTION_FLOOR_MB_S
    ]


if __name__ == "__main__":
    run_bench(main)
