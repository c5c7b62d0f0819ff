"""Faults in kafka-transactions.sh and in what the admin client asks about transactions."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

CLIENT = "kafka_zk/client/admin"
CLIENT_TESTS = "tests/unit/client/admin/test_transactions.py"
TOOL_TESTS = "tests/unit/tools/test_transactions.py"
DOCTOR_TESTS = "tests/unit/tools/log_doctor/test_open_transactions.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a coordinator that loads is asked for its transactions again",
        file=f"{CLIENT}/transactions.py",
        old="build, check, (CoordinatorLoadInProgress,))",
        new="build, check)",
        tests=f"{CLIENT_TESTS} -k loads",
    ),
    Mutant(
        breaks="transactional ids are looked up as such",
        file=f"{CLIENT}/coordinators.py",
        old="FindCoordinatorRequest(key_type=key_type, coordinator_keys=keys)",
        new="FindCoordinatorRequest(key_type=KeyType.GROUP, coordinator_keys=keys)",
        tests=CLIENT_TESTS,
    ),
    Mutant(
        breaks="a replica asked by its broker's id may learn late of its partition",
        file=f"{CLIENT}/partition_producers.py",
        old="            raise UnknownTopicOrPartition\n",
        new="            return\n",
        tests=f"{CLIENT_TESTS} -k by_its_id",
    ),
    Mutant(
        breaks="an abort goes to the new leader of a partition that moved",
        file=f"{CLIENT}/partition_producers.py",
        old="        if error_code in _ABORT_AGAIN:\n            return {}\n",
        new="",
        tests=f"{CLIENT_TESTS} -k looks_for_the_leader",
    ),
    Mutant(
        breaks="a transaction that waits for a marker elsewhere hangs here",
        file="kafka_zk/tools/transactions/hanging.py",
        old="if each.partition not in expected]",
        new="if not expected]",
        tests=TOOL_TESTS,
    ),
    Mutant(
        breaks="an abort never claims a coordinator epoch below 0",
        file="kafka_zk/tools/transactions/__main__.py",
        old='max(0, values["coordinator-epoch"])',
        new='values["coordinator-epoch"]',
        tests=TOOL_TESTS,
    ),
    Mutant(
        breaks="a transaction whose marker would be refused as too old hangs",
        file="kafka_zk/tools/log_doctor/open_transactions.py",
        old=" and transaction.producer_epoch >= opened.producer_epoch:",
        new=":",
        tests=DOCTOR_TESTS,
    ),
    Mutant(
        breaks="what other brokers may know does not hang while it is young",
        file="kafka_zk/tools/log_doctor/open_transactions.py",
        old=" and partition_for(transaction.transactional_id, len(numbers)) == number",
        new="",
        tests=DOCTOR_TESTS,
    ),
    Mutant(
        breaks="of several replicas of a coordinator's partition the longest is asked",
        file="kafka_zk/tools/log_doctor/open_transactions.py",
        old="sorted(reports, key=lambda each: each.end_offset)",
        new="sorted(reports, key=lambda each: -each.end_offset)",
        tests=DOCTOR_TESTS,
    ),
)
