"""How long clients stand still while a broker stops in order: `python -m bench.controlled_stops`.

One writer for each partition, acks=all, one record in flight; a group of two members reads. The broker that leads most
partitions is stopped with SIGTERM and, once it is gone, started again. The longest time between two acknowledgements
until all are in sync again is the writers' silence; the longest time without a record of one partition is the group's,
which has the writers' in it.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from bench.clusters import KINDS, OURS, PARTITION_COUNT, Cluster, Kind, running_cluster
from bench.process import run_bench
from bench.silences import Reader, Summary, Writer, silence_of
from tests.support.processes import wait_until

TOPIC = "bench-stops"
MEMBERS = 2
FLOOR_S = 1.0
"""Apache's brokers among themselves: at most so long."""

QUIET_S, AFTERWARDS_S = 2.0, 3.0


class Stop(NamedTuple):
    """One controlled stop. `kind`: of the broker that went, of those that lead after it, and of the controller."""

    kind: str
    took_s: float
    silence_s: float
    began_s: float
    group_silence_s: float
    concerns_ours: bool
    told: Counter[str]


def stop_once(
    cluster: Cluster, writers: Sequence[Writer], readers: Sequence[Reader], kind: Kind, *, min_isr: int
) -> Stop:
    """Stop the broker of a kind that leads most partitions, and start it again."""
    before = cluster.leaders(cluster.members[0])
    chosen = [each for each in cluster.members if cluster.kind_of(each.broker_id) == kind]
    leaving = max(chosen, key=lambda each: list(before.values()).count(each.broker_id))
    others = [each for each in cluster.members if each is not leaving]
    controller = cluster.controller
    began_s = time.monotonic()
    leaving.stop()
    gone_s = time.monotonic()
    # Who lacks a replica to write waits for its return.
    time.sleep(AFTERWARDS_S if min_isr < len(cluster.members) else 0)
    after = cluster.leaders(others[0])
    leaving.start()
    cluster.wait_in_sync()
    moved = [index for index, leader in before.items() if leader == leaving.broker_id]
    to = {cluster.kind_of(after[index]) for index in moved if after.get(index, -1) >= 0}
    time.sleep(QUIET_S)
    span = (began_s - 0.5, time.monotonic())
    (silence_s, since_s), slowest = max(((each.silence(*span), each) for each in writers), key=lambda pair: pair[0])
    told = Counter(what for at_s, what in slowest.refusals if since_s <= at_s <= since_s + silence_s)
    group_silence_s = silence_of(readers, PARTITION_COUNT, *span)
    name = f"{kind} -> {'+'.join(sorted(to)) or 'nobody'}, controller {controller}"
    return Stop(name, gone_s - began_s, silence_s, since_s - began_s, group_silence_s, OURS in name, told)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.controlled_stops", description=__doc__)
    parser.add_argument("--stops", type=int, default=20, help="number of stops (default 20)")
    parser.add_argument(
        "--replicas", type=int, default=3, choices=(2, 3), help="number of brokers, and replication factor (default 3)"
    )
    parser.add_argument("--min-isr", type=int, default=1, choices=(1, 2), help="min.insync.replicas (default 1)")
    parser.add_argument(
        "--cluster", default="ours", choices=KINDS, help="whose brokers; mixed: every second one, and every second stop"
    )
    parser.add_argument(
        "--controller", choices=("ours", "apache"), help="in a mixed cluster, whose broker is to control"
    )
    parser.add_argument("--check", action="store_true", help=f"exit 1 where writers are silent for over {FLOOR_S} s")
    given = parser.parse_args()
    kinds = KINDS[given.cluster]
    controlling = {"ours": OURS, "apache": "Apache"}.get(given.controller)
    if controlling is not None and controlling not in kinds:
        parser.error(f"--controller {given.controller} is no broker of this cluster")
    stops: list[Stop] = []
    clients: list[Writer | Reader] = []
    with running_cluster(kinds, given.replicas, TOPIC, min_isr=given.min_isr) as cluster:
        try:
            writers = [Writer(cluster.bootstraps, TOPIC, index) for index in range(PARTITION_COUNT)]
            clients += writers
            readers = [Reader(cluster.bootstraps, TOPIC, "bench-stops") for _ in range(MEMBERS)]
            clients += readers
            wait_until(lambda: all(writer.acknowledged_s for writer in writers), "writers write")
            wait_until(
                lambda: len({index for each in readers for index in each.read_s}) == PARTITION_COUNT, "members read"
            )
            time.sleep(QUIET_S)
            for number in range(given.stops):
                if controlling is not None:
                    cluster.let_control(controlling)
                stops.append(stop_once(cluster, writers, readers, kinds[number % len(kinds)], min_isr=given.min_isr))
                print(
                    f"{number + 1:4d}  {stops[-1].kind:38}  silence {stops[-1].silence_s:6.2f} s from "
                    f"{stops[-1].began_s:6.2f} s on, of the group {stops[-1].group_silence_s:6.2f} s   "
                    f"stopped in {stops[-1].took_s:5.2f} s  "
                    f"{', '.join(f'{what} x{count}' for what, count in stops[-1].told.items())}",
                    flush=True,
                )
        finally:
            for client in clients:
                client.stop()
        for failure in (failure for reader in readers for failure in reader.failures):
            print(f"a member's poll failed: {failure}")
    print(f"{'p50, p99 and longest silence':44} {'of writers':>20} {'of the group':>20}")
    for kind in sorted({stop.kind for stop in stops}):
        alike = [stop for stop in stops if stop.kind == kind]
        of_writers = Summary.of([stop.silence_s for stop in alike])
        of_the_group = Summary.of([stop.group_silence_s for stop in alike])
        print(f"{kind:36} {len(alike):3} x {of_writers!s:>21} {of_the_group!s:>20}")
    too_long = [stop for stop in stops if stop.concerns_ours and stop.silence_s > FLOOR_S]
    return 1 if given.check and too_long else 0


if __name__ == "__main__":
    run_bench(main)
