"""Faults of coordinators of transactions that are replaced, or replace another one."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

ROOM = "kafka_zk/coordinator/transaction"
LOADS = "tests/unit/coordinator/transaction/test_uncommitted_loads.py"
COMMITS = "tests/unit/replication/test_delayed_commit.py"
LIVES = "tests/simulation/test_transaction_lives.py -k whole"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a new coordinator waits for all that it read, in a life",
        file=f"{ROOM}/manager.py",
        old="self._log.await_committed(load.partition, replay.end_offset, timeout_ms=timeout_ms)",
        new="self._log.await_committed(load.partition, 0, timeout_ms=timeout_ms)",
        tests=f"{LIVES} --seed 138",
    ),
    Mutant(
        breaks="a load that waited serves only if its leadership still is the current one",
        file="kafka_zk/coordinator/loads.py",
        old="        if not self._ownership.is_current(attempt.load):\n            return None\n        if code is",
        new="        if code is",
        tests=f"{LOADS} -k ends_meanwhile",
    ),
    Mutant(
        breaks="a load whose replica stopped leading is tried again",
        file="kafka_zk/coordinator/loads.py",
        old="MAY_PASS = (KafkaStorageError, OffsetOutOfRange, MemoryError, LeadershipEnded)",
        new="MAY_PASS = (KafkaStorageError, OffsetOutOfRange, MemoryError)",
        tests=f"{LOADS} -k stops_leading",
    ),
    Mutant(
        breaks="who waits for a commit hears of the end of the leadership",
        file="kafka_zk/replication/serving/delayed_commit.py",
        old="                log = partition.leader_log()\n",
        new="                log = partition.log_for(-1, leader_only=False)\n",
        tests=f"{COMMITS} -k ends_with_the_leadership",
    ),
)
