"""Faults with transactions that other brokers shipped, planted here."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

ROOM = "kafka_zk/coordinator/transaction"
RULES = "tests/unit/coordinator/transaction/test_faults_of_others.py"
STABLE_OFFSETS = "tests/unit/coordinator/test_stable_offsets.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="the next coordinator verifies all partitions of a transaction",
        file=f"{ROOM}/decisions/records.py",
        old="        for partition in each.partition_ids\n",
        new="        for partition in each.partition_ids[:1]\n",
        tests=f"{RULES} -k is_verified_after_it",
    ),
    Mutant(
        breaks="what the next coordinator finds open times out",
        file=f"{ROOM}/decisions/records.py",
        old="    transaction.started_ms = value.transaction_start_timestamp_ms\n",
        new="    transaction.started_ms = 2**62\n",
        tests=f"{RULES} -k times_out_after",
    ),
    Mutant(
        breaks="a newer epoch waits for the markers of all partitions",
        file=f"{ROOM}/markers.py",
        old="            if not markers.remaining:\n                markers.ending.done()\n",
        new="            markers.ending.done()\n",
        tests=f"{RULES} -k no_newer_epoch",
    ),
    Mutant(
        breaks="an abort by the coordinator ends the older epoch with a newer one",
        file=f"{ROOM}/decisions/transaction.py",
        old="        self.producer_epoch = epoch\n        self.last_producer_epoch = NO_EPOCH\n",
        new="        self.last_producer_epoch = NO_EPOCH\n",
        tests=f"{RULES} -k no_newer_epoch",
    ),
    Mutant(
        breaks="an end that could not be stored is stored later",
        file=f"{ROOM}/coordinator.py",
        old="            self._clock.call_at(self._clock.monotonic_ms() + STORE_AGAIN_MS, again)\n",
        new="",
        tests=f"{RULES} -k neither_used",
    ),
    Mutant(
        breaks="an end that comes again meets nothing of the transaction before",
        file=f"{ROOM}/decisions/transaction.py",
        old="                NO_PARTITIONS,\n                self.started_ms,",
        new="                self.partitions,\n                self.started_ms,",
        tests=f"{RULES} -k no_longer_be_written",
    ),
    Mutant(
        breaks="an abort that comes after its commit is refused",
        file=f"{ROOM}/decisions/states.py",
        old="    _COMPLETE_COMMIT: {COMMIT: ErrorCode.NONE, ABORT: ErrorCode.INVALID_TXN_STATE},\n",
        new="    _COMPLETE_COMMIT: {COMMIT: ErrorCode.NONE, ABORT: ErrorCode.NONE},\n",
        tests=f"{RULES} -k ends_nothing",
    ),
    Mutant(
        breaks="a marker ends the wait for stable offsets",
        file="kafka_zk/coordinator/group/decisions/offsets.py",
        old="self._transactions.pop(producer_id, {}).items()",
        new="self._transactions.get(producer_id, {}).items()",
        tests=STABLE_OFFSETS,
    ),
    Mutant(
        breaks="the next coordinator knows which groups wait for which marker",
        file="kafka_zk/coordinator/group/manager.py",
        old="                self.open_transactions.note(group)\n                self._performer",
        new="                self._performer",
        tests=STABLE_OFFSETS,
    ),
    Mutant(
        breaks="what is behind the last record of a segment is looked for in the next one",
        file="kafka_zk/log/segments/reading.py",
        old="            following = self._segments.after(segment)\n            if following is None:\n",
        new="            following = self._segments.after(segment)\n            if True:\n",
        tests="tests/unit/log/test_transactions_on_disk.py -k we_compacted",
    ),
)
