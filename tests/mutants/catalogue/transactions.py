"""Faults in what the transaction coordinator decides."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

DECISIONS = "kafka_zk/coordinator/transaction/decisions"
TESTS = "tests/unit/coordinator/transaction"
REQUESTS = f"{TESTS}/test_requests.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="an epoch that was raised and not stored is not raised again",
        file=f"{DECISIONS}/transaction.py",
        old="epoch = self.producer_epoch if self.failed_to_fence else self.producer_epoch + 1",
        new="epoch = self.producer_epoch + 1",
        tests=f"{REQUESTS} -k not_raised_again",
    ),
    Mutant(
        breaks="a client ends its transaction with exactly its epoch",
        file=f"{DECISIONS}/requests.py",
        old=" or (is_from_client and producer.epoch > transaction.producer_epoch):",
        new=":",
        tests=f"{REQUESTS} -k current_producer",
    ),
    Mutant(
        breaks="nothing is added to a transaction that is ending",
        file=f"{DECISIONS}/requests.py",
        old="    if transaction.changing_to is not None or transaction.state in ENDING:\n",
        new="    if transaction.changing_to is not None:\n",
        tests=f"{REQUESTS} -k ending",
    ),
    Mutant(
        breaks="a producer whose answer was lost is told the same epoch again",
        file=f"{DECISIONS}/requests.py",
        old="        return current, transaction.last_producer_epoch\n",
        new="        return current + 1, transaction.last_producer_epoch\n",
        tests=f"{REQUESTS} -k says_who_it_was",
    ),
    Mutant(
        breaks="a decision that was fenced keeps the newer epoch in its record",
        file=f"{DECISIONS}/transaction.py",
        old="        self.producer_epoch = epoch\n        self.last_producer_epoch = NO_EPOCH\n",
        new="        self.last_producer_epoch = NO_EPOCH\n",
        tests=f"{TESTS}/test_lives.py {REQUESTS}",
    ),
    Mutant(
        breaks="all partitions of a transaction are in the record of its end",
        file=f"{DECISIONS}/transaction.py",
        old="        return self._prepare(self._as_it_is(state, now_ms))\n",
        new="        return self._prepare(self._as_it_is(state, now_ms)._replace(partitions=NO_PARTITIONS))\n",
        tests=f"{TESTS}/test_lives.py {REQUESTS}",
    ),
    Mutant(
        breaks="a producer that begins again leaves the start of its last transaction in memory",
        file=f"{DECISIONS}/transaction.py",
        old="        if change.state is not TransactionState.EMPTY:\n",
        new="        if True:\n",
        tests=f"{REQUESTS} -k last_transaction_began",
    ),
    Mutant(
        breaks="what retention took of an open transaction holds back nobody further than the log start",
        file="kafka_zk/log/unified_log.py",
        old="            self.last_stable_offset = max(unstable, self.log_start_offset)\n",
        new="            self.last_stable_offset = unstable\n",
        tests="tests/unit/log/test_transactions_on_disk.py -k retention",
    ),
    Mutant(
        breaks="readers of committed data stop at what was open before a start",
        file="kafka_zk/log/unified_log.py",
        old="if self._state.has_transactions:",
        new="if self._state.has_transactions and self.log_start_offset:",
        tests="tests/unit/log/test_transactions_on_disk.py -k forward",
    ),
    Mutant(
        breaks="a follower keeps what readers must know of aborted transactions once it leads",
        file="kafka_zk/log/unified_log.py",
        old="if completed.is_aborted:",
        new="if completed.is_aborted and marker.coordinator_epoch < 0:",
        tests="tests/unit/replication/test_transactions_after_failover.py",
    ),
)
