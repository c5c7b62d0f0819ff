"""What holds in a cluster at every moment, whatever happened to it.

`Observer.look` is called after each turn of the loop. It knows what no broker does: every replica's log, ZooKeeper, and
what clients were told. From that it learns what is committed (some replica's high watermark is above it) and checks

- what is committed is in the log of every member of the ISR, and of every leader, the same record in the same place;
- logs are equal up to their high watermarks; one leader epoch has one record at one offset, in all logs;
- one leader epoch has one leader, and only a member of the last ISR begins one (but by an unclean election);
- the epoch file of who leads has its leader epoch, whether anything was appended in that or not;
- a high watermark is not above the log's end, goes not back while its broker leads, and once it moved in an epoch is
  not behind what a consumer saw;
- what a producer with acks=all was told is committed; what a consumer got is;
- nobody but the last controller writes a partition's state.

A broker whose machine lost power may lack records until the controller has taken it out of the ISR: until then it is
not looked at as a member. After an unclean election only the leader counts for what is committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_zk.log.files.leader_epoch_file import read_epochs
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import batches, decode_records
from kafka_zk.replication.partition import Partition
from kafka_zk.zk.operations import Create, SetData
from kafka_zk.zk.znodes import ControllerEpochZNode, PartitionLeadership, TopicPartitionStateZNode
from tests.simulation.whole_members import Member
from tests.simulation.whole_zookeeper import Ensemble


class Entry(NamedTuple):
    leader_epoch: int
    value: bytes


@dataclass
class Mirror:
    """What one life of a replica held when it was last looked at."""

    process: object
    log: UnifiedLog
    entries: list[Entry] = field(default_factory=list)
    latest_epoch: int = -1
    high_watermark: int = 0
    compared: int = 0
    """Entries below it were found in the ledger."""
    leadership: int = -1
    led_epoch: int = -1
    led_high_watermark: int = -1


class Account:
    """One partition: its state in ZooKeeper, what is committed, and what clients were told."""

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.path = TopicPartitionStateZNode.path(partition)
        self.state: PartitionLeadership | None = None
        self.committed: list[Entry] = []
        self.acknowledged: dict[int, bytes] = {}
        self.seen_end = 0
        """Some consumer got all below it."""
        self.leaders: dict[int, int] = {}
        self.written: dict[tuple[int, int], bytes] = {}
        """By leader epoch and offset."""
        self.was_unclean = False
        self.unclean_epoch = -1
        self.unpowered: set[int] = set()
        """Members whose machine lost power, until the controller knows."""

    def __repr__(self) -> str:
        return f"{self.partition}: {self.state}, {len(self.committed)} committed, {self.seen_end} seen"


class Observer:
    def __init__(
        self, zookeeper: Ensemble, members: Mapping[int, Member], partitions: list[TopicPartition], *, unclean: bool
    ) -> None:
        self._zookeeper = zookeeper
        self._members = members
        self._unclean = unclean
        self.accounts = {partition: Account(partition) for partition in partitions}
        self._by_path = {account.path: account for account in self.accounts.values()}
        self._writes_seen = 0
        self._controller_epoch = 0
        self._mirrors: dict[tuple[int, TopicPartition], Mirror] = {}
        self._told: list[tuple[Account, int, bytes, str]] = []

    # --- what clients tell -------------------------------------------------------------------------------------------

    def acknowledged(self, partition: TopicPartition, offset: int, value: bytes) -> None:
        account = self.accounts[partition]
        if account.was_unclean and not self._is_at_leader(account, offset, value):
            # Who led before an unclean election acknowledged it, and has not heard of that yet.
            return
        account.acknowledged[offset] = value
        self._told.append((account, offset, value, "acknowledged"))

    def _is_at_leader(self, account: Account, offset: int, value: bytes) -> bool:
        mirror = None if account.state is None else self._mirrors.get((account.state.leader, account.partition))
        return mirror is not None and [entry.value for entry in mirror.entries[offset : offset + 1]] == [value]

    def consumed(self, partition: TopicPartition, offset: int, value: bytes) -> None:
        account = self.accounts[partition]
        self._told.append((account, offset, value, "consumed"))

    def lost_power(self, broker_id: int) -> None:
        for account in self.accounts.values():
            if account.state is not None and broker_id in account.state.isr:
                account.unpowered.add(broker_id)

    # --- after each turn ---------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Raises AssertionError."""
        self._read_states()
        for partition, account in self.accounts.items():
            held: dict[int, tuple[Partition, Mirror]] = {}
            for broker_id, member in sorted(self._members.items()):
                mirror = self._look_at(member, account)
                if mirror is not None:
                    found = member.broker.manager.hosted.find(*partition)
                    assert found is not None
                    held[broker_id] = found, mirror
            for replica, mirror in held.values():
                self._learn(account, replica, mirror)
            for broker_id, (replica, mirror) in held.items():
                if not self._members[broker_id].has_lost_power:
                    self._check(account, broker_id, replica, mirror)
        self._check_told()

    def _read_states(self) -> None:
        writes = self._zookeeper.writes
        for operation in writes[self._writes_seen :]:
            if operation.path == ControllerEpochZNode.PATH and isinstance(operation, Create | SetData):
                self._controller_epoch = ControllerEpochZNode.decode(operation.data, None)
            account = self._by_path.get(operation.path)
            if account is not None and isinstance(operation, Create | SetData):
                self._take_state(account, operation.data)
        self._writes_seen = len(writes)

    def _take_state(self, account: Account, data: bytes | None) -> None:
        state = TopicPartitionStateZNode.decode(data, None, account.partition)
        before, account.state = account.state, state
        account.unpowered &= set(state.isr)
        if before is None:
            return
        assert state.controller_epoch == self._controller_epoch, (
            f"{account.partition}: {state} was written under controller epoch {self._controller_epoch}"
        )
        assert state.leader_epoch >= before.leader_epoch, f"{account.partition}: {state} after {before}"
        if state.leader >= 0 and state.leader not in before.isr:
            assert self._unclean, f"{account.partition}: a leader from outside the ISR: {state} after {before}"
            account.was_unclean = True
            account.unclean_epoch = state.leader_epoch
            account.committed.clear()
            account.acknowledged.clear()
            account.seen_end = 0
            self._told = [each for each in self._told if each[0] is not account]
            for mirror in self._mirrors.values():
                mirror.compared = 0

    def _look_at(self, member: Member, account: Account) -> Mirror | None:
        """What the replica holds now; None where there is none."""
        key = member.broker_id, account.partition
        replica = member.broker.manager.hosted.find(*account.partition)
        if replica is None or replica.log is None:
            self._mirrors.pop(key, None)
            return None
        log = replica.log
        mirror = self._mirrors.get(key)
        if mirror is None or mirror.process is not member.process or mirror.log is not log:
            mirror = self._mirrors[key] = Mirror(member.process, log)
        end = log.log_end_offset
        if end != len(mirror.entries) or log.latest_epoch != mirror.latest_epoch:
            self._read(account, mirror, end)
        assert log.high_watermark <= end, f"{member}: the high watermark of {replica} is above its end"
        return mirror

    def _read(self, account: Account, mirror: Mirror, end: int) -> None:
        known = len(mirror.entries)
        if mirror.log.latest_epoch != mirror.latest_epoch or end < known:
            known = 0
        entries = mirror.entries[:known] + entries_of(mirror.log, known, end)
        mirror.entries, mirror.latest_epoch = entries, mirror.log.latest_epoch
        if known == 0:
            mirror.compared = 0
        for offset in range(known, len(entries)):
            entry = entries[offset]
            there = account.written.setdefault((entry.leader_epoch, offset), entry.value)
            assert there == entry.value, (
                f"{account.partition} has two records at {offset} of epoch {entry.leader_epoch}: "
                f"{there!r} and {entry.value!r}"
            )

    def _learn(self, account: Account, replica: Partition, mirror: Mirror) -> None:
        """What is below a high watermark is committed."""
        high_watermark = mirror.log.high_watermark
        if account.was_unclean and not _leads(replica, account):
            return
        if high_watermark > len(account.committed):
            account.committed += mirror.entries[len(account.committed) : high_watermark]

    def _check(self, account: Account, broker_id: int, replica: Partition, mirror: Mirror) -> None:
        state, high_watermark = account.state, mirror.log.high_watermark
        if replica.is_leader:
            leader = account.leaders.setdefault(replica.leader_epoch, broker_id)
            assert leader == broker_id, f"epoch {replica.leader_epoch} of {account.partition} is led by {leader}, too"
            if mirror.led_epoch != replica.leader_epoch:
                mirror.led_epoch = replica.leader_epoch
                entries = read_epochs(mirror.log.epochs.path)
                # After a start it may lead on in the epoch of before, which began earlier.
                assert entries and entries[-1].epoch == replica.leader_epoch, (
                    f"{replica} leads, and its epoch file says {entries}"
                )
            if mirror.leadership == replica.leadership:
                assert high_watermark >= mirror.led_high_watermark, f"the high watermark of {replica} went back"
                assert (
                    high_watermark == mirror.led_high_watermark
                    or high_watermark >= account.seen_end
                    or not _leads(replica, account)
                ), f"{replica} is behind what a consumer saw: {account.seen_end}"
            mirror.leadership, mirror.led_high_watermark = replica.leadership, high_watermark
        if account.was_unclean and not _leads(replica, account):
            return
        self._compare(account, broker_id, replica, mirror, min(high_watermark, len(account.committed)))
        is_member = state is not None and broker_id in state.isr and broker_id not in account.unpowered
        if is_member or _leads(replica, account):
            self._compare(account, broker_id, replica, mirror, len(account.committed))

    def _compare(self, account: Account, broker_id: int, replica: Partition, mirror: Mirror, end: int) -> None:
        if mirror.compared >= end:
            return
        for offset in range(mirror.compared, end):
            found = mirror.entries[offset] if offset < len(mirror.entries) else None
            assert found == account.committed[offset], (
                f"broker {broker_id} has {found} at {offset}, and committed is {account.committed[offset]}: "
                f"{replica}, {account}"
            )
        mirror.compared = end

    def _check_told(self) -> None:
        told, self._told = self._told, []
        for account, offset, value, what in told:
            there = account.committed[offset].value if offset < len(account.committed) else None
            if account.was_unclean:
                continue
            assert there == value, f"{value!r} at {offset} was {what}, and committed is {there!r}: {account}"
            if what == "consumed":
                account.seen_end = max(account.seen_end, offset + 1)


def _leads(replica: Partition, account: Account) -> bool:
    """Whether it leads the epoch that ZooKeeper knows."""
    return account.state is not None and replica.is_leader and replica.leader_epoch == account.state.leader_epoch


def entries_of(log: UnifiedLog, start: int, end: int) -> list[Entry]:
    """The records from `start` to `end`, the log having no gaps."""
    found: list[Entry] = []
    for segment in log.segments:
        if segment.base_offset >= end:
            break
        for batch in batches(segment.file.read_at(0, segment.size_bytes)):
            if batch.header.base_offset + batch.header.last_offset_delta < start:
                continue
            for record in decode_records(batch):
                if start <= record.offset < end:
                    assert record.value is not None
                    value = bytes(record.value).rstrip(b"\0")
                    found.append(Entry(batch.header.partition_leader_epoch, value))
    return found
