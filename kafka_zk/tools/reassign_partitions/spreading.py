"""kafka-reassign-partitions.sh --drain and --balance: looks at a cluster, plans, asks, and moves in waves.

Role        Acts, through the admin client; what moves where is decided in spread.py. Not in Apache's tool.
Invariants  Between two waves nothing moves: there a run may end, and the next one plans anew from what is.
            A broker that dies while replicas move to it is noticed: their moves are cancelled, and the run ends once
            the others of the wave have arrived. The throttle goes when nothing moves any more, and is told if it stays.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kafka_zk.client.admin.log_dirs import Replica
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError, NoReassignmentInProgress, ReplicaNotAvailable, UnknownTopicOrPartition
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.failures import FAILURES, Refused
from kafka_zk.tools.common.java_output import message_of
from kafka_zk.tools.common.program import ONE_SIGNAL_S, heeded_signals
from kafka_zk.tools.reassign_partitions import spread
from kafka_zk.tools.reassign_partitions.cluster_load import BrokerLoad, ClusterLoad, Directory
from kafka_zk.tools.reassign_partitions.spread_options import (
    Change,
    Wanted,
    changes,
    progress,
    summary,
    table,
)
from kafka_zk.tools.reassign_partitions.spread_throttle import Throttle

if TYPE_CHECKING:
    from kafka_zk.client.admin.admin_client import AdminClient

POLL_S = 0.5
GRACE_S = 30.0
"""How long a broker may be away, as in a restart, before moves to it are given up."""
TOPICS_AT_ONCE = 500
CLEAR_LINE = "\r\x1b[K"


class Stop:
    """Whether Ctrl-C was pressed, or the terminal closed. A second Ctrl-C raises KeyboardInterrupt.

    `timeout` sends each signal twice: within ONE_SIGNAL_S that counts as one.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self._asked_s = 0.0

    def __call__(self, number: int, _: Any) -> None:
        if number == signal.SIGHUP:
            # Nobody reads any more, and a closed terminal takes nothing. Several of these come for one terminal.
            sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (for as long as the process lives)
        elif self.is_asked:
            if time.monotonic() - self._asked_s < ONE_SIGNAL_S:
                return
            raise KeyboardInterrupt
        self.is_asked, self._asked_s = True, time.monotonic()
        print("\nWaiting for the moves under way. Ctrl-C again ends at once.", file=sys.stderr)


