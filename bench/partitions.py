"""Many partitions: how long a broker takes to come and go with them, ours beside Apache Kafka 3.9.1.

`python -m bench.partitions`: topics of 1,000 partitions, a record in each, then on the same data: stopped in order,
started, killed with -9, started. A start ends when every partition has a leader and tells its log end offset.
"""

from __future__ import annotations

import argparse
import os
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import frames
from bench.brokers import Broker, apache_broker, our_broker
from bench.load import ask
from bench.process import cpu_seconds_of_tree, resident_mb_of_tree, run_bench
from kafka_zk.protocol.messages.list_offsets import (
    LIST_OFFSETS_REQUEST,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest, MetadataRequestTopic
from tests.support.processes import POLL_S
from tests.support.raw_client import ConnectionClosed, RawClient
from tests.support.zookeeper import EmbeddedZooKeeper

PARTITIONS_PER_TOPIC = 1000
TIMEOUT_S = 180
LATEST = -1

CLEAN_START_FLOOR_S, KILLED_START_FLOOR_S, STOP_FLOOR_S, RESIDENT_FLOOR_MB = 3.0, 6.0, 3.0, 150.0


@dataclass
class Figures:
    """What one broker took, the best of its rounds: seconds on the clock, seconds of CPU, MB of memory."""

    created_s: float = 0.0
    stop_s: float = 0.0
    stop_cpu_s: float = 0.0
    clean_start_s: float = 0.0
    clean_start_cpu_s: float = 0.0
    clean_resident_mb: float = 0.0
    killed_start_s: float = 0.0
    killed_start_cpu_s: float = 0.0
    killed_resident_mb: float = 0.0


ROWS = (
    ("created, s", "created_s", ".1f"),
    ("stopped in order, s", "stop_s", ".2f"),
    ("  of CPU", "stop_cpu_s", ".2f"),
    ("start to all served, s", "clean_start_s", ".2f"),
    ("  of CPU", "clean_start_cpu_s", ".2f"),
    ("  resident then, MB", "clean_resident_mb", ".0f"),
    ("killed, start to all served, s", "killed_start_s", ".2f"),
    ("  of CPU", "killed_start_cpu_s", ".2f"),
    ("  resident then, MB", "killed_resident_mb", ".0f"),
)


class Estate:
    """One broker and its topics."""

    def __init__(self, broker: Broker, partition_count: int) -> None:
        self.broker = broker
        self.rounds: list[Figures] = []
        firsts = range(0, partition_count, PARTITIONS_PER_TOPIC)
        self._topics = {f"bench-{n}": min(PARTITIONS_PER_TOPIC, partition_count - n) for n in firsts}

    def fill(self) -> float:
        """Make the topics and write a record into each partition; how long the topics took."""
        self.broker.start()
        started = time.monotonic()
        for topic, count in self._topics.items():
            self.broker.create_topic(topic, count)
        created_s = time.monotonic() - started
        batch = frames.batch_of(1, 100)
        for topic, count in self._topics.items():
            ask(self.broker.port, frames.produce_to_all(topic, range(count), batch))
        assert self._is_served(), f"{self.broker.name} does not serve what it acknowledged"
        return created_s

    def go_round(self) -> None:
        """Stop it and start it, kill it and start it."""
        broker, took = self.broker, Figures()
        began, used_s, ended_s = time.monotonic(), cpu_seconds_of_tree(broker.pid), _children_cpu_s()
        broker.stop()
        took.stop_s = time.monotonic() - began
        took.stop_cpu_s = _children_cpu_s() - ended_s - used_s
        took.clean_start_s, took.clean_start_cpu_s, took.clean_resident_mb = self._start()
        broker.kill()
        took.killed_start_s, took.killed_start_cpu_s, took.killed_resident_mb = self._start()
        self.rounds.append(took)
        print(f"{broker.name}: {took}", file=sys.stderr, flush=True)

    def _start(self) -> tuple[float, float, float]:
        started = time.monotonic()
        self.broker.launch()
        while not self._is_served():
            assert time.monotonic() - started < TIMEOUT_S, f"{self.broker.name} does not serve after {TIMEOUT_S} s"
            if not self.broker.is_running:
                # Killed, Apache's is refused by its own registration until its session is over.
                self.broker.launch()
            time.sleep(POLL_S)
        pid = self.broker.pid
        return time.monotonic() - started, cpu_seconds_of_tree(pid), resident_mb_of_tree(pid)

    def _is_served(self) -> bool:
        """Whether every partition has a leader that tells its log end offset."""
        try:
            with RawClient(self.broker.bootstrap) as client:
                return all(map(partial(_is_led, client), self._topics.items())) and all(
                    map(partial(_tells_its_end, client), self._topics.items())
                )
        except (OSError, ConnectionClosed, struct.error):
            return False


def _is_led(client: RawClient, topic: tuple[str, int]) -> bool:
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name=topic[0])], allow_auto_topic_creation=False)
    (found,) = client.send(METADATA_REQUEST, wanted, 9).topics
    return len(found.partitions) == topic[1] and not any(each.error_code for each in found.partitions)


