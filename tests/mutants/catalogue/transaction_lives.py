"""Faults of transactions that show in a cluster of brokers only: found by lives, without a scene made for each."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

ROOM = "kafka_zk/coordinator/transaction"
LIVES = "tests/simulation/test_transaction_lives.py -k whole"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a transaction is complete once its last marker is written, in lives",
        file=f"{ROOM}/markers.py",
        old="            if not markers.remaining:\n                markers.ending.done()",
        new=(
            "            if len(markers.remaining) <= 1:\n"
            "                markers.remaining.clear()\n"
            "                markers.ending.done()"
        ),
        tests=LIVES,
    ),
    Mutant(
        breaks="a marker that counts outlives its leader, in lives",
        file=f"{ROOM}/marker_writer.py",
        old="required_acks=ACKS_ALL",
        new="required_acks=1",
        tests=LIVES,
    ),
    Mutant(
        breaks="what a coordinator answered outlives it, in lives",
        file=f"{ROOM}/coordinator.py",
        old="required_acks=ALL_REPLICAS",
        new="required_acks=1",
        tests=LIVES,
    ),
    Mutant(
        breaks="a producer whose transaction took too long is fenced, in lives",
        file=f"{ROOM}/decisions/transaction.py",
        old="epoch = self.producer_epoch if self.failed_to_fence else self.producer_epoch + 1",
        new="epoch = self.producer_epoch",
        tests=LIVES,
    ),
    Mutant(
        breaks="what arrives after an abort begins no transaction, in lives",
        file=f"{ROOM}/decisions/requests.py",
        old="ErrorCode.NONE if each in transaction.partitions else ErrorCode.TRANSACTION_ABORTABLE",
        new="ErrorCode.NONE",
        tests=LIVES,
    ),
    Mutant(
        breaks="an open transaction holds readers after its leader changed, in lives",
        file="kafka_zk/log/state/producer_state.py",
        old="        self._open.update(sorted(opened))\n",
        new="",
        tests=LIVES,
    ),
)
