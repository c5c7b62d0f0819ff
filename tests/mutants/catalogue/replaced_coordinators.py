"""Faults of coordinators of transactions that are replaced, or replace another one; and of offsets behind markers."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

ROOM = "kafka_zk/coordinator/transaction"
LOADS = "tests/unit/coordinator/transaction/test_uncommitted_loads.py"
CONFIRMED = "tests/unit/coordinator/transaction/test_confirmed_answers.py"
PRODUCE = "tests/unit/replication/test_transactional_produce.py"
OFFSETS = "kafka_zk/coordinator/group/decisions/offsets.py"
OFFSET_TESTS = "tests/unit/coordinator/test_offsets.py tests/unit/coordinator/test_coordinator_log.py"
COMMITS = "tests/unit/replication/test_delayed_commit.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a new coordinator waits for all that it read",
        file=f"{ROOM}/manager.py",
        old="self._log.await_committed(load.partition, replay.end_offset, timeout_ms=timeout_ms)",
        new="self._log.await_committed(load.partition, 0, timeout_ms=timeout_ms)",
        tests=f"{LOADS} -k not_committed_is_not_served",
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
    Mutant(
        breaks="an end that is there already is answered once the log confirms it",
        file=f"{ROOM}/coordinator.py",
        old="        elif decided is ErrorCode.NONE:\n            self._confirm(found, answer.complete)\n",
        new="        elif decided is None:\n            self._confirm(found, answer.complete)\n",
        tests=f"{CONFIRMED} -k have_it_again",
    ),
    Mutant(
        breaks="partitions that are there already are answered once the log confirms it",
        file=f"{ROOM}/coordinator.py",
        old="        elif decided is ErrorCode.NONE:\n            self._confirm(found, done)\n",
        new="        elif decided is None:\n            self._confirm(found, done)\n",
        tests=f"{CONFIRMED} -k who_was_replaced",
    ),
    Mutant(
        breaks="nothing else begins while an answer is confirmed",
        file=f"{ROOM}/decisions/transaction.py",
        old="        self.changing_to = self.state\n",
        new="",
        tests=f"{CONFIRMED} -k all_others_wait",
    ),
    Mutant(
        breaks="where nobody can have taken over, no record confirms an answer",
        file=f"{ROOM}/coordinator.py",
        old="        if self._manager.may_be_replaced(transaction):\n",
        new="        if transaction is not None:\n",
        tests=f"{CONFIRMED} -k without_other_replicas",
    ),
    Mutant(
        breaks="a broker with followers may have been replaced",
        file="kafka_zk/replication/manager.py",
        old="partition is None or not partition.is_leader or bool(partition.followers)",
        new="partition is None or not partition.is_leader",
        tests=f"{COMMITS} -k another_broker",
    ),
    Mutant(
        breaks="a leader asks no coordinator that was replaced",
        file="kafka_zk/replication/serving/transaction_verifier.py",
        old="state is None or state.leader_epoch < newest_epoch or self",
        new="state is None or self",
        tests=f"{PRODUCE} -k was_replaced",
    ),
    Mutant(
        breaks="the newest of the last markers says who may be asked",
        file="kafka_zk/replication/serving/transaction_verifier.py",
        old="                    if guard.coordinator_epoch > newest_epoch:\n",
        new="                    if newest_epoch < 0 or guard.coordinator_epoch < newest_epoch:\n",
        tests=f"{PRODUCE} -k newest_marker_of_all",
    ),
    Mutant(
        breaks="a commit of offsets behind a marker hides none before it",
        file=OFFSETS,
        old="            if older is not None:\n",
        new="            if older is not None and producer_id < 0:\n",
        tests=f"{OFFSET_TESTS} -k hides_none_before",
    ),
    Mutant(
        breaks="an overtaken offset behind the marker waits for the next one",
        file=OFFSETS,
        old="            if older.batch_offset > marker_offset:\n",
        new="            if older.batch_offset < 0:\n",
        tests=f"{OFFSET_TESTS} -k newest_one_before_each",
    ),
    Mutant(
        breaks="a removed offset does not come back from below a newer one",
        file=OFFSETS,
        old="                left = [each for each in overtaken if each[0] != partition]\n",
        new="                left = overtaken\n",
        tests=f"{OFFSET_TESTS} -k from_below",
    ),
    Mutant(
        breaks="a transaction that commits again and again takes no more memory",
        file="kafka_zk/coordinator/group/offset_store.py",
        old="            if first_offset is not None:\n",
        new="            if first_offset == -1:\n",
        tests=f"{OFFSET_TESTS} -k no_more_memory",
    ),
    Mutant(
        breaks="a coordinator that is elected once more writes markers that count",
        file="kafka_zk/coordinator/ownership.py",
        old="            known.leader_epoch = leader_epoch\n",
        new="",
        tests="tests/unit/coordinator/transaction/test_coordinator.py -k elected_once_more",
    ),
    Mutant(
        breaks="a coordinator that is elected once more soon writes what was under way",
        file=f"{ROOM}/markers.py",
        old="markers.sent_epoch < markers.coordinator.leader_epoch:\n",
        new="markers.sent_epoch < 0:\n",
        tests="tests/unit/coordinator/transaction/test_coordinator.py -k elected_once_more",
    ),
    Mutant(
        breaks="a coordinator that is elected once more soon writes what was refused before",
        file=f"{ROOM}/coordinator.py",
        old="        self._markers.elected(partition)\n",
        new="",
        tests="tests/unit/coordinator/transaction/test_coordinator.py -k elected_once_more",
    ),
)