def _tells_its_end(client: RawClient, topic: tuple[str, int]) -> bool:
    partitions = [ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in range(topic[1])]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic[0], partitions=partitions)])
    (found,) = client.send(LIST_OFFSETS_REQUEST, request, 5).topics
    return all(each.offset == 1 and not each.error_code for each in found.partitions)


def _children_cpu_s() -> float:
    """CPU of our children that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def main() -> int:
    options = _options()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(prefix="kafka-zk-bench-", dir=options.folder) as folder_name:
        folder = Path(folder_name)
        zookeeper = EmbeddedZooKeeper(folder / "zookeeper")
        estates = [Estate(our_broker(folder / "ours", zookeeper.connect), options.count)]
        if not options.ours_alone:
            estates.append(Estate(apache_broker(folder / "apache", zookeeper.connect), options.count))
        zookeeper.start()
        try:
            created = [estate.fill() for estate in estates]
            for _ in range(options.rounds):
                for estate in estates:
                    estate.go_round()
        except Exception:
            for estate in estates:
                print(f"the end of {estate.broker.name}'s log:\n{estate.broker.log_end()}", file=sys.stderr)
            raise
        finally:
            for estate in estates:
                estate.broker.stop()
            zookeeper.stop()
    figures = [_best(estate.rounds, created_s) for estate, created_s in zip(estates, created, strict=True)]
    _print(options.count, [estate.broker.name for estate in estates], figures)
    missed = list(_missed(figures[0]))
    for sentence in missed:
        print(f"floor missed: {sentence}")
    return 1 if missed and options.check else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.partitions", description=__doc__)
    parser.add_argument("--count", type=int, default=5000, help="number of partitions (default 5000)")
    parser.add_argument(
        "--rounds", type=int, default=1, help="rounds of stop, start, kill, start (default 1); the best counts"
    )
    parser.add_argument(
        "--ours-alone", action="store_true", help="skip Apache's broker; Java is only needed for ZooKeeper"
    )
    parser.add_argument("--check", action="store_true", help="exit 1 when a floor is missed")
    parser.add_argument("--folder", type=Path, help="directory for the brokers' data (default: TMPDIR)")
    return parser.parse_args()


def _best(rounds: list[Figures], created_s: float) -> Figures:
    best = Figures(**{name: min(getattr(each, name) for each in rounds) for _, name, _ in ROWS})
    best.created_s = created_s
    return best


def _print(count: int, names: list[str], figures: list[Figures]) -> None:
    print(f"{f'{count} partitions, a record in each':46s}" + "".join(f"{name:>14s}" for name in names))
    for title, name, form in ROWS:
        print(f"{title:46s}" + "".join(f"{format(getattr(each, name), form):>14s}" for each in figures))


def _missed(ours: Figures) -> Iterator[str]:
    floors = (
        ("stopped in order", ours.stop_s, STOP_FLOOR_S, "s"),
        ("served after a clean stop", ours.clean_start_s, CLEAN_START_FLOOR_S, "s"),
        ("served after a kill", ours.killed_start_s, KILLED_START_FLOOR_S, "s"),
        ("resident", ours.clean_resident_mb, RESIDENT_FLOOR_MB, "MB"),
    )
    for what, found, floor, unit in floors:
        if found > floor:
            yield f"{what}: {found:.1f} {unit}, not {floor:.0f}"


if __name__ == "__main__":
    run_bench(main)
