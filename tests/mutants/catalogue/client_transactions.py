"""Faults of the transactional producer: its states, what errors cost, when its requests may go."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

ROOM = "kafka_zk/client/producer/transactions"
TESTS = "tests/unit/client/producer"
MANAGER = f"{TESTS}/test_transaction_manager.py"
LIVES = f"{TESTS}/test_transaction_lives.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a transaction does not end before its batches have an outcome",
        file=f"{ROOM}/transaction_manager.py",
        old="            if isinstance(step, EndTransaction) and (has_batches or self._sends_in_progress):\n",
        new="            if isinstance(step, EndTransaction) and self._sends_in_progress:\n",
        tests=LIVES,
    ),
    Mutant(
        breaks="a send that began before the commit belongs to the transaction",
        file=f"{ROOM}/transaction_manager.py",
        old="(has_batches or self._sends_in_progress)",
        new="has_batches",
        tests=f"{MANAGER} -k sends_that_began",
    ),
    Mutant(
        breaks="no batch goes to a partition before it is in the transaction",
        file=f"{ROOM}/sequences.py",
        old="self._manager.may_send(batch.topic_partition) and super().may_drain(batch)",
        new="super().may_drain(batch)",
        tests=LIVES,
    ),
    Mutant(
        breaks="after a failed record the producer goes on under a new epoch",
        file=f"{ROOM}/transaction_manager.py",
        old="        if self.can_raise_epoch and self.state is not State.ABORTING_TRANSACTION:\n"
        "            self._needs_epoch = True\n        self._become",
        new="        self._become",
        tests=f"{MANAGER} -k under_a_new_epoch",
    ),
    Mutant(
        breaks="a producer that was fenced can only be closed",
        file=f"{ROOM}/verdicts.py",
        old="    _E.PRODUCER_FENCED: Verdict.FENCED,\n",
        new="    _E.PRODUCER_FENCED: Verdict.ABORTABLE,\n",
        tests=f"{MANAGER} -k fenced_can_only",
    ),
    Mutant(
        breaks="batches behind one that was refused move up",
        file=f"{ROOM}/sequences.py",
        old="            _close_up(entry, batch)\n",
        new="            pass\n",
        tests=f"{TESTS}/test_transactional_sequences.py -k move_up",
    ),
    Mutant(
        breaks="a call that was told of a timeout goes on when it is made again",
        file=f"{ROOM}/pending_call.py",
        old="not self._result.was_told and self._target is target:",
        new="not self._result.is_done and self._target is not target:",
        tests=f"{MANAGER} -k goes_on_when_it_is_made_again",
    ),
    Mutant(
        breaks="an error of one partition that is retried decides before those that were not attempted",
        file=f"{ROOM}/transaction_manager.py",
        old="if verdicts[c] not in (Verdict.DONE, Verdict.PARTITION)), None)",
        new="if verdicts[c] is not Verdict.DONE), None)",
        tests=f"{MANAGER} -k loading_decides",
    ),
    Mutant(
        breaks="a record that was never sent fails with its transaction",
        file="kafka_zk/client/producer/record_accumulator.py",
        old="            taken += [batch for batch in queue.batches if not batch.has_sequence]\n",
        new="            taken += [batch for batch in queue.batches if batch.has_sequence]\n",
        tests=LIVES,
    ),
    Mutant(
        breaks="rows of a part that have changed are noticed",
        file="kafka_zk/spark/sources/kafka/exactly_once.py",
        old="        digest = zlib.crc32(repr((key, value, partition, headers)).encode())\n",
        new="        digest = zlib.crc32(repr((key, partition, headers)).encode())\n",
        tests="tests/unit/spark/sources/test_exactly_once.py -k any_order",
    ),
    Mutant(
        breaks="all batches of a query share the names of their tasks",
        file="kafka_zk/spark/sources/kafka/exactly_once.py",
        old='{self.query_id}-{self.task}"',
        new='{self.query_id}-{self.batch_id}-{self.task}"',
        tests="tests/unit/spark/sources/test_exactly_once.py -k named_by",
    ),
)
