"""Faults in how the transaction coordinator performs what it decided."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

ROOM = "kafka_zk/coordinator/transaction"
TESTS = "tests/unit/coordinator/transaction"
COORDINATOR = f"{TESTS}/test_coordinator.py"
MARKERS = f"{TESTS}/test_markers.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="an append that ends in another leadership is not believed",
        file=f"{ROOM}/manager.py",
        old="            if transaction.load is not load:\n                # Another",
        new="            if load is not load:\n                # Another",
        tests=f"{COORDINATOR} -k not_believed",
    ),
    Mutant(
        breaks="the next coordinator finishes what was decided",
        file=f"{ROOM}/manager.py",
        old="        unfinished = [transaction for transaction in found if transaction.state in ENDING]\n",
        new="        unfinished: list[Transaction] = []\n",
        tests=f"{COORDINATOR} -k finishes_what",
    ),
    Mutant(
        breaks="a change that cannot be stored is given up",
        file=f"{ROOM}/manager.py",
        old="            elif not holds_on:\n",
        new="            elif code is ErrorCode.UNKNOWN_SERVER_ERROR:\n",
        tests=f"{COORDINATOR} -k changes_nothing",
    ),
    Mutant(
        breaks="nothing else begins while the last record of a transaction is tried again",
        file=f"{ROOM}/coordinator.py",
        old="self._manager.store(transaction, change, stored, holds_on=True)",
        new="self._manager.store(transaction, change, stored)",
        tests=f"{COORDINATOR} -k last_record",
    ),
    Mutant(
        breaks="an epoch that could not be stored is remembered",
        file=f"{ROOM}/coordinator.py",
        old="                transaction.failed_to_fence = True\n",
        new="                pass\n",
        tests=f"{COORDINATOR} -k not_raised_again",
    ),
    Mutant(
        breaks="markers carry the epoch of the coordinator that sends them",
        file=f"{ROOM}/markers.py",
        old="coordinator_epoch=markers.sent_epoch,",
        new="coordinator_epoch=0,",
        tests=f"{COORDINATOR} -k finishes_what",
    ),
    Mutant(
        breaks="a coordinator that lost the partition sends no markers",
        file=f"{ROOM}/ending.py",
        old="return self._transaction.load is self._load",
        new="return True",
        tests=f"{MARKERS} -k lost_partition",
    ),
    Mutant(
        breaks="a marker that a leader did not write is sent again",
        file=f"{ROOM}/markers.py",
        old="OUTCOMES.get(code, _Outcome.AGAIN)",
        new="OUTCOMES.get(code, _Outcome.ENDED)",
        tests=f"{MARKERS} -k cannot_write_now",
    ),
    Mutant(
        breaks="an answer is about what was sent in its request",
        file=f"{ROOM}/markers.py",
        old="            if part[0].producer_id in sent:\n",
        new="            if part[0].producer_id < 0:\n",
        tests=f"{MARKERS} -k wait_for_one_leader",
    ),
    Mutant(
        breaks="what waits for a leader that is gone is tried again with what was sent to it",
        file=f"{ROOM}/markers.py",
        old="*self._waiting.pop(broker_id, ())]",
        new="]",
        tests=f"{MARKERS} -k leader_that_leaves",
    ),
    Mutant(
        breaks="leaders that were down are looked for when the metadata changes",
        file=f"{ROOM}/markers.py",
        old="        metadata_cache.on_change(lambda _changed, _deleted: self._look_soon())\n",
        new="",
        tests=f"{MARKERS} -k is_down",
    ),
    Mutant(
        breaks="what the metadata does not have yet was not deleted",
        file=f"{ROOM}/markers.py",
        old="        deleted = [partition for partition in partitions if partition in gone]\n",
        new="        deleted = partitions\n",
        tests=f"{MARKERS} -k waited_for",
    ),
    Mutant(
        breaks="what is no longer wanted while others are written is not written",
        file=f"{ROOM}/markers.py",
        old="        if not markers.ending.is_wanted():\n            return\n        part",
        new="        part",
        tests=f"{MARKERS} -k no_longer_wanted",
    ),
    Mutant(
        breaks="others have turns however many tasks of a coordinator wait",
        file="kafka_zk/coordinator/tasks.py",
        old="for task in in_slices(self._waiting()):",
        new="for task in self._waiting():",
        tests="tests/unit/coordinator/test_tasks.py",
    ),
    Mutant(
        breaks="one transaction that cannot be fenced keeps no other one open",
        file=f"{ROOM}/coordinator.py",
        old="self._completions.later(partial(self._abort_timed_out, transaction, now_ms))",
        new="self._abort_timed_out(transaction, now_ms)",
        tests=f"{COORDINATOR} -k keeps_no_other",
    ),
    Mutant(
        breaks="an id that another coordinator has revived gets no tombstone",
        file=f"{ROOM}/manager.py",
        old="for transaction in expired if transaction.load is not None]",
        new="for transaction in expired]",
        tests=f"{COORDINATOR} -k revived",
    ),
    Mutant(
        breaks="an id whose tombstone was refused can be used again",
        file=f"{ROOM}/manager.py",
        old="                else:\n                    transaction.give_up()\n",
        new="",
        tests=f"{COORDINATOR} -k tombstone_was_refused",
    ),
    Mutant(
        breaks="a code that nobody knows yet keeps no marker from being written",
        file=f"{ROOM}/markers.py",
        old="code_of(each.error_code)",
        new="ErrorCode(each.error_code)",
        tests=f"{MARKERS} -k nobody_knows",
    ),
    Mutant(
        breaks="a refused marker is tried again by the coordinator that sent it only",
        file=f"{ROOM}/manager.py",
        old="        del self.transactions[transaction.transactional_id]\n        transaction.load = None\n",
        new="        del self.transactions[transaction.transactional_id]\n",
        tests=f"{MARKERS} -k of_the_moment",
    ),
    Mutant(
        breaks="a stop ends what the markers wait for",
        file=f"{ROOM}/coordinator.py",
        old="        self._markers.stop()\n",
        new="",
        tests=f"{MARKERS} -k waits_for_its_replicas",
    ),
    Mutant(
        breaks="a last record is not tried again after the stop",
        file=f"{ROOM}/coordinator.py",
        old="if not self._is_active or transaction.load is None:",
        new="if transaction.load is None:",
        tests=f"{MARKERS} -k stopped_coordinator",
    ),
    Mutant(
        breaks="others have turns while thousands of markers are tried again",
        file=f"{ROOM}/markers.py",
        old="            for _ in in_slices(range(len(waiting))):\n",
        new="            for _ in range(len(waiting)):\n",
        tests=f"{MARKERS} -k thousands",
    ),
    Mutant(
        breaks="one request does not have all markers that wait",
        file=f"{ROOM}/markers.py",
        old="        while waiting and count < MOST_IN_A_REQUEST:\n",
        new="        while waiting:\n",
        tests=f"{MARKERS} -k thousands",
    ),
    Mutant(
        breaks="whoever was refused later waits a minute, too",
        file=f"{ROOM}/markers.py",
        old="        if self._refused:\n            self._await_refused()\n",
        new="",
        tests=f"{MARKERS} -k own_minute",
    ),
    Mutant(
        breaks="a refused marker is tried again once in a minute",
        file=f"{ROOM}/markers.py",
        old="        while self._refused and self._refused[0][0] <= now_ms:\n",
        new="        while self._refused:\n",
        tests=f"{MARKERS} -k own_minute",
    ),
    Mutant(
        breaks="very many partitions for a coordinator that loads are refused in turns",
        file="kafka_zk/api/txn/add_partitions_to_txn.py",
        old="dict.fromkeys(partition.topic for partition in in_turns(partitions))",
        new="dict.fromkeys(partition.topic for partition in partitions)",
        tests="tests/unit/api/test_giving_way.py -k very_many_partitions_for_a_coordinator",
    ),
    Mutant(
        breaks="the log says of which partitions a broker is the coordinator",
        file=f"{ROOM}/coordinator.py",
        old="elected=self._elected, resigned=self._resigned",
        new="elected=self._manager.elected, resigned=self._manager.resigned",
        tests=f"{COORDINATOR} -k operator_finds",
    ),
)
