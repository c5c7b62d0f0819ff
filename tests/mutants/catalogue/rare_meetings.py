"""Faults where two rare things meet: found by reading, each of them once real."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a copy of a deleted topic never takes the place of the next one",
        file="kafka_zk/log/manager.py",
        old="        self._drop_copies_of_earlier_topics()\n",
        new="",
        tests="tests/unit/replication/test_moves_meet_failures.py -k never_takes",
    ),
    Mutant(
        breaks="what a start made of a deleted topic's copy makes room for the next one",
        file="kafka_zk/log/manager.py",
        old="        self._put_back |= load.put_back\n",
        new="",
        tests="tests/unit/replication/test_moves_meet_failures.py -k makes_room",
    ),
    Mutant(
        breaks="only what a start put in place of a log is set aside",
        file="kafka_zk/log/manager.py",
        old="        if topic_partition not in self._put_back or topic_partition not in self._logs:\n",
        new="        if topic_partition not in self._logs:\n",
        tests="tests/unit/replication/test_moves_meet_failures.py -k not_set_aside",
    ),
    Mutant(
        breaks="a log is deleted though the directory of its copy fails",
        file="kafka_zk/log/manager.py",
        old="            # Where its directory fails, which is told, the log goes all the same.\n"
        "            with suppress(KafkaStorageError):\n",
        new="            with suppress(ZeroDivisionError):\n",
        tests="tests/unit/replication/test_moves_meet_failures.py -k directory_of_its_copy",
    ),
    Mutant(
        breaks="a log whose copy was lost at the end of its move is free for the cleaner",
        file="kafka_zk/log/manager.py",
        old="if logs is self._future_logs and each",
        new="if each.is_future and each",
        tests="tests/unit/replication/test_moves_meet_failures.py -k free_for_the_cleaner",
    ),
    Mutant(
        breaks="a move that always fails keeps no other from moving",
        file="kafka_zk/replication/log_dir_moves.py",
        old="                    if self._copy_while_it_works(future):\n                        return\n",
        new="                    while not self._copy_while_it_works(future):\n"
        "                        self._stopped.wait(RETRY_S)\n                    return\n",
        tests="tests/unit/replication/test_moves_meet_failures.py -k always_fails",
    ),
    Mutant(
        breaks="a deletion takes the copy of a log whose directory is offline",
        file="kafka_zk/replication/leadership.py",
        old="            self._log_manager.drop_future_log(topic_partition)\n",
        new="            pass\n",
        tests="tests/unit/replication/test_moves_meet_failures.py -k directory_is_offline",
    ),
    Mutant(
        breaks="who reads while a log is cut remembers nothing of its old end",
        file="kafka_zk/log/removal/truncation.py",
        old="        # Who read while names were synced has remembered where the log ended.\n"
        "        log.reader.forget_positions()\n",
        new="",
        tests="tests/unit/log/test_what_meets_a_truncation.py -k old_end",
    ),
    Mutant(
        breaks="a checkpoint that is written while a log is cut promises no more than there is",
        file="kafka_zk/log/checkpoints.py",
        old="        data_dir.directory.checkpointed = {each: max(point, before.get(each, 0)) "
        "for each, point in points.items()}\n",
        new="",
        tests="tests/unit/log/test_what_meets_a_truncation.py -k promises_no_more",
    ),
    Mutant(
        breaks="the aborted transactions of what was read are looked for at once",
        file="kafka_zk/replication/serving/reading.py",
        old="            aborted = result.aborted_transactions()\n",
        new="            aborted = []\n",
        tests="tests/unit/replication/test_fetch.py -k its_segment_goes",
    ),
    Mutant(
        breaks="flush.ms opens nothing of a log that went meanwhile",
        file="kafka_zk/log/append/flusher.py",
        old="            self._log.refuse_if_closed()\n",
        new="",
        tests="tests/unit/log/test_manager.py -k went_while_another",
    ),
    Mutant(
        breaks="a look-up by time opens nothing of a segment that went while it waited",
        file="kafka_zk/log/segments/segment.py",
        old="        return self.file.is_given_up\n",
        new="        return False\n",
        tests="tests/unit/log/test_mending.py -k look_up_by_time",
    ),
    Mutant(
        breaks="what is deleted while a commit is sorted out in turns is not committed",
        file="kafka_zk/api/group/refusals.py",
        old="    if cache.snapshot is not before:\n",
        new="    if False:\n",
        tests="tests/unit/coordinator/test_overtaking.py -k sorted_out",
    ),
    Mutant(
        breaks="a commit stands behind the tombstones of a deletion that came before it",
        file="kafka_zk/coordinator/group/store.py",
        old="            turn = self._turns[partition] = Turn()\n",
        new="            turn = Turn()\n",
        tests="tests/unit/coordinator/test_overtaking.py -k tombstones",
    ),
    Mutant(
        breaks="an answer that is ready does not wait for the memory that it holds",
        file="kafka_zk/network/request_memory.py",
        old="            if not self._pay():\n                return memoryview(bytearray())\n",
        new="            while not self._pay():\n                self._parking.wait_woken()\n",
        tests="tests/integration/network/test_socket_server_memory.py -k ready_does_not",
    ),
    Mutant(
        breaks="what an answer holds is free when its connection ends with a fault",
        file="kafka_zk/network/connection.py",
        old="        out, self._out = self._out, []\n",
        new="        out = self._out\n",
        tests="tests/integration/network/test_socket_server_memory.py -k ends_with_a_fault",
    ),
    Mutant(
        breaks="a batch that may be there already is not split",
        file="kafka_zk/client/producer/sender.py",
        old="        return self.idempotence is not None and batch.may_be_taken\n",
        new="        return False\n",
        tests="tests/unit/client/producer/test_sender_lives.py -k not_split",
    ),
    Mutant(
        breaks="a batch whose error comes with an offset is not split",
        file="kafka_zk/client/producer/sender.py",
        old="        if error in UNKNOWN_FATES or outcome.base_offset >= 0:\n",
        new="        if error in UNKNOWN_FATES:\n",
        tests="tests/unit/client/producer/test_sender_lives.py -k not_split",
    ),
    Mutant(
        breaks="a fetch answer that is too large keeps no segment open",
        file="kafka_zk/api/dispatch.py",
        old="                if route.sends_slices:\n                    _release_slices(response, in_turns)\n",
        new="",
        tests="tests/unit/api/test_giving_way.py -k segment_open",
    ),
)
