"""Random lives of a transactional id: producers that come, go on and are replaced, and a coordinator that crashes.

Between any two steps the coordinator may lose its memory, or its write may be refused. Whatever happens, the log tells
of one outcome for each transaction, epochs never go back, and who was replaced changes nothing any more.
"""

from __future__ import annotations

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kafka_zk.coordinator.transaction.decisions.records import LogReplay, transaction_key, transaction_value
from kafka_zk.coordinator.transaction.decisions.requests import (
    Need,
    ProducerIdAndEpoch,
    add_partitions,
    end_transaction,
    finish_transaction,
    init_producer_id,
    is_expired,
    is_timed_out,
)
from kafka_zk.coordinator.transaction.decisions.states import ENDING, PREDECESSORS, TransactionState
from kafka_zk.coordinator.transaction.decisions.transaction import Change, Transaction
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import Record, batches, build_batch

ID, TIMEOUT_MS, EXPIRATION_MS = "id", 1_000, 100_000
PARTITIONS = [TopicPartition("t", index) for index in range(3)]
NEAR_THE_LAST_EPOCH = 32_760
"""Where lives begin: epochs run out in them."""

writes = st.sampled_from(["stored", "stored", "stored", "refused", "lost", "stored, then forgotten"])
"""What becomes of a record. `lost`: the coordinator crashes before it is written; `forgotten`: right after."""


