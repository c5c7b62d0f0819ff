"""Our broker beside Apache Kafka 3.9.1 in one run: `python -m bench`. See README.md for what the columns mean."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from bench.brokers import Broker, apache_broker, our_broker
from bench.process import exit_code_of, resident_mb, run_bench
from bench.side_by_side import LOADS, Load, Result, idle_connection_kb, measure, results
from tests.support.zookeeper import EmbeddedZooKeeper

SETTLE_S = 1.0
CPU_FLOOR_US, READY_FLOOR_S, RESIDENT_FLOOR_MB = 15.0, 0.5, 80.0


OTHERS = {
    "bench.partitions": "5,000 partitions come and go, beside Apache; floors: seconds and memory",
    "bench.segment": "1 GB recovered, offsets and times found; floors: MB a second of CPU, microseconds",
    "bench.segment --records 1": "the same of single-record batches",
    "bench.same_directory": "the same logs recovered and compacted by both; floor: compaction, MB a second of CPU",
    "bench.compaction": "the cleaner alone; floor: MB a second of CPU",
    "bench.client_consumer": "our consumer beside confluent-kafka and kafka-python; floor: records a second",
    "bench.groups": "heartbeats, commits and a load of groups, beside Apache; floors: CPU, commits a second, seconds",
    "bench.controlled_stops": "writers and a group while brokers stop in order; floor: seconds of silence",
    "bench.rolling_restart": "each broker restarted in turn under load; floors: seconds of silence, none lost",
    "bench.acls": "100,000 ACLs loaded, checks; floors: seconds, share of a core",
    "bench.secured": "produce, fetch and handshakes over TLS, beside Apache; floors: ratios to Apache's",
    "bench.dump_log": "kafka-dump-log beside Apache's; floor: its seconds",
}
"""What else there is, each a module that knows --check."""


def main() -> int:
    options = _options()
    if options.list:
        for command, what in {"bench": "requests and memory, beside Apache", **OTHERS}.items():
            print(f"python -m {command:28s}{what}")
        return 0
    code = _run_requests(options)
    for command in OTHERS if options.all else ():
        print(f"\npython -m {command}", flush=True)
        checked = ("--check",) if options.check else ()
        code = max(code, exit_code_of([sys.executable, "-m", *command.split(), *checked]))
    return code


def _run_requests(options: argparse.Namespace) -> int:
    loads = [load for load in LOADS if options.only in load.name]
    with tempfile.TemporaryDirectory(prefix="kafka-zk-bench-", dir=options.folder) as folder_name:
        folder = Path(folder_name)
        zookeeper = EmbeddedZooKeeper(folder / "zookeeper")
        brokers: list[Broker] = []
        try:
            zookeeper.start()
            brokers.append(our_broker(folder / "ours", zookeeper.connect))
            if not options.ours_alone:
                brokers.append(apache_broker(folder / "apache", zookeeper.connect))
            return _run(brokers, loads, options)
        except Exception:
            for broker in brokers:
                print(f"the end of {broker.name}'s log:\n{broker.log_end()}", file=sys.stderr)
            raise
        finally:
            for broker in brokers:
                broker.stop()
            zookeeper.stop()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="seconds of each load on each broker (default 3)")
    parser.add_argument("--warm", type=float, default=2, help="seconds of warm-up with the same load (default 2)")
    parser.add_argument("--heat", type=float, default=12, help="seconds of small produces before the first load: a JVM "
                        "compiles for that long")  # fmt: skip
    parser.add_argument("--only", default="", help="run only the loads whose name contains this")
    parser.add_argument(
        "--ours-alone", action="store_true", help="skip Apache's broker; Java is only needed for ZooKeeper"
    )
    parser.add_argument("--check", action="store_true", help="exit 1 when a floor of docs/performance.md is missed")
    parser.add_argument("--list", action="store_true", help="only list the benches")
    parser.add_argument("--all", action="store_true", help="run all benches; the exit code is the worst of all")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--folder", type=Path, help="directory for the brokers' data (default: TMPDIR)")
    return parser.parse_args()


def _run(brokers: list[Broker], loads: list[Load], options: argparse.Namespace) -> int:
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, Python {platform.python_version()}, {platform.machine()}, "
          f"{_cpu_model()}")  # fmt: skip
    # An installed package has its byte code; a checkout has it from the second start on, unless told not to keep it.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    brokers[0].start()
    brokers[0].stop()
    for broker in brokers:
        broker.start()
    if not brokers[0].runs_compiled():
        print("our broker runs a pure twin; build the compiled modules first (see README.md)", file=sys.stderr)
        return 2
    time.sleep(SETTLE_S)
    _print_header([broker.name for broker in brokers])
    idle_mb = [resident_mb(broker.pid) for broker in brokers]
    _print_row("start to ready, s", [broker.ready_s for broker in brokers], "6.2f")
    _print_row("resident idle, MB", idle_mb, "6.0f")
    connection_kb = [idle_connection_kb(broker) for broker in brokers]
    _print_row("an open connection, KB", connection_kb, "6.1f")
    for broker in brokers:
        measure(broker, LOADS[0], seconds=options.heat, warm_s=0)
    found: dict[str, list[Result]] = {}
    for load, both in results(brokers, loads, seconds=options.seconds, warm_s=options.warm):
        found[load.name] = both
        _print_load(load.name, both)
    loaded_mb = [resident_mb(broker.pid) for broker in brokers]
    _print_row("resident after load, MB", loaded_mb, "6.0f")
    if options.json is not None:
        figures = {
            "ready_s": [broker.ready_s for broker in brokers],
            "resident_idle_mb": idle_mb,
            "resident_loaded_mb": loaded_mb,
            "connection_kb": connection_kb,
            "loads": {name: [asdict(result) for result in both] for name, both in found.items()},
        }
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    missed = _missed(brokers[0], idle_mb[0], found)
    for sentence in missed:
        print(f"floor missed: {sentence}")
    return 1 if missed and options.check else 0


def _missed(ours: Broker, idle_mb: float, found: dict[str, list[Result]]) -> list[str]:
    missed = []
    small = found.get(LOADS[0].name)
    if small is not None and small[0].cpu_us_a_request > CPU_FLOOR_US:
        missed.append(f"{small[0].cpu_us_a_request:.1f} us broker CPU for a 1-record produce, not {CPU_FLOOR_US:.0f}")
    if ours.ready_s > READY_FLOOR_S:
        missed.append(f"ready after {ours.ready_s:.2f} s, not {READY_FLOOR_S}")
    if idle_mb > RESIDENT_FLOOR_MB:
        missed.append(f"{idle_mb:.0f} MB resident idle, not {RESIDENT_FLOOR_MB:.0f}")
    return missed


def _print_header(names: list[str]) -> None:
    print(f"{'':46s}" + "".join(f"{name:>14s}" for name in names) + ("   ours/Apache" if len(names) > 1 else ""))


def _print_row(title: str, values: list[float], form: str) -> None:
    ratio = f"{values[0] / values[1]:14.2f}" if len(values) > 1 and values[1] else ""
    print(f"{title:46s}" + "".join(f"{format(value, form):>14s}" for value in values) + ratio, flush=True)


def _print_load(name: str, both: list[Result]) -> None:
    print(name)
    _print_row("  requests a second", [result.requests_a_second for result in both], ",.0f")
    _print_row("  broker CPU a request, us", [result.cpu_us_a_request for result in both], ".1f")
    _print_row("  MB a second", [result.megabytes_a_second for result in both], ",.0f")
    _print_row("  broker CPU seconds a GB", [result.cpu_s_a_gigabyte for result in both], ".2f")
    _print_row("  p50, ms", [result.p50_ms for result in both], ".2f")
    _print_row("  p99, ms", [result.p99_ms for result in both], ".2f")


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown CPU"


if __name__ == "__main__":
    run_bench(main)
