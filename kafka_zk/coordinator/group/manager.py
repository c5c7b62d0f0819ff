"""GroupManager: loads and unloads groups as leadership of __consumer_offsets changes.

Role        Acts: loads and unloads partitions, removes expired offsets and groups, and holds every group in memory.
Invariants  One greenlet runs all that blocks (loading, expiry, clean-up after deleted topics), one after another.
            Memory and log change together: what is removed from memory gets its tombstones without a switch. Refused
            tombstones put it back, but for offsets whose topic was deleted meanwhile.
            A group is in memory only while its partition is owned, or about to be.
Source      Kafka 3.9 GroupMetadataManager.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

import gevent

from kafka_zk.clock import Clock, Timer
from kafka_zk.coordinator.group.append_errors import GROUP_RECORD_ERRORS
from kafka_zk.coordinator.group.decisions.expiry import expired_offsets
from kafka_zk.coordinator.group.decisions.group import Group
from kafka_zk.coordinator.group.decisions.membership import end_if_idle, loaded, unloaded
from kafka_zk.coordinator.group.decisions.offsets import Removed
from kafka_zk.coordinator.group.decisions.open_transactions import OpenTransactions
from kafka_zk.coordinator.group.decisions.records import group_key, offset_key
from kafka_zk.coordinator.group.decisions.replay import LogReplay
from kafka_zk.coordinator.group.gone_topics import GoneTopics, Loaded
from kafka_zk.coordinator.group.metrics import GroupMetrics
from kafka_zk.coordinator.group.performer import Performer
from kafka_zk.coordinator.loads import Loads
from kafka_zk.coordinator.ownership import Load, Ownership
from kafka_zk.coordinator.state_log import StateLog
from kafka_zk.coordinator.tasks import Tasks
from kafka_zk.giving_way import let_others_in
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.internal_topics import GROUP_METADATA_TOPIC
from kafka_zk.protocol.types import TopicPartition

OFFSETS_PER_TURN = 1_000
"""Offsets checked for removal before yielding to other greenlets: about a millisecond."""

TOMBSTONES_BYTES = 512 * 1024
"""Of one batch at most, below the default of max.message.bytes."""
LONGEST_TOPIC_PART = 300
"""Bytes of a tombstone besides the group's id: the topic, and the record's own overhead."""

NAME = "GroupMetadataManager"
log_lines = logging.getLogger("kafka.coordinator.group.GroupMetadataManager")


class _Removal:
    """Offsets of a group whose tombstones are being written: they are restored if that is refused."""

    __slots__ = ("group", "offsets")

    def __init__(self, group: Group, offsets: Mapping[TopicPartition, Removed]) -> None:
        self.group = group
        self.offsets = dict(offsets)


class GroupManager:
    """`groups` by id. `retention_ms` and `check_interval_ms` rule the expiry of offsets."""

    def __init__(
        self,
        *,
        clock: Clock,
        log: StateLog,
        performer: Performer,
        partition_of: Callable[[str], int],
        is_known_topic: Callable[[str], bool],
        gone_topics: Callable[[Collection[str]], Collection[str]],
        retention_ms: int,
        check_interval_ms: int,
        metrics: GroupMetrics,
    ) -> None:
        self.groups: dict[str, Group] = {}
        self.ownership = Ownership(GROUP_METADATA_TOPIC)
        self.open_transactions = OpenTransactions()
        self.partition_of = partition_of
        self._clock = clock
        self._log = log
        self._performer = performer
        self._retention_ms = retention_ms
        self._check_interval_ms = check_interval_ms
        self._metrics = metrics
        self._load_count = 0
        self._deleted: list[frozenset[TopicPartition]] = []
        """Partitions deleted while loads are queued or running: a load starts at the entry of its request."""
        self._ended_meanwhile: defaultdict[Load, list[tuple[int, bool, int]]] = defaultdict(list)
        """By load: the transactions that ended since it was requested, by producer id; True for a commit."""
        self._removals: set[_Removal] = set()
        self._unburied: list[tuple[Group, Collection[TopicPartition]]] = []
        self._tasks = Tasks(NAME)
        self._loads = Loads(
            clock=clock,
            ownership=self.ownership,
            tasks=self._tasks,
            unload=lambda partition: self._unload_groups([partition]),
            took=metrics.loaded,
            name=NAME,
            log=log_lines,
        )
        self._timer: Timer | None = None
        self._gone_topics = GoneTopics(is_known=is_known_topic, gone=gone_topics, forget=self._forget_loaded)

    # --- life --------------------------------------------------------------------------------------------------------

    def startup(self) -> None:
        self._tasks.start()
        self._gone_topics.startup()
        self._await_next_check()

    def shutdown(self) -> None:
        """Blocks. Stop loading and expiring; group timers no longer fire."""
        if self._timer is not None:
            self._timer.cancel()
        self._gone_topics.shutdown()
        self._tasks.stop()
        self._performer.timers.stop_all()

    # --- leadership --------------------------------------------------------------------------------------------------

    def elected(self, partition: int, leader_epoch: int) -> None:
        """Called when this broker becomes leader of a partition: load it in the background. Does not switch."""
        load = self.ownership.elected(partition, leader_epoch)
        if load is not None:
            log_lines.info("[GroupMetadataManager] Scheduling loading of offsets and group metadata: %s", load)
            first = len(self._deleted)
            self._load_count += 1
            self._loads.begin(load, partial(self._fill, load, first), partial(self._load_ended, load))

    def resigned(self, epochs: Mapping[int, int | None]) -> None:
        """Other brokers lead these partitions as of these epochs: drop their groups at once. Does not switch."""
        news = [partition for partition, epoch in epochs.items() if self.ownership.resigned(partition, epoch)]
        counts = self._unload_groups(news)
        for partition in news:
            log_lines.info(
                "[GroupMetadataManager] Unloaded %d groups of __consumer_offsets-%d", counts[partition], partition
            )

    def _unload_groups(self, partitions: Collection[int]) -> Counter[int]:
        """Returns how many of each partition. One pass over all groups, however many partitions."""
        going = frozenset(partitions)
        counts: Counter[int] = Counter()
        for group in list(self.groups.values()) if going else ():
            partition = self.partition_of(group.group_id)
            if partition in going:
                counts[partition] += 1
                del self.groups[group.group_id]
                self.open_transactions.forget(group)
                self._performer.decide(group, partial(unloaded, group))
        return counts

    def _load_ended(self, load: Load) -> None:
        self._ended_meanwhile.pop(load, None)
        self._load_count -= 1
        if not self._load_count:
            self._deleted.clear()

    def _fill(self, load: Load, first: int) -> str | None:
        """Blocks. See loads.Fill. Leaves out offsets of partitions deleted since: `_deleted` from `first` on."""
        replay = LogReplay()
        for batch in self._log.read(load.partition, lambda: self.ownership.is_current(load)):
            replay.apply(batch)
        groups, unknown = replay.groups(self._retention_ms, pause=let_others_in)
        if not self.ownership.is_current(load):
            return None
        gone = frozenset[TopicPartition]().union(*self._deleted[first:])
        for group in groups:
            if self.groups.setdefault(group.group_id, group) is group:
                self._forget_offsets([group], gone)
                self.open_transactions.note(group)
                self._performer.decide(group, partial(loaded, group))
        for producer_id, is_commit, marker_offset in self._ended_meanwhile.get(load, ()):
            self._end_transactions(producer_id, {load.partition: marker_offset}, is_commit)
        for version, count in sorted(unknown.items()):
            log_lines.warning(
                "[GroupMetadataManager] Unknown message key version %d while loading __consumer_offsets-%d: "
                "ignored %d records, which an upgraded broker may have written",
                version,
                load.partition,
                count,
            )
        self._gone_topics.look_through(groups)
        return f"{replay.record_count} records, {len(groups)} groups"

    # --- transactions ------------------------------------------------------------------------------------------------

    def handle_txn_completion(self, producer_id: int, markers: Mapping[int, int], *, is_commit: bool) -> None:
        """A producer's markers are in these partitions, at these offsets. Does not switch.

        A running load may have read past them already, or not reached them yet: what it finds ends with it. Apache ends
        it after all loads that wait, the next one too.
        """
        loaded: dict[int, int] = {}
        for partition, marker_offset in markers.items():
            load = self.ownership.loading_by(partition)
            if load is None:
                loaded[partition] = marker_offset
            else:
                self._ended_meanwhile[load].append((producer_id, is_commit, marker_offset))
        self._end_transactions(producer_id, loaded, is_commit)

    def _end_transactions(self, producer_id: int, markers: Mapping[int, int], is_commit: bool) -> None:
        for group_id in self.open_transactions.groups_of(producer_id):
            marker_offset = markers.get(self.partition_of(group_id))
            if marker_offset is None:
                continue
            group = self.groups.get(group_id)
            if group is None:
                # It went with the topics of its offsets.
                self.open_transactions.gone(producer_id, group_id)
            else:
                group.offsets.end_transaction(producer_id, is_commit=is_commit, marker_offset=marker_offset)
                self.open_transactions.settled(producer_id, group)
        self._bury_the_rest()

    # --- removal -----------------------------------------------------------------------------------------------------

    def handle_deleted_partitions(self, partitions: Collection[TopicPartition]) -> None:
        """Topics were deleted: remove their offsets at once; the tombstones follow. Does not switch.

        A topic of the same name may be created at once, and commits for it belong to the new topic.
        """
        gone = frozenset(partitions)
        if self._load_count:
            self._deleted.append(gone)
        self._forget_offsets(self.groups.values(), gone)
        self._let_none_return(gone)

    def _forget_offsets(self, groups: Iterable[Group], gone: frozenset[TopicPartition]) -> None:
        found = [(group, group.offsets.known_of(gone)) for group in groups] if gone else []
        removed = [(group, group.offsets.remove(known)) for group, known in found if known]
        if removed:
            self._tasks.later(lambda: self._bury(removed))

    def _let_none_return(self, gone: frozenset[TopicPartition]) -> None:
        """Exclude these from restoring if their tombstones are refused: others are written for them."""
        for removal in self._removals:
            going = [partition for partition in removal.offsets if partition in gone]
            for partition in going:
                del removal.offsets[partition]
            if going:
                self._tasks.later(partial(self._bury, [(removal.group, going)]))

    def _forget_loaded(self, offsets: Sequence[Loaded]) -> None:
        """Forget offsets of topics that were deleted before they were loaded, unless they changed since."""
        removed = [
            (group, group.offsets.expire([partition]))
            for group, partition, committed in offsets
            if self.groups.get(group.group_id) is group and group.offsets.committed.get(partition) == committed
        ]
        if removed:
            self._tasks.later(lambda: self._bury(removed))

    def _bury(self, removed: Sequence[tuple[Group, Collection[TopicPartition]]]) -> None:
        """Blocks. Write the tombstones of offsets of deleted topics. Refused ones are written later."""
        count = 0
        for group, partitions in removed:
            for some in _batches(group, partitions):
                if self._check_owned(group) is not ErrorCode.NONE:
                    break  # The next broker that loads them finds that their topic was deleted.
                if self._write_tombstones(group, some) is ErrorCode.NONE:
                    count += len(some)
                else:
                    self._unburied.append((group, some))
                gevent.sleep(0)
        log_lines.info("[GroupMetadataManager] Removed %d offsets associated with deleted partitions", count)

    def _bury_the_rest(self) -> None:
        if self._unburied:
            unburied, self._unburied = self._unburied, []
            self._tasks.later(lambda: self._bury(unburied))

    def _await_next_check(self) -> None:
        self._timer = self._clock.call_at(self._clock.monotonic_ms() + self._check_interval_ms, self._check)

    def _check(self) -> None:
        self._tasks.later(self.remove_expired)
        self._bury_the_rest()
        self._await_next_check()

    def remove_expired(self) -> None:
        """Blocks. Remove expired offsets, and groups that have nothing left."""
        now_ms = self._clock.wall_ms()
        count = 0
        for group in self._in_turns():
            expired = expired_offsets(group, now_ms=now_ms, retention_ms=self._retention_ms)
            _, removed_count = self.clean_up(group, group.offsets.expire(expired))
            count += removed_count
        self._metrics.expired_offsets += count
        if count:
            log_lines.info("[GroupMetadataManager] Removed %d expired offsets", count)

    def _in_turns(self) -> Iterator[Group]:
        """Blocks between groups. Yields each group that still exists."""
        looked_at = 0
        for group in list(self.groups.values()):
            if looked_at >= OFFSETS_PER_TURN:
                looked_at = 0
                gevent.sleep(0)
            if self.groups.get(group.group_id) is group:
                yield group
                looked_at += 1 + len(group.offsets.committed)

    def clean_up(self, group: Group, removed: Mapping[TopicPartition, Removed]) -> tuple[ErrorCode, int]:
        """Blocks. Write the tombstones of `removed` offsets, and of the group if it is empty.

        Returns NONE or an error for operators, and how many offsets were written. The others are put back,
        unless its topic was deleted meanwhile, or the groups were unloaded: then only the log counts.
        """
        count = 0
        load = self._load_of(group)
        removal = _Removal(group, removed)
        self._removals.add(removal)
        try:
            for some in _batches(group, removed):
                error = self._check_owned(group)
                if error is ErrorCode.NONE:
                    error = self._write_tombstones(group, some)
                if error is not ErrorCode.NONE:
                    if self._is_still_of(load, group):
                        self._put_back(group, removal.offsets)
                    return error, count
                count += len(some)
                for partition in some:
                    removal.offsets.pop(partition, None)
        finally:
            self._removals.discard(removal)
        return ErrorCode.NONE, count

    def _write_tombstones(self, group: Group, partitions: Sequence[TopicPartition]) -> ErrorCode:
        """Blocks. One batch: tombstones of removed offsets, but of none committed again since, and that of the group.

        If a pending commit or a transaction leaves that undecided, it is repeated once decided.
        """
        # The group may have ended since, with nothing in memory that names these, or been recreated.
        current = self.groups.get(group.group_id, group)
        undecided = [partition for partition in partitions if current.offsets.is_pending(partition)]
        if undecided:
            self._unburied.append((current, undecided))
        again = {*undecided, *current.offsets.known_of(partitions)}
        keys = [offset_key(group.group_id, partition) for partition in partitions if partition not in again]
        self._performer.decide(current, lambda step: end_if_idle(current, step))
        ends = current.is_dead and self.groups.get(group.group_id) is current
        if ends:
            del self.groups[group.group_id]
            self.open_transactions.forget(current)
            if current.generation > 0:  # Else it never had a record of its own.
                keys.append(group_key(group.group_id))
        load = self._load_of(current)
        error = self._log.append_tombstones(self.partition_of(group.group_id), keys) if keys else ErrorCode.NONE
        if ends and error is not ErrorCode.NONE and self._is_still_of(load, current):
            self._raise(current)
        return GROUP_RECORD_ERRORS.get(error, error)

    def _put_back(self, group: Group, removed: Mapping[TopicPartition, Removed]) -> None:
        """Restore offsets that the log still has. Does not switch."""
        current = self._raise(group) if group.is_dead else group
        current.offsets.put_back(removed)

    def _raise(self, group: Group) -> Group:
        """Revive the group whose tombstone could not be written, or return the one recreated since. Does not switch."""
        return self.groups.setdefault(group.group_id, group.raised())

    def _load_of(self, group: Group) -> Load | None:
        return self.ownership.loaded_by(self.partition_of(group.group_id))

    def _is_still_of(self, load: Load | None, group: Group) -> bool:
        """Whether the groups in memory are those of that load, and not from a later load."""
        return load is not None and self._load_of(group) is load

    def _check_owned(self, group: Group) -> ErrorCode:
        return self.ownership.check(self.partition_of(group.group_id))


def _batches(group: Group, partitions: Collection[TopicPartition]) -> list[list[TopicPartition]]:
    """Split into lists whose tombstones fit into one batch; one partition at least."""
    at_once = max(1, TOMBSTONES_BYTES // (4 * len(group.group_id) + LONGEST_TOPIC_PART))
    listed = list(partitions)
    return [listed[first : first + at_once] for first in range(0, max(1, len(listed)), at_once)]