class Lives(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 1_000_000
        self.next_id = 10
        self.log: list[tuple[bytes, bytes | None]] = []
        self.changes: list[Change] = []
        """All that was stored since the id was made, in order."""
        self.transaction = self._new()
        self.producers: list[ProducerIdAndEpoch] = []
        self.replaced: set[ProducerIdAndEpoch] = set()

    def _new(self) -> Transaction:
        self.next_id += 1
        made = Transaction(ID, self.next_id, TIMEOUT_MS, self.now_ms)
        made.producer_epoch = NEAR_THE_LAST_EPOCH
        return made

    # --- the coordinator -----------------------------------------------------------------------------------------

    def _write(self, change: Change, outcome: str) -> bool:
        """Whether it is stored, and memory has it."""
        note(f"{change.state.word}: {outcome}")
        if outcome.startswith("stored"):
            self.log.append((transaction_key(ID), transaction_value(change)))
            self._check_next(change)
            self.changes.append(change)
        if outcome == "stored":
            self.transaction.complete(change)
            return True
        if outcome == "refused":
            self.transaction.give_up()
        else:
            self._crash()
        return False

    def _crash(self) -> None:
        replay = LogReplay()
        records = [Record(offset, 0, key, value) for offset, (key, value) in enumerate(self.log)]
        if records:
            for batch in batches(build_batch(records)):
                replay.apply(batch)
        found = list(replay.transactions())
        self.transaction = found[0] if found else self._new()
        if self.transaction.state in ENDING:
            # The next coordinator writes the markers again.
            self._markers("stored")

    def _check_next(self, change: Change) -> None:
        if not self.changes:
            return
        last = self.changes[-1]
        assert last.state in PREDECESSORS[change.state], (last, change)
        if change.producer_id == last.producer_id:
            assert change.producer_epoch >= last.producer_epoch, (last, change)
        if last.state in ENDING:
            assert (change.producer_id, change.producer_epoch) == (last.producer_id, last.producer_epoch)
        if last.state is TransactionState.ONGOING and change.state is TransactionState.ONGOING:
            assert last.partitions <= change.partitions and last.started_ms == change.started_ms
        if change.state in ENDING:
            assert change.partitions == last.partitions, "a marker would be missing"

    def _abort(self, epoch: int, outcome: str) -> None:
        producer = ProducerIdAndEpoch(self.transaction.producer_id, epoch)
        change = end_transaction(self.transaction, producer, is_commit=False, is_from_client=False, now_ms=self.now_ms)
        assert isinstance(change, Change), change
        aborting = self.transaction
        if not self._write(change, outcome) and self.transaction is aborting:
            aborting.failed_to_fence = True

    def _markers(self, outcome: str) -> None:
        of = self.transaction
        producer = ProducerIdAndEpoch(of.producer_id, of.producer_epoch)
        is_commit = of.state is TransactionState.PREPARE_COMMIT
        change = finish_transaction(of, producer, is_commit=is_commit, now_ms=self.now_ms)
        assert isinstance(change, Change), change
        self._write(change, outcome)

    # --- what happens --------------------------------------------------------------------------------------------

    @rule(data=st.data(), outcome=writes)
    def begin(self, data: st.DataObject, outcome: str) -> None:
        expected = data.draw(st.sampled_from([None, *self.producers[-4:]]))
        change = init_producer_id(self.transaction, timeout_ms=TIMEOUT_MS, expected=expected, now_ms=self.now_ms)
        if change is Need.PRODUCER_ID:
            self.next_id += 1
            change = init_producer_id(
                self.transaction,
                timeout_ms=TIMEOUT_MS,
                expected=expected,
                now_ms=self.now_ms,
                fresh_producer_id=self.next_id,
            )
        if not isinstance(change, Change):
            return
        if change.state is TransactionState.PREPARE_EPOCH_FENCE:
            self._abort(change.producer_epoch, outcome)
        elif self._write(change, outcome):
            given = ProducerIdAndEpoch(change.producer_id, change.producer_epoch)
            self.replaced |= {each for each in self.producers if each != given}
            self.producers.append(given)

    @rule(data=st.data(), partition=st.sampled_from(PARTITIONS), outcome=writes)
    def add(self, data: st.DataObject, partition: TopicPartition, outcome: str) -> None:
        if self.producers:
            producer = data.draw(st.sampled_from(self.producers[-4:]))
            change = add_partitions(self.transaction, producer, frozenset((partition,)), now_ms=self.now_ms)
            self._check_who(producer, change)
            if isinstance(change, Change):
                self._write(change, outcome)

    @rule(data=st.data(), is_commit=st.booleans(), outcome=writes)
    def end(self, data: st.DataObject, is_commit: bool, outcome: str) -> None:
        if self.producers:
            producer = data.draw(st.sampled_from(self.producers[-4:]))
            change = end_transaction(
                self.transaction, producer, is_commit=is_commit, is_from_client=True, now_ms=self.now_ms
            )
            self._check_who(producer, change)
            if isinstance(change, Change):
                self._write(change, outcome)

    @rule(outcome=writes)
    def write_markers(self, outcome: str) -> None:
        if self.transaction.state in ENDING:
            self._markers(outcome)

    @rule(outcome=writes, ms=st.sampled_from([1, TIMEOUT_MS]))
    def time_passes(self, outcome: str, ms: int) -> None:
        self.now_ms += ms
        if is_timed_out(self.transaction, self.now_ms):
            self._abort(self.transaction.fence().producer_epoch, outcome)

    @rule()
    def crash(self) -> None:
        self._crash()

    @rule()
    def forget(self) -> None:
        self.now_ms += EXPIRATION_MS
        if is_expired(self.transaction, self.now_ms, EXPIRATION_MS):
            self.transaction.expire()
            self.log.append((transaction_key(ID), None))
            self.changes.clear()
            self.transaction = self._new()

    # --- what always holds ---------------------------------------------------------------------------------------

    def _check_who(self, producer: ProducerIdAndEpoch, found: Change | ErrorCode) -> None:
        if producer in self.replaced:
            assert found in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING), (producer, found)

    @invariant()
    def nothing_is_left_half_way(self) -> None:
        assert self.transaction.changing_to is None, self.transaction

    @invariant()
    def memory_equals_the_log(self) -> None:
        """But for an epoch that was raised to fence somebody: it counts at once, stored or not."""
        if self.changes:
            of, last = self.transaction, self.changes[-1]
            assert (of.state, of.partitions, of.producer_id) == (last.state, last.partitions, last.producer_id)
            assert of.producer_epoch >= last.producer_epoch


TestLives = Lives.TestCase
