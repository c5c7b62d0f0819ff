"""Faults that cost a chain of transactions its exactness when a broker or a link is killed in the midst of one."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

DIES = (
    "tests/interop/test_chains.py::test_whoever_dies_before_the_end_of_a_transaction_costs_no_record"
    "[ours-confluent-0] --reruns 0"
)
"""On our brokers, with librdkafka: it needs nothing of Apache Kafka's but ZooKeeper."""

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a coordinator that takes over a group has the offsets of its open transactions",
        file="kafka_zk/coordinator/group/decisions/replay.py",
        old="in self._transactions.items():\n            for raw_key",
        new="in ():\n            for raw_key",
        tests=DIES,
    ),
    Mutant(
        breaks="a replica that comes to lead tells what its predecessor aborted",
        file="kafka_zk/log/unified_log.py",
        old="            self._follow_producer(segment, header, header.base_offset, marker)\n",
        new="            committed = marker and marker._replace(control_type=type(marker.control_type).COMMIT)\n"
        "            self._follow_producer(segment, header, header.base_offset, committed)\n",
        tests=DIES,
    ),
)
