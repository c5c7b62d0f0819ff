"""One random history of transactions in a cluster, and what must hold at each moment of it, and at its end."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import gevent

from kafka_zk import supervision
from kafka_zk.coordinator.transaction.decisions.states import AT_REST
from kafka_zk.coordinator.transaction.decisions.transaction import Transaction as Coordinated
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.types import TopicPartition
from tests.crash.greenlets import Greenlets
from tests.simulation.mishaps import Mishaps
from tests.simulation.replication_cluster import BROKERS
from tests.simulation.transaction_clients import Ledger, Producer, Reader, Transaction
from tests.simulation.transaction_cluster import DATA, PARTITIONS, STATE, LateWire, TransactionCluster

IDS = ("a", "b", "c")
STEPS = 70
TURN_MS = 40
MOST_STALLED_TURNS = 200
MOST_TURNS = 4_000
"""160 seconds of the brokers' time: every timeout and retry is over by then."""


class TransactionLife:
    """Clients run by themselves; what goes wrong is drawn, one step after the other."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.cluster = TransactionCluster(folder, seed)
        self.chance = self.cluster.chance
        self.ledger = Ledger()
        self.told: list[str] = []
        self.mishaps = Mishaps(self.cluster, self._tell)
        self._clients: list[gevent.Greenlet[..., None]] = []
        self._producers: dict[str, list[tuple[gevent.Greenlet[..., None], Producer]]] = {each: [] for each in IDS}
        self._readers: list[Reader] = []
        self._life_count = 0
        self._may_begin = True
        self._stable: dict[tuple[TopicPartition, int], int] = {}
        """By partition and leader epoch: the last stable offset that its leader had."""

    def go(self) -> None:
        """Live, and check. Raises AssertionError."""
        greenlets = Greenlets()
        before = Counter(supervision.unexpected_errors)
        try:
            self._go()
            unexpected = supervision.unexpected_errors - before
            assert not unexpected, f"unexpected errors in {dict(unexpected)}:\n{self.describe()}"
        finally:
            gevent.killall(self._clients)
            self.cluster.close()
            greenlets.end()

    def _go(self) -> None:
        for broker_id in BROKERS:
            self.cluster.start(broker_id)
        for index, controller in enumerate(self.cluster.controllers.values()):
            controller.order(BROKERS)
            controller.prefer(BROKERS[index])
        self._run(50, ms=TURN_MS)
        for partition in DATA:
            self.begin_reader(partition)
        for transactional_id in IDS:
            self.begin_producer(transactional_id)
        befalls = self.mishaps
        steps: list[Callable[[], None]] = [
            *[self.pause] * 14,
            befalls.kill,
            befalls.stop,
            *[befalls.start] * 4,
            befalls.part,
            *[befalls.heal] * 2,
            *[self.prefer] * 2,
            self.move_coordinator,
            *[self.deafen] * 2,
            *[self.stall_markers] * 3,
            *[self.replace_producer] * 3,
            self.kill_producer,
            self.replace_reader,
        ]
        for _ in range(STEPS):
            self.chance.choice(steps)()
            self._run(self.chance.choice((0, 1, 3, 10)), ms=self.chance.choice((1, 5, 20)))
        self.come_to_rest()
        self.check()

    def _run(self, turns: int, *, ms: int) -> None:
        self.cluster.run(turns, ms=ms, after_each=self.check_now)

    # --- what may happen ---------------------------------------------------------------------------------------------

    def pause(self) -> None:
        self._run(self.chance.randrange(120), ms=self.chance.choice((1, 5, 20)))

    def prefer(self) -> None:
        partition, broker_id = self.chance.choice(PARTITIONS), self.chance.choice(BROKERS)
        self._prefer(partition, broker_id)

    def move_coordinator(self) -> None:
        self._prefer(STATE, self.chance.choice(BROKERS))

    def deafen(self) -> None:
        """A leader does not hear the controller any more, which gives its partition to another broker."""
        partition = self.chance.choice(PARTITIONS)
        leader = self.cluster.controllers[partition].leader
        self._tell(f"{leader} is deaf")
        self.cluster.deaf.add(leader)
        self._prefer(partition, self.chance.choice(BROKERS))

    def stall_markers(self) -> None:
        """Markers stay on their way while another coordinator takes over, and its producers go on."""
        leader, stalled = self.cluster.controllers[STATE].leader, self.chance.choice(BROKERS)
        if leader == stalled:
            return
        self._tell(f"markers of {leader} to {stalled} stay on their way")
        pair = frozenset((leader, stalled))
        self.cluster.stalled.add(pair)
        for _ in range(MOST_STALLED_TURNS):
            if any(isinstance(wire, LateWire) and wire.is_stalled for wire in self.cluster.wires):
                break
            self._run(1, ms=5)
        self.move_coordinator()
        self._run(self.chance.randrange(MOST_STALLED_TURNS), ms=5)
        self._tell("they arrive")
        self.cluster.stalled.discard(pair)

    def _prefer(self, partition: TopicPartition, broker_id: int) -> None:
        self._tell(f"{partition} prefers {broker_id}")
        self.cluster.controllers[partition].prefer(broker_id)

    def replace_producer(self) -> None:
        """Another one begins with an id; the one before may live on."""
        self.begin_producer(self.chance.choice(IDS))

    def kill_producer(self) -> None:
        of_one = self._producers[self.chance.choice(IDS)]
        if of_one:
            greenlet, _ = of_one[-1]
            self._tell("kill a producer")
            greenlet.kill()

    def replace_reader(self) -> None:
        self.begin_reader(self.chance.choice(DATA))

    def begin_producer(self, transactional_id: str) -> None:
        self._life_count += 1
        name = f"{transactional_id}{self._life_count}"
        self._tell(f"producer {name}")
        producer = Producer(self.cluster, self.ledger, transactional_id, name, lambda: self._may_begin)
        greenlet = gevent.spawn(producer.live)
        self._clients.append(greenlet)
        self._producers[transactional_id].append((greenlet, producer))

    def begin_reader(self, partition: TopicPartition) -> None:
        reader = Reader(self.cluster, self.ledger, partition)
        self._readers.append(reader)
        self._clients.append(gevent.spawn(reader.live))

    def _tell(self, what: str) -> None:
        self.told.append(what)

    # --- at each moment ----------------------------------------------------------------------------------------------

    def check_now(self) -> None:
        """Raises AssertionError, or what a client met."""
        for client in self._clients:
            if client.exception is not None:
                raise AssertionError(self.describe()) from client.exception
        logs = {partition: found[1].log for partition in DATA if (found := self.cluster.leader_of(partition))}
        for partition, log in logs.items():
            assert log is not None
            self._check_stable(partition, log)
        self._check_coordinator({partition: log for partition, log in logs.items() if log is not None})
        for reader in self._readers:
            self._check_read(reader)

    def _check_stable(self, partition: TopicPartition, log: UnifiedLog) -> None:
        """What a reader was told is stable stays so, whoever leads; a leader's own offset does not go back."""
        key = partition, self.cluster.controllers[partition].leader_epoch
        assert log.last_stable_offset >= self._stable.get(key, 0), f"{log} went back:\n{self.describe()}"
        self._stable[key] = log.last_stable_offset
        told = max((each.last_stable_offset for each in self._readers if each.partition == partition), default=0)
        open_from = first_open_offsets(log)
        assert min(open_from.values(), default=told) >= told, (
            f"{partition} has transactions from {open_from} on, and {told} was stable:\n{self.describe()}"
        )

    def _check_coordinator(self, logs: dict[TopicPartition, UnifiedLog]) -> None:
        """A transaction that its coordinator took for ended is open nowhere."""
        for transaction in self._coordinated():
            if transaction.state in AT_REST and transaction.changing_to is None:
                for log in logs.values():
                    assert transaction.producer_id not in first_open_offsets(log), (
                        f"{transaction} is open in {log}:\n{self.describe()}"
                    )

    def _coordinated(self) -> list[Coordinated]:
        """The transactions of the coordinator that ZooKeeper names, as far as it has loaded them."""
        found = self.cluster.leader_of(STATE)
        if found is None:
            return []
        coordinator = found[0].coordinator
        described = [coordinator.describe(transactional_id) for transactional_id in IDS]
        return [each for each in described if isinstance(each, Coordinated)]

    def _check_read(self, reader: Reader) -> None:
        """Of what is behind a reader it has seen all that is committed; nothing of it is undecided."""
        for transaction in self.ledger.transactions:
            for sent in transaction.sent:
                if sent.offset is None or sent.partition != reader.partition or sent.offset >= reader.position:
                    continue
                if transaction.is_committed:
                    assert reader.offsets.get(sent.offset) == sent.value, (
                        f"a reader at {reader.position} missed {sent.value!r} of {transaction}:\n{self.describe()}"
                    )

    # --- at rest -----------------------------------------------------------------------------------------------------

    def come_to_rest(self) -> None:
        """Everything works again, and producers end what they began; then each id gets a last producer."""
        self.mishaps.end()
        for broker_id in BROKERS:
            if broker_id not in self.cluster.members:
                self.cluster.start(broker_id)
        self._may_begin = False
        self._run_until(lambda: all(each.ready() for of_one in self._producers.values() for each, _ in of_one))
        for transactional_id in IDS:
            self.begin_producer(transactional_id)
        self._run_until(lambda: all(each.ready() for of_one in self._producers.values() for each, _ in of_one))
        self._run_until(self.is_whole)

    def _run_until(self, holds: Callable[[], bool]) -> None:
        for _ in range(MOST_TURNS):
            if holds():
                return
            self._run(1, ms=TURN_MS)
        raise AssertionError(f"it does not come to rest:\n{self.describe()}")

    def is_whole(self) -> bool:
        """All lead and follow as ZooKeeper says, in sync; no transaction is under way, and readers are at the end."""
        if any(not member.orders.empty() for member in self.cluster.members.values()):
            return False
        if any(sorted(controller.isr) != list(BROKERS) for controller in self.cluster.controllers.values()):
            return False
        for partition in PARTITIONS:
            logs = self._logs(partition)
            ends = {log.log_end_offset for log in logs}
            if len(logs) < len(BROKERS) or len(ends) > 1 or {log.high_watermark for log in logs} != ends:
                return False
            if any(log.last_stable_offset != log.high_watermark for log in logs):
                return False
            if any(each.position not in ends for each in self._readers if each.partition == partition):
                return False
        coordinated = self._coordinated()
        return len(coordinated) == len(IDS) and all(
            each.state in AT_REST and each.changing_to is None for each in coordinated
        )

    def _logs(self, partition: TopicPartition) -> list[UnifiedLog]:
        found = [member.broker.log_manager.get_log(partition) for member in self.cluster.members.values()]
        return [log for log in found if log is not None]

    def check(self) -> None:
        """Each transaction has one outcome, everywhere, that it was told; all readers see the same."""
        read: dict[TopicPartition, list[bytes]] = {}
        for partition in DATA:
            first, *others = (each for each in self._readers if each.partition == partition)
            for other in others:
                assert other.values == first.values, f"two readers of {partition} differ:\n{self.describe()}"
            read[partition] = first.values
        for transaction in self.ledger.transactions:
            self._check_outcome(transaction, read)

    def _check_outcome(self, transaction: Transaction, read: dict[TopicPartition, list[bytes]]) -> None:
        mine = {
            partition: [each.value for each in transaction.sent if each.partition == partition] for partition in DATA
        }
        prefix = b"%s/" % transaction.name.encode()
        seen = {partition: [each for each in read[partition] if each.startswith(prefix)] for partition in DATA}
        nothing = {partition: [] for partition in DATA}
        allowed = [mine] if transaction.is_committed else [mine, nothing] if transaction.may_be_committed else [nothing]
        assert seen in allowed, f"{transaction} is {seen}:\n{self.describe()}"

    def describe(self) -> str:
        lines = [*self.told, *map(repr, self.ledger.transactions)]
        for partition, controller in self.cluster.controllers.items():
            lines.append(f"{partition}: {controller.__dict__ | {'cluster': None}}")
        for broker_id, member in sorted(self.cluster.members.items()):
            lines += [
                f"{broker_id}: {member.broker.manager.hosted.find(*partition)} {log}"
                for partition in PARTITIONS
                if (log := member.broker.log_manager.get_log(partition))
            ]
            lines += [f"{broker_id}: {member.coordinator.describe(each)!r}" for each in IDS]
            for greenlet in member._greenlets:
                if greenlet.exception is not None:
                    lines += traceback.format_exception(greenlet.exception)
        for of_one in self._producers.values():
            lines += [
                f"{producer._name} {producer._who}: {producer.gave_up or greenlet}" for greenlet, producer in of_one
            ]
        lines += [f"reader of {each.partition} at {each.position}" for each in self._readers]
        return "\n".join(lines)


def first_open_offsets(log: UnifiedLog) -> dict[int, int]:
    """By producer id: where the transaction begins that is open in the log."""
    return {
        each.producer_id: each.current_txn_first_offset
        for each in log.active_producers()
        if each.current_txn_first_offset >= 0
    }