@contextmanager
def stopped_by_signals(stop: Stop) -> Iterator[None]:
    """The signals that would end the program set `stop` while the context lasts."""
    before = {number: signal.signal(number, stop) for number in heeded_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Spreading:
    """One run. `again` is the command line that goes on."""

    def __init__(self, admin: AdminClient, wanted: Wanted, again: str, *, grace_s: float = GRACE_S) -> None:
        self.admin = admin
        self.wanted = wanted
        self.again = again
        self.grace_s = grace_s
        self.stop = Stop()

    def run(self, ask: Callable[[str], bool]) -> int:
        """Blocks. The exit code: 0 once all is done or nothing was wanted, 1 if something is left."""
        if not self._wait_for_others():
            return 1
        load = self._look()
        before = dict(load.assignment)
        try:
            if self.wanted.drained:
                spread.drain(load, self.wanted.drained)
            else:
                spread.balance(load)
        except spread.NoPlaceLeft as error:
            raise Refused(str(error)) from None
        planned = changes(before, load)
        print("\n".join(table(before, load)))
        if not planned:
            print("Nothing has to move.")
            return 0
        print(summary(planned, load, self.wanted.throttle))
        if not self.wanted.is_confirmed and not ask("Do it? [y/N] "):
            print("Nothing was changed.")
            return 0
        with stopped_by_signals(self.stop):
            return self._move(planned, load)

    # --- looking ------------------------------------------------------------------------------------------------------

    def _wait_for_others(self) -> bool:
        """Blocks. Until nothing moves any more: what an ended run began, or somebody else. False if one was stopped."""
        ongoing = self.admin.list_partition_reassignments()
        if not ongoing:
            return True
        print(f"{len(ongoing)} partitions move already. Waiting for them.", flush=True)
        waiting = [Change(partition, (), tuple(each.adding_replicas)) for partition, each in ongoing.items()]
        with stopped_by_signals(self.stop):
            return self._settled(waiting, lambda _: None, is_own=False)

    def _look(self) -> ClusterLoad:
        nodes = {node.id: node.rack for node in self.admin.describe_cluster().nodes}
        unknown = [each for each in self.wanted.drained if each not in nodes]
        names = [topic.name for topic in self.admin.list_topics(internal=True)]
        assignment: dict[TopicPartition, Sequence[int]] = {}
        for start in range(0, len(names), TOPICS_AT_ONCE):
            for name, topic in self.admin.describe_each_topic(names[start : start + TOPICS_AT_ONCE]).items():
                if isinstance(topic, UnknownTopicOrPartition):
                    continue
                if isinstance(topic, BrokerError):
                    raise topic
                for each in topic.partitions:
                    if nodes.keys() & set(each.replicas):
                        assignment[TopicPartition(name, each.partition)] = each.replicas
                    else:
                        print(f"{name}-{each.partition}: none of its replicas lives, so it is left where it is")
        known = {each for replicas in assignment.values() for each in replicas}
        if nobody := [each for each in unknown if each not in known]:
            there_are = ", ".join(map(str, sorted(nodes)))
            raise Refused(f"Unknown broker: {', '.join(map(str, nobody))}. There are {there_are}.")
        sizes: dict[TopicPartition, int] = {}
        brokers = []
        for broker_id, found in self.admin.describe_log_dirs(sorted(nodes)).items():
            directories = []
            for path, directory in sorted(found.items()):
                if directory.error is not None:
                    continue
                used = 0
                for partition, replica in directory.replicas.items():
                    used += replica.size_bytes
                    if not replica.is_future:
                        sizes[partition] = max(sizes.get(partition, 0), replica.size_bytes)
                directories.append(Directory(path, used, directory.usable_bytes, len(directory.replicas)))
            brokers.append(BrokerLoad(broker_id, nodes[broker_id], directories))
        return ClusterLoad(brokers, assignment, sizes)

    # --- moving -------------------------------------------------------------------------------------------------------

    def _move(self, planned: Sequence[Change], load: ClusterLoad) -> int:
        throttle = None if self.wanted.throttle is None else Throttle(self.admin, self.wanted.throttle)
        is_complete = False
        try:
            is_complete = self._waves(planned, load, throttle)
        except KeyboardInterrupt:
            without = "" if throttle is None else ", without a throttle"
            print(f"Ended at once: what is under way goes on{without}.", file=sys.stderr)
        finally:
            if throttle is not None:
                _remove(throttle)
        if is_complete:
            print("Done.")
            return 0
        print(f"Not done. What is left is done by the same command:\n  {self.again}")
        return 1

    def _waves(self, planned: Sequence[Change], load: ClusterLoad, throttle: Throttle | None) -> bool:
        total_bytes = sum(load.size(each.partition) * len(each.coming) for each in planned)
        done = done_bytes = 0
        failed = False
        for start in range(0, len(planned), self.wanted.at_a_time):
            wave = planned[start : start + self.wanted.at_a_time]
            if self.stop.is_asked or not self._prepare(wave, load, throttle):
                return False
            try:
                begun, refused = self._begin(wave)
            except KafkaException as error:
                # Only the answer may be lost. The throttle stays until what was begun has arrived.
                print(f"{message_of(error)}. Waiting for the moves that may have begun.", file=sys.stderr)
                self._settled(wave, lambda _: None)
                raise
            failed = failed or refused

            def show(arrived: Sequence[Change], before: int = done, before_bytes: int = done_bytes) -> None:
                size = sum(load.size(each.partition) * len(each.coming) for each in arrived)
                _show(progress(before + len(arrived), len(planned), before_bytes + size, total_bytes))

            settled = self._settled(begun, show)
            self._lead(wave)
            if not settled:
                return False
            done += len(wave)
            done_bytes += sum(load.size(each.partition) * len(each.coming) for each in wave)
            _show(progress(done, len(planned), done_bytes, total_bytes), is_last=done == len(planned))
        return not failed

    def _prepare(self, wave: Sequence[Change], load: ClusterLoad, throttle: Throttle | None) -> bool:
        """Blocks. Throttle and place what is about to move; False if nothing shall begin any more."""
        for sentence in throttle.set(wave) if throttle is not None else ():
            print(sentence, flush=True)
        self._place(wave, load)
        return not self.stop.is_asked

    def _place(self, wave: Sequence[Change], load: ClusterLoad) -> None:
        """Blocks. Name the planned directory of each replica that comes: a broker remembers it until it has one."""
        wanted = {
            Replica(*change.partition, broker_id): load.places[change.partition, broker_id]
            for change in wave
            for broker_id in change.coming
            if len(load.brokers[broker_id].directories) > 1
        }
        if not wanted:
            return
        for replica, error in self.admin.alter_replica_log_dirs(wanted).items():
            if error is not None and not isinstance(error, ReplicaNotAvailable):
                print(f"{replica}: no directory could be chosen ({message_of(error)})", flush=True)

    def _begin(self, wave: Sequence[Change]) -> tuple[list[Change], bool]:
        outcomes = self.admin.alter_partition_reassignments({each.partition: each.after for each in wave})
        begun, refused = [], False
        for change in wave:
            error = outcomes[change.partition]
            if error is None:
                begun.append(change)
            elif isinstance(error, UnknownTopicOrPartition):
                print(f"{change.partition}: its topic was deleted meanwhile", flush=True)
            else:
                refused = True
                print(f"{change.partition}: {message_of(error)}", flush=True)
        return begun, refused

    def _settled(
        self, wave: Sequence[Change], show: Callable[[Sequence[Change]], None], *, is_own: bool = True
    ) -> bool:
        """Blocks. Until nothing of the wave moves any more; False if a broker died that it moved to.

        What this run did not begin is not cancelled, and Ctrl-C ends the wait for it.
        """
        away_since: dict[int, float] = {}
        is_whole = True
        while True:
            if self.stop.is_asked and not is_own:
                return False
            try:
                ongoing = self.admin.list_partition_reassignments([each.partition for each in wave])
                living = {node.id for node in self.admin.describe_cluster().nodes}
            except FAILURES as error:
                print(f"Asking again: {message_of(error)}", file=sys.stderr)
                time.sleep(POLL_S)
                continue
            moving = [each for each in wave if each.partition in ongoing]
            show([each for each in wave if each.partition not in ongoing])
            if not moving:
                return is_whole
            now = time.monotonic()
            targets = {each for change in moving for each in ongoing[change.partition].adding_replicas}
            away_since = {each: away_since.get(each, now) for each in targets - living}
            dead = {each for each, since in away_since.items() if now - since >= self.grace_s}
            if dead:
                lost = [each for each in moving if dead & {*ongoing[each.partition].adding_replicas}]
                self._give_up(dead, lost, is_own=is_own)
                if not is_own:
                    return False
                is_whole = False
                wave = [each for each in wave if each not in lost]
            time.sleep(POLL_S)

    def _give_up(self, dead: set[int], moving: Sequence[Change], *, is_own: bool) -> None:
        listed = ", ".join(str(each.partition) for each in moving)
        print(f"\nBroker {', '.join(map(str, sorted(dead)))} died while replicas moved to it: {listed}.", flush=True)
        if not is_own:
            print("This run did not begin that. Start the broker, or end it with --cancel, and try again.", flush=True)
            return
        outcomes = self.admin.alter_partition_reassignments({each.partition: None for each in moving})
        for partition, error in outcomes.items():
            if error is not None and not isinstance(error, NoReassignmentInProgress | UnknownTopicOrPartition):
                print(f"{partition}: the move could not be cancelled ({message_of(error)})", flush=True)
        if None in outcomes.values():
            print("Moves were cancelled: those replicas are where they were. The others are waited for.", flush=True)

    def _lead(self, wave: Sequence[Change]) -> None:
        """Blocks. Let preferred leaders that changed lead now; what cannot yet is left to the controller."""
        from kafka_zk.client.admin.elections import ElectionType

        changed = [each.partition for each in wave if each.before[:1] != each.after[:1]]
        if changed:
            self.admin.elect_leaders(ElectionType.PREFERRED, changed)


def _remove(throttle: Throttle) -> None:
    """Blocks. Says what stays of the throttle. Raises KeyboardInterrupt."""
    try:
        told = throttle.remove()
    except KeyboardInterrupt:
        print("\n".join(throttle.left()), flush=True)
        raise
    print("\n".join(told), end="\n" if told else "", flush=True)


def _show(line: str, *, is_last: bool = False) -> None:
    """One line that changes on a terminal; only the last state elsewhere."""
    if sys.stdout.isatty():
        print(f"{CLEAR_LINE}{line}", end="\n" if is_last else "", flush=True)
    elif is_last:
        print(line, flush=True)


def ask_on_terminal(question: str) -> bool:
    """Blocks. Whether somebody at the terminal says yes. Raises Refused where there is no terminal."""
    if not sys.stdin.isatty():
        raise Refused("Nothing was changed: there is no terminal to ask on. Add --yes to do it.")
    return input(question).strip().lower() in ("y", "yes")
