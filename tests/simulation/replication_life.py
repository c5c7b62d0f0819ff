"""One random history of three replicas, and what must hold when everything is at rest again."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import BrokerError, ErrorCode
from kafka_zk.record import Record, batches, build_batch, decode_records
from tests.crash.greenlets import Greenlets
from tests.simulation.mishaps import Mishaps
from tests.simulation.replication_cluster import BROKERS, NOBODY, PARTITION, Cluster, Member
from tests.unit.replication.broker import produce_request

STEPS = 60
TURN_MS = 40
MOST_TURNS = 4_000
"""160 seconds of the brokers' time: every timeout and retry is over by then."""
ACKS_TIMEOUT_MS = 4_000


class Life:
    """`unclean`: whether elections outside the ISR happen, which may lose records; `reassigns`: whether replicas go
    to other brokers and return; `passes`: whether the leader often begins another epoch, or hears of its own again."""

    def __init__(
        self, folder: Path, seed: int, *, unclean: bool = False, reassigns: bool = False, passes: bool = False
    ) -> None:
        self.cluster = Cluster(folder, seed)
        self.chance = self.cluster.chance
        self._unclean = unclean
        self._reassigns = reassigns
        self._passes = passes
        self._written = 0
        self.told: list[str] = []
        self.mishaps = Mishaps(self.cluster, self._tell)
        self.acknowledged: dict[int, bytes] = {}

    def go(self) -> None:
        """Live, and check. Raises AssertionError."""
        greenlets = Greenlets()
        try:
            self._go()
        finally:
            self.cluster.close()
            greenlets.end()

    def _go(self) -> None:
        for broker_id in BROKERS:
            self.cluster.start(broker_id)
        self.cluster.controller.order(BROKERS)
        self.cluster.run(50, ms=TURN_MS)
        befalls = self.mishaps
        steps: list[Callable[[], None]] = [
            *[self.produce] * 6,
            *[self.pause] * 4,
            befalls.kill,
            befalls.stop,
            *[befalls.start] * 3,
            befalls.part,
            befalls.heal,
            self.prefer,
            self.move,
            self.fail_directory,
            *([self.elect_uncleanly] if self._unclean else []),
            *([self.reassign] * 3 if self._reassigns else []),
            *([self.begin_epoch, self.begin_epoch, self.prefer, self.repeat_order] if self._passes else []),
        ]
        for _ in range(STEPS):
            self.chance.choice(steps)()
            self.cluster.run(self.chance.choice((0, 1, 3, 10)), ms=self.chance.choice((0, 1, TURN_MS)))
        self.come_to_rest()
        self.check()

    # --- what may happen -------------------------------------------------------------------------------------------

    def produce(self) -> None:
        """A client writes to the broker that it takes for the leader."""
        leader = self.cluster.controller.leader
        broker_id = leader if self.chance.random() < 0.8 else self.chance.choice(BROKERS)
        member = self.cluster.members.get(broker_id)
        if member is None:
            return
        self._written += 1
        values = [b"%d.%d" % (self._written, number) for number in range(self.chance.randrange(1, 4))]
        batch = build_batch([Record(at, 1_000, b"k", value + bytes(60)) for at, value in enumerate(values)])
        member.spawn(self._produce, member, memoryview(bytearray(batch)), values)

    def _produce(self, member: Member, batch: memoryview, values: list[bytes]) -> None:
        """Blocks."""
        try:
            answer = member.broker.call(produce_request(batch, acks=-1, timeout_ms=ACKS_TIMEOUT_MS), 9)
        except BrokerError:
            return

        def note(response: Any) -> None:
            data = response.responses[0].partition_responses[0]
            # What a dead broker would have answered reaches nobody.
            if data.error_code == ErrorCode.NONE and self.cluster.members.get(member.broker_id) is member:
                self.acknowledged.update({data.base_offset + at: value for at, value in enumerate(values)})

        if isinstance(answer, Pending):
            answer.on_complete(lambda done: note(done.value))
        else:
            note(answer)

    def pause(self) -> None:
        self.cluster.run(self.chance.randrange(60), ms=self.chance.choice((1, TURN_MS)))

    def prefer(self) -> None:
        broker_id = self.chance.choice(BROKERS)
        self._tell(f"prefer {broker_id}")
        self.cluster.controller.prefer(broker_id)

    def begin_epoch(self) -> None:
        self._tell("next epoch")
        self.cluster.controller.next_epoch()

    def repeat_order(self) -> None:
        self._tell("order again")
        self.cluster.controller.order(BROKERS)

    def reassign(self) -> None:
        target = tuple(self.chance.sample(BROKERS, self.chance.choice((1, 2, 2, 3))))
        self._tell(f"reassign to {target}")
        self.cluster.controller.reassign(target)

    def elect_uncleanly(self) -> None:
        if self.cluster.controller.leader == NOBODY:
            self._tell("unclean election")
            self.cluster.controller.elect(unclean=True)

    def move(self) -> None:
        if self.cluster.members:
            member = self.cluster.members[self.chance.choice(sorted(self.cluster.members))]
            path = self.chance.choice(member.directories)
            self._tell(f"move on {member.broker_id} to {Path(path).name}")
            member.spawn(self._move, member, path)

    @staticmethod
    def _move(member: Member, path: str) -> None:
        """Blocks."""
        try:
            member.broker.manager.moves.move(PARTITION, path)
        except BrokerError:
            return  # It is not here yet, or its directory failed.

    def fail_directory(self) -> None:
        """The directory that holds the replica fails, until the broker is started again."""
        if self.chance.random() < 0.5 or not self.cluster.members:
            return
        member = self.cluster.members[self.chance.choice(sorted(self.cluster.members))]
        log = member.broker.log_manager.get_log(PARTITION)
        if log is not None:
            self._tell(f"directory fails on {member.broker_id}")
            log.log_dir.fail("chance", OSError(5, "chance"), trace=False)

    def _tell(self, what: str) -> None:
        self.told.append(what)

    # --- at rest -----------------------------------------------------------------------------------------------------

    def come_to_rest(self) -> None:
        """Everything works again: brokers that are down or lost a directory are started, nothing is cut or lost."""
        self.mishaps.end()
        for broker_id in BROKERS:
            if broker_id in self.cluster.members and broker_id in self.cluster.controller.offline:
                self.cluster.end(broker_id, in_order=False)
            if broker_id not in self.cluster.members:
                self.cluster.start(broker_id)
        controller = self.cluster.controller
        for _ in range(MOST_TURNS):
            if set(controller.target) != set(BROKERS):
                controller.reassign(BROKERS)
            self.cluster.run(1, ms=TURN_MS)
            if self.is_whole():
                return
        raise AssertionError(f"it does not come to rest:\n{self.describe()}")

    def is_whole(self) -> bool:
        """All lead and follow as ZooKeeper says, in sync, with nothing left to copy or to tell."""
        controller = self.cluster.controller
        if sorted(controller.isr) != list(BROKERS) or any(not m.orders.empty() for m in self.cluster.members.values()):
            return False
        partitions = [member.broker.manager.hosted.find(*PARTITION) for member in self.cluster.members.values()]
        if any(partition is None or partition.log is None for partition in partitions):
            return False
        if any(partition.leader_epoch != controller.leader_epoch for partition in partitions if partition):
            return False
        if any(list(member.broker.log_manager.future.all()) for member in self.cluster.members.values()):
            return False
        logs = self.logs()
        ends = {log.log_end_offset for log in logs}
        return len(ends) == 1 and {log.high_watermark for log in logs} == ends

    def logs(self) -> list[UnifiedLog]:
        found = [member.broker.log_manager.get_log(PARTITION) for member in self.cluster.members.values()]
        return [log for log in found if log is not None]

    def check(self) -> None:
        contents = [content_of(log) for log in self.logs()]
        assert len(contents) == len(BROKERS)
        first = contents[0]
        for other in contents[1:]:
            assert other == first, f"replicas differ:\n{self.describe()}"
        if not self.cluster.controller.was_unclean:
            lost = {at: value for at, value in self.acknowledged.items() if first.get(at, (b"",))[0] != value}
            assert not lost, f"lost {lost}:\n{self.describe()}"
        # What was not acknowledged may be there, but never twice: nobody sent it twice.
        values = [value for value, _ in first.values()]
        assert len(values) == len(set(values)), f"written twice:\n{self.describe()}"

    def describe(self) -> str:
        lines = [*self.told, repr(self.cluster.controller.__dict__ | {"cluster": None})]
        for broker_id, member in sorted(self.cluster.members.items()):
            manager = member.broker.manager
            lines.append(f"{broker_id}: {manager.hosted.find(*PARTITION)} {manager.fetchers._fetchers}")
            for greenlet in member._greenlets:
                if greenlet.exception is not None:
                    lines += traceback.format_exception(greenlet.exception)
        return "\n".join(lines)


def content_of(log: UnifiedLog) -> dict[int, tuple[bytes, int]]:
    """By offset: the value of the record (without its padding) and the leader epoch it was written in."""
    found: dict[int, tuple[bytes, int]] = {}
    for segment in log.segments:
        for batch in batches(segment.file.read_at(0, segment.size_bytes)):
            for record in decode_records(batch):
                assert record.value is not None
                found[record.offset] = (bytes(record.value).rstrip(b"\0"), batch.header.partition_leader_epoch)
    return found
