"""Faults in how a producer waits for the end of its last transaction, and in what makes transactions cheap."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

ROOM = "kafka_zk/coordinator/transaction"
COORDINATOR, MARKERS, WAITS = f"{ROOM}/coordinator.py", f"{ROOM}/markers.py", f"{ROOM}/awaited_ends.py"
TESTS = "tests/unit/coordinator/transaction/test_awaited_ends.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="who begins while its last transaction is about to end waits for that",
        file=COORDINATOR,
        old=" and found.state in ENDING and found.ends_soon:",
        new=" and found.state in ENDING and not found.ends_soon:",
        tests=f"{TESTS} -k begins_once",
    ),
    Mutant(
        breaks="nobody waits for longer than its client would pause",
        file=WAITS,
        old="self._clock.monotonic_ms() + HELD_MS,",
        new="self._clock.monotonic_ms() + 1000 * HELD_MS,",
        tests=f"{TESTS} -k takes_long",
    ),
    Mutant(
        breaks="who waits is sent to the next coordinator",
        file=COORDINATOR,
        old="        self._awaited_ends.give_up()\n",
        new="",
        tests=f"{TESTS} -k next_coordinator",
    ),
    Mutant(
        breaks="only who waits for a partition that moved is sent away",
        file=WAITS,
        old="for each in self._waits if each.load is None]",
        new="for each in self._waits]",
        tests=f"{TESTS} -k keeps_the_others",
    ),
    Mutant(
        breaks="nothing is added for a client that is gone",
        file=WAITS,
        old="self._take_out(transaction, wait) if gone else None",
        new="None",
        tests=f"{TESTS} -k for_a_client_that_is_gone",
    ),
    Mutant(
        breaks="a client that only sends no more gets its answer",
        file=WAITS,
        old="self._take_out(transaction, wait) if gone else None",
        new="self._take_out(transaction, wait)",
        tests=f"{TESTS} -k only_sends_no_more",
    ),
    Mutant(
        breaks="a stop refuses what waits for an end",
        file=COORDINATOR,
        old="        self._awaited_ends.stop()\n",
        new="",
        tests=f"{TESTS} -k stop_keeps_nobody",
    ),
    Mutant(
        breaks="who hears of the end and has left, was refused or met a stop does not go on",
        file=WAITS,
        old="        if not self._take_out(transaction, wait):\n            return\n        try",
        new="        self._take_out(transaction, wait)\n        try",
        tests=f"{TESTS} -k before_it_goes_on",
    ),
    Mutant(
        breaks="nobody waits for markers of another broker",
        file=MARKERS,
        old="        if by_broker or homeless or unknown:\n",
        new="        if homeless or unknown:\n",
        tests=f"{TESTS} -k another_broker",
    ),
    Mutant(
        breaks="nobody waits for a marker that is tried again",
        file=MARKERS,
        old="        part[0].ending.delayed()\n",
        new="",
        tests=f"{TESTS} -k to_be_tried_again",
    ),
    Mutant(
        breaks="nobody waits for a marker that was refused",
        file=MARKERS,
        old="            markers.ending.delayed()\n            markers.was_refused",
        new="            markers.was_refused",
        tests=f"{TESTS} -k to_be_tried_again",
    ),
    Mutant(
        breaks="nobody waits for a last record that is stored again",
        file=COORDINATOR,
        old="            transaction.ends_soon = False\n",
        new="",
        tests=f"{TESTS} -k to_be_stored_again",
    ),
    Mutant(
        breaks="who has waited does not wait again",
        file=COORDINATOR,
        old="            answer.complete(ErrorCode.CONCURRENT_TRANSACTIONS)\n",
        new="            pass\n",
        tests=f"{TESTS} -k meets_another_end",
    ),
    Mutant(
        breaks="a timer that comes late says nothing",
        file=WAITS,
        old="        if self._take_out(transaction, wait):\n",
        new="        if self._take_out(transaction, wait) or True:\n",
        tests=f"{TESTS} -k counts_once",
    ),
    Mutant(
        breaks="a bug in what goes on reaches who waits",
        file=WAITS,
        old="        wait.answer.fail(error)\n",
        new="        str(error)\n",
        tests=f"{TESTS} -k reaches_who_waits",
    ),
    Mutant(
        breaks="a request for one partition is left when its connection closes",
        file="kafka_zk/api/txn/add_partitions_to_txn.py",
        old="    answer.when_left(added.leave)\n",
        new="",
        tests=f"{TESTS} -k adds_nothing",
    ),
    Mutant(
        breaks="a request for the offsets of a group is left when its connection closes",
        file="kafka_zk/api/txn/add_offsets_to_txn.py",
        old="    answer.when_left(added.leave)\n",
        new="",
        tests=f"{TESTS} -k adds_nothing",
    ),
    Mutant(
        breaks="a transaction in memory is served only while the coordinator is active",
        file=COORDINATOR,
        old="        if found is not None and self._is_active:\n",
        new="        if found is not None:\n",
        tests="tests/unit/coordinator/transaction/test_coordinator.py -k stops_says_so",
    ),
)
