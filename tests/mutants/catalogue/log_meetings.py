"""Faults where a log meets what it, or a log of its name, was before."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a topic made anew begins with nothing that a checkpoint says of the deleted one",
        file="kafka_zk/log/manager.py",
        old="        data_dir.forget(topic_partition, lambda each: self._is_in(data_dir, each))\n",
        new="",
        tests="tests/unit/log/test_names_used_again.py -k after_a_kill",
    ),
    Mutant(
        breaks="a checkpoint that was on its way when a topic was deleted is not taken for that of the next",
        file="kafka_zk/log/directory/data_dir.py",
        old="        with self._writing:  # Behind all that was on its way before the earlier partition went.\n",
        new="        with Turn():\n",
        tests="tests/unit/log/test_names_used_again.py -k went_while",
    ),
    Mutant(
        breaks="what was cleaned of a deleted topic counts for none that is made anew in another directory",
        file="kafka_zk/log/manager.py",
        old="            self._cleaner.forget(topic_partition, data_dir.directory)\n",
        new="            pass\n",
        tests="tests/unit/log/test_names_used_again.py -k in_another",
    ),
    Mutant(
        breaks="a start takes no gap that a cleaning left for a loss",
        file="kafka_zk/log/cleaner/cleaning.py",
        old="            log.log_dir.write_recovery_points()\n",
        new="",
        tests="tests/unit/log/cleaner/test_starts_after_cleanings.py",
    ),
    Mutant(
        breaks="who looks up a time is told what is in the log that took the place of the one looked into",
        file="kafka_zk/log/unified_log.py",
        old="        return self.successor._look_up(look)\n",
        new="        return None\n",
        tests="tests/unit/replication/test_moves_meet_look_ups.py -k new",
    ),
    Mutant(
        breaks="a log that is deleted while a time is looked up in it does not answer that there is none",
        file="kafka_zk/log/unified_log.py",
        old="        if found is not None or not self.is_closed:\n",
        new="        if found is not None or self.successor is None:\n",
        tests="tests/unit/replication/test_moves_meet_look_ups.py -k deleted",
    ),
    Mutant(
        breaks="what lies in the log directories is told of one moment",
        file="kafka_zk/api/admin/describe_log_dirs.py",
        old="    described = [_directory(directory) for directory, _ in log_manager.logs_by_directory()]\n",
        new="    found = log_manager.logs_by_directory()\n"
        "    described = [_directory(directory) for directory, _ in found]\n"
        "    log_manager.logs_by_directory = lambda: found\n",
        tests="tests/unit/replication/test_moves_meet_look_ups.py -k whose_move_ends",
    ),
    Mutant(
        breaks="a split that a kill cut off leaves the segment nowhere beside its parts",
        file="kafka_zk/log/loading/leftovers.py",
        old="first <= file.offset < end or file.offset == split_base:\n",
        new="first <= file.offset < end:\n",
        tests="tests/unit/log/cleaner/test_splits_cut_off.py",
    ),
    Mutant(
        breaks="a damaged offset before a swap that a kill cut off takes no segment away",
        file="kafka_zk/log/loading/leftovers.py",
        old="islice(file.headers(0), 1):\n                if first.base_offset <= offset <= first.last_offset:\n",
        new="file.headers(0):\n                if first.last_offset >= offset:\n",
        tests="tests/unit/log/cleaner/test_splits_cut_off.py",
    ),
    Mutant(
        breaks="a stop before everything was loaded leaves the checkpoints as they are",
        file="kafka_zk/log/manager.py",
        old="        if not data_dir.is_loaded:\n            return\n",
        new="",
        tests="tests/unit/log/test_manager.py -k rule_46_a_stop",
    ),
    Mutant(
        breaks="a log that is deleted while a cleaned segment is synced takes no healthy directory offline",
        file="kafka_zk/log/cleaner/cleaning.py",
        old="        except OSError:\n            # The directory of a log",
        new="        except ZeroDivisionError:\n            # The directory of a log",
        tests="tests/unit/log/cleaner/test_deletions_meet_cleanings.py",
    ),
    Mutant(
        breaks="a log that is deleted before its cleaning begins takes no healthy directory offline",
        file="kafka_zk/log/cleaner/cleaning.py",
        old="        self._check()  # It may have been deleted, or truncated, since it was chosen.\n",
        new="",
        tests="tests/unit/log/cleaner/test_deletions_meet_cleanings.py -k not_looked_into",
    ),
    Mutant(
        breaks="the recovery point passes the gap before an append that a thread still writes",
        file="kafka_zk/log/unified_log.py",
        old="        up_to = min(up_to, max(self.log_end_offset, self.local.active.base_offset))\n",
        new="        up_to = min(up_to, self.log_end_offset)\n",
        tests="tests/unit/log/test_appends_behind_gaps.py",
    ),
    Mutant(
        breaks="what a start found without recovery points is below those that it writes",
        file="kafka_zk/log/manager.py",
        old="            self._pools.for_each(self._logs_in(data_dir, with_future=True), _flush_if_it_works)\n",
        new="            pass\n",
        tests="tests/unit/log/cleaner/test_starts_after_cleanings.py -k second_kill",
    ),
    Mutant(
        breaks="a copy that begins while the broker's configuration changes follows it, too",
        file="kafka_zk/log/manager.py",
        old="        for logs in (self._logs, self._future_logs):\n            if topic_partition in logs:\n",
        new="        for logs in (self._logs,):\n            if topic_partition in logs:\n",
        tests="tests/unit/replication/test_moves_meet_configs.py",
    ),
    Mutant(
        breaks="a start that splits a segment takes no gap below the recovery point for a loss",
        file="kafka_zk/log/loading/loader.py",
        old="        if following.base_offset <= self.recovery_point:\n",
        new="        if following.base_offset < 0:\n",
        tests="tests/unit/log/test_splitting.py -k gap_below",
    ),
    Mutant(
        breaks="a start after a crash needs no room for producer snapshots",
        file="kafka_zk/log/state/producer_journal.py",
        old="                if self._known is None or error.errno != errno.ENOSPC:\n",
        new="                if error.errno:\n",
        tests="tests/unit/log/test_full_disks.py -k snapshots",
    ),
    Mutant(
        breaks="a short write is told as a full disk",
        file="kafka_zk/log/files/disk.py",
        old="{os.strerror(errno.ENOSPC)}, only",
        new="short write:",
        tests="tests/unit/log/test_full_disks.py -k short_write",
    ),
    Mutant(
        breaks="a full disk is told in one sentence that says what to do",
        file="kafka_zk/log/directory/log_directory.py",
        old="            if error.errno == errno.ENOSPC:\n",
        new="            if not error.errno:\n",
        tests="tests/unit/log/test_full_disks.py -k sentence",
    ),
    Mutant(
        breaks="a log that is truncated while others are looked at is not cleaned by what was seen before",
        file="kafka_zk/log/cleaner/states.py",
        old=" and not log.is_copied and log.truncations == seen.truncations\n",
        new=" and not log.is_copied\n",
        tests="tests/unit/log/cleaner/test_log_cleaner.py -k truncated_while_others",
    ),
    Mutant(
        breaks="a cleaning uses no offsets from before a truncation",
        file="kafka_zk/log/cleaner/cleaning.py",
        old="        self._truncations = truncations\n",
        new="        self._truncations = log.truncations\n",
        tests="tests/unit/log/cleaner/test_log_cleaner.py -k before_its_cleaning",
    ),
    Mutant(
        breaks="a log that is moved while its topic's overrides are read has the broker's new defaults",
        file="kafka_zk/log/manager.py",
        old="        try:\n            topic_config = self._topic_config(topic_partition.topic)\n",
        new="        before = self._logs.get(topic_partition)\n        try:\n"
        "            topic_config = self._topic_config(topic_partition.topic)\n"
        "            if self._logs.get(topic_partition) is not before:\n                return\n",
        tests="tests/unit/replication/test_moves_meet_configs.py -k move_that_ends",
    ),
    Mutant(
        breaks="a start on a full disk reads no segment again for each one behind it",
        file="kafka_zk/log/loading/loader.py",
        old="        if is_behind_last and start > self.log_start_offset:\n",
        new="        if False:\n",
        tests="tests/unit/log/test_full_disks.py -k reads_no_segment_again",
    ),
)
