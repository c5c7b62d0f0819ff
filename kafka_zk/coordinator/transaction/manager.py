"""TransactionManager: the transactions of the partitions of __transaction_state that this broker leads.

Role        Acts: loads and unloads partitions, stores what was decided, and forgets ids that nobody uses.
Invariants  A change is made in memory only once it is stored, and only if the transaction is still that of the same
            load: what another coordinator wrote meanwhile counts.
            A transaction is in memory, and has its load, only while its partition is owned. Nothing is served that
            the next leader may not have: a load waits until all that it read is committed.
Differs from Kafka, which serves what it read at once; see docs/compat.md.
Source      Kafka 3.9 TransactionStateManager.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from kafka_zk.clock import Clock, Timer
from kafka_zk.coordinator.loads import Loads, Uncommitted
from kafka_zk.coordinator.ownership import Load, Ownership
from kafka_zk.coordinator.state_log import StateLog
from kafka_zk.coordinator.tasks import Tasks
from kafka_zk.coordinator.transaction.append_errors import TRANSACTION_RECORD_ERRORS
from kafka_zk.coordinator.transaction.decisions.records import LogReplay, transaction_key, transaction_value
from kafka_zk.coordinator.transaction.decisions.requests import is_expired
from kafka_zk.coordinator.transaction.decisions.states import ENDING
from kafka_zk.coordinator.transaction.decisions.transaction import NO_EPOCH, Change, Transaction
from kafka_zk.giving_way import in_slices
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.internal_topics import TRANSACTION_STATE_TOPIC

NAME = "TransactionStateManager"

TOMBSTONES_BYTES = 512 * 1024
"""Of one batch at most, below the default of max.message.bytes."""
TOMBSTONE_OVERHEAD = 32
"""Bytes of a tombstone besides its id."""

log_lines = logging.getLogger("kafka.coordinator.transaction.TransactionStateManager")

Done = Callable[[ErrorCode], object]
"""Told once what became of a change: NONE, or what the client is answered. Does not switch."""


class TransactionManager:
    """`transactions` by id. `resume(transaction)` goes on with one that a load found decided, but not finished.

    `expiration_ms` and `check_interval_ms` rule how long unused ids are remembered.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        log: StateLog,
        partition_of: Callable[[str], int],
        resume: Callable[[Transaction], None],
        expiration_ms: int,
        check_interval_ms: int,
        took_to_load: Callable[[int], object],
    ) -> None:
        self.transactions: dict[str, Transaction] = {}
        self.ownership = Ownership(TRANSACTION_STATE_TOPIC)
        self._clock = clock
        self._log = log
        self._partition_of = partition_of
        self._resume = resume
        self._expiration_ms = expiration_ms
        self._check_interval_ms = check_interval_ms
        self._unfinished: dict[Load, Sequence[Transaction]] = {}
        """What a load found decided, until it has ended."""
        self._tasks = Tasks(NAME)
        self._timer: Timer | None = None
        self._loads = Loads(
            clock=clock,
            ownership=self.ownership,
            tasks=self._tasks,
            unload=lambda partition: self._unload([partition]),
            took=took_to_load,
            name=NAME,
            log=log_lines,
        )

    # --- life --------------------------------------------------------------------------------------------------------

    def startup(self) -> None:
        self._tasks.start()
        self._await_next_check()

    def shutdown(self) -> None:
        """Blocks. Stop loading and forgetting."""
        if self._timer is not None:
            self._timer.cancel()
        self._tasks.stop()

    # --- leadership --------------------------------------------------------------------------------------------------

    def elected(self, partition: int, leader_epoch: int) -> None:
        """This broker leads the partition: load it in the background. Does not switch."""
        load = self.ownership.elected(partition, leader_epoch)
        if load is not None:
            log_lines.info(
                "[%s] Loading transaction metadata from %s-%d at epoch %d",
                NAME,
                TRANSACTION_STATE_TOPIC,
                partition,
                leader_epoch,
            )
            self._loads.begin(load, partial(self._fill, load), partial(self._go_on, load))

    def resigned(self, epochs: Mapping[int, int | None]) -> None:
        """Other brokers lead these partitions as of these epochs: drop their transactions. Does not switch."""
        news = [partition for partition, epoch in epochs.items() if self.ownership.resigned(partition, epoch)]
        counts = self._unload(news)
        for partition in news:
            log_lines.info(
                "[%s] Unloaded %d transactions of %s-%d", NAME, counts[partition], TRANSACTION_STATE_TOPIC, partition
            )

    def _unload(self, partitions: Iterable[int]) -> Counter[int]:
        """Returns how many of each partition. One pass over all transactions, however many partitions."""
        going = frozenset(partitions)
        counts: Counter[int] = Counter()
        for transaction in list(self.transactions.values()) if going else ():
            partition = self._partition_of(transaction.transactional_id)
            if partition in going:
                counts[partition] += 1
                self._forget(transaction)
        return counts

    def _fill(self, load: Load) -> Uncommitted | None:
        """Blocks. See loads.Fill."""
        replay = LogReplay()
        for batch in self._log.read(load.partition, lambda: self.ownership.is_current(load)):
            replay.apply(batch)
        found = list(in_slices(replay.transactions()))
        if not self.ownership.is_current(load):
            return None
        return Uncommitted(
            lambda timeout_ms: self._log.await_committed(load.partition, replay.end_offset, timeout_ms=timeout_ms),
            lambda: self._take(load, replay, found),
        )

    def _take(self, load: Load, replay: LogReplay, found: Sequence[Transaction]) -> str:
        """Does not switch."""
        if replay.unknown_count:
            log_lines.warning(
                "[%s] Ignored %d records with keys of an unknown version while loading %s-%d, which an upgraded broker "
                "may have written",
                NAME,
                replay.unknown_count,
                TRANSACTION_STATE_TOPIC,
                load.partition,
            )
        for transaction in found:
            self._remember(transaction, load)
        unfinished = [transaction for transaction in found if transaction.state in ENDING]
        if unfinished:
            self._unfinished[load] = unfinished
        return f"{replay.record_count} records, {len(found)} transactions, {len(unfinished)} to finish"

    def _go_on(self, load: Load) -> None:
        """Blocks. Once the load ended in ownership: what goes on asks whose transactions these are."""
        for transaction in in_slices(self._unfinished.pop(load, ())):
            if transaction.load is load:
                self._resume(transaction)

    # --- lookup ------------------------------------------------------------------------------------------------------

    def check(self, transactional_id: str) -> ErrorCode:
        """NONE if this broker coordinates the id, else the error."""
        return self.ownership.check(self._partition_of(transactional_id))

    def add(self, transaction: Transaction) -> None:
        """Keep a new one, of an id that this broker coordinates."""
        load = self.ownership.loaded_by(self._partition_of(transaction.transactional_id))
        assert load is not None, f"{transaction} belongs to another coordinator"
        self._remember(transaction, load)

    def _remember(self, transaction: Transaction, load: Load) -> None:
        """The only way into memory, as `_forget` is the only one out of it."""
        replaced = self.transactions.get(transaction.transactional_id)
        if replaced is not None:
            replaced.load = None
        self.transactions[transaction.transactional_id] = transaction
        transaction.load = load

    def _forget(self, transaction: Transaction) -> None:
        del self.transactions[transaction.transactional_id]
        transaction.load = None

    def may_be_replaced(self, transaction: Transaction) -> bool:
        """Whether another broker may coordinate it by now, without this one's knowledge."""
        return self._log.may_be_replaced(self._partition_of(transaction.transactional_id))

    # --- changes -----------------------------------------------------------------------------------------------------

    def store(self, transaction: Transaction, change: Change, done: Done, *, holds_on: bool = False) -> None:
        """Blocks while it is written. Store a change of a transaction in memory, make it, then call `done`.

        What cannot be stored is given up, unless the caller `holds_on` to it, and tries again.
        """
        load = transaction.load
        if load is None:
            done(ErrorCode.NOT_COORDINATOR)
            return

        def stored(code: ErrorCode, _: int) -> None:
            if transaction.load is not load:
                # Another coordinator may have read it, and decided otherwise since.
                done(ErrorCode.NOT_COORDINATOR)
                return
            if code is ErrorCode.NONE:
                transaction.complete(change)
            elif not holds_on:
                transaction.give_up()
            done(TRANSACTION_RECORD_ERRORS.get(code, code))

        record = (transaction_key(transaction.transactional_id), transaction_value(change))
        self._log.append(load.partition, [record], stored, timeout_ms=change.timeout_ms)

    # --- ids that nobody uses ----------------------------------------------------------------------------------------

    def _await_next_check(self) -> None:
        self._timer = self._clock.call_at(self._clock.monotonic_ms() + self._check_interval_ms, self._check_ids)

    def _check_ids(self) -> None:
        self._tasks.later(self.remove_expired)
        self._await_next_check()

    def remove_expired(self) -> None:
        """Blocks. Write tombstones for the ids that nobody used for long, and forget them."""
        now_ms = self._clock.wall_ms()
        by_partition: defaultdict[int, list[Transaction]] = defaultdict(list)
        for transaction in in_slices(list(self.transactions.values())):
            if transaction.load is None or not is_expired(transaction, now_ms, self._expiration_ms):
                continue
            if transaction.producer_epoch == NO_EPOCH:
                self._forget(transaction)  # Nothing of it was ever stored.
                continue
            transaction.expire()
            by_partition[self._partition_of(transaction.transactional_id)].append(transaction)
        for partition, expired in by_partition.items():
            for some in _batches(expired):
                self._bury(partition, some)

    def _bury(self, partition: int, expired: Sequence[Transaction]) -> None:
        """Blocks while it is written. The tombstones of one batch; what is refused is tried at the next check."""
        load = self.ownership.loaded_by(partition)
        # Of those that were unloaded while others were buried, the next coordinator's clients may use the ids again.
        expired = [transaction for transaction in expired if transaction.load is not None]
        if not expired:
            return

        def written(code: ErrorCode, _: int) -> None:
            for transaction in expired:
                if load is None or transaction.load is not load:
                    continue
                if code is ErrorCode.NONE:
                    self._forget(transaction)
                else:
                    transaction.give_up()
            if code is ErrorCode.NONE:
                log_lines.info(
                    "[%s] Removed %d expired transactional ids of %s-%d",
                    NAME,
                    len(expired),
                    TRANSACTION_STATE_TOPIC,
                    partition,
                )
            else:
                log_lines.warning(
                    "[%s] Could not remove %d expired transactional ids of %s-%d: %s",
                    NAME,
                    len(expired),
                    TRANSACTION_STATE_TOPIC,
                    partition,
                    code.name,
                )

        self._log.append(partition, [(transaction_key(each.transactional_id), None) for each in expired], written)


def _batches(expired: Iterable[Transaction]) -> Iterator[list[Transaction]]:
    """Split into lists whose tombstones fit into one batch; one at least."""
    some: list[Transaction] = []
    size = 0
    for transaction in expired:
        size += len(transaction.transactional_id.encode(errors="replace")) + TOMBSTONE_OVERHEAD
        if some and size > TOMBSTONES_BYTES:
            yield some
            some, size = [], 0
        some.append(transaction)
    if some:
        yield some
