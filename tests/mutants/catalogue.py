"""Planted faults: small changes to the broker, each of which the named tests must catch.

A row is a promise that the suite can fail: it names the rule that the change breaks and the tests that say so.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One planted fault: in `file`, the only occurrence of `old` becomes `new`; `tests` must then fail."""

    breaks: str
    file: str
    old: str
    new: str
    tests: str


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="followers shift after each round of leaders, so that replica sets differ",
        file="kafka_zk/admin/assignment.py",
        old="            shift += 1\n",
        new="            shift += 0\n",
        tests="tests/unit/admin/test_assignment.py",
    ),
    Mutant(
        breaks="an array's count is believed only as far as there are bytes for it",
        file="kafka_zk/protocol/decoder.py",
        old='with source.block("if n > end - pos:"):',
        new='with source.block("if n > 1 << 62:"):',
        tests="tests/unit/protocol",
    ),
    Mutant(
        breaks="the compiled codec reads nothing behind the end of a frame",
        file="kafka_zk/protocol/_codec.pyx",
        old="if size > reader.end - reader.at:",
        new="if size > reader.end - reader.at + 1:",
        tests="tests/unit/protocol/test_twins.py -k vectors",
    ),
    Mutant(
        breaks="error codes inside lists are counted",
        file="kafka_zk/protocol/tally.py",
        old="                tally.count(element, counts)\n",
        new="                pass\n",
        tests="tests/unit/api/test_error_form.py -k counted",
    ),
    Mutant(
        breaks="the bytes that others sent meanwhile are counted, too",
        file="kafka_zk/network/connection.py",
        old="            self._host.outgoing_bytes += sent_bytes\n",
        new="            self._host.outgoing_bytes = 4 + sent_bytes\n",
        tests="tests/integration/network/test_socket_server_slices.py -k beside",
    ),
    Mutant(
        breaks="the leader epoch is written where a batch has it",
        file="kafka_zk/record/_walker.pyx",
        old="<uint8_t*>view.buf + LEADER_EPOCH_AT",
        new="<uint8_t*>view.buf + LEADER_EPOCH_AT + 1",
        tests="tests/unit/record/test_walker.py -k assigning_offsets",
    ),
    Mutant(
        breaks="what a second tag of one field replaces is let go of",
        file="kafka_zk/protocol/_codec.pyx",
        old="                    Py_XDECREF(before)\n",
        new="",
        tests="tests/unit/protocol/test_twins.py -k rounds",
    ),
    Mutant(
        breaks="a class whose first call was refused is served by the compiled codec all the same",
        file="kafka_zk/protocol/value.py",
        old="        if make_by_keywords is not None:\n",
        new="        value_class.__init__(self, **fields)\n        if make_by_keywords is not None:\n",
        tests="tests/unit/protocol/test_twins.py -k first_call",
    ),
    Mutant(
        breaks="a batch that would make the segment too large rolls it first",
        file="kafka_zk/log/segments/roll.py",
        old="size_bytes > segment_bytes - append_bytes",
        new="size_bytes > segment_bytes",
        tests="tests/unit/log/test_roll_and_retention.py",
    ),
    Mutant(
        breaks="rule 45: an offset that does not fit a 32-bit index delta rolls the segment",
        file="kafka_zk/log/segments/roll.py",
        old="last_offset - base_offset > MAX_RELATIVE_OFFSET",
        new="last_offset < base_offset",
        tests="tests/unit/log/test_roll_and_retention.py",
    ),
    Mutant(
        breaks="the five last batches of a producer are known again",
        file="kafka_zk/log/state/producer_state.py",
        old="KEPT_BATCHES = 5",
        new="KEPT_BATCHES = 4",
        tests="tests/unit/log/test_producer_state.py",
    ),
    Mutant(
        breaks="a sequence continues where the last one ended",
        file="kafka_zk/log/state/producer_state.py",
        old="if sequence != (last + 1) & _SEQUENCE_MASK:",
        new="if sequence < (last + 1) & _SEQUENCE_MASK:",
        tests="tests/unit/log/test_producer_state.py",
    ),
    Mutant(
        breaks="rule 33: an epoch between two known ones ends where the next one starts",
        file="kafka_zk/log/state/leader_epoch_cache.py",
        old="end_offset = self.entries[higher].start_offset",
        new="end_offset = self.entries[higher - 1].start_offset",
        tests="tests/unit/log/test_leader_epoch_cache.py",
    ),
    Mutant(
        breaks="a batch that a crash left unanswered is known again, also when it was not its producer's last",
        file="kafka_zk/log/loading/loader.py",
        old="if self.clean_stop or self.producers.state.map_end_offset != end_offset:",
        new="if True:",
        tests="tests/unit/log/test_crash_and_faults.py",
    ),
    Mutant(
        breaks="a segment that retention removed is let go of, not kept among the open ones",
        file="kafka_zk/log/segments/open_segments.py",
        old="if len(self._tracked) >= self._forget_closed_at:",
        new="if len(self._tracked) >= 1 << 30:",
        tests="tests/unit/log/test_unified_log.py",
    ),
    Mutant(
        breaks="a dynamic value that is wrong is left out, and does not keep the broker from starting",
        file="kafka_zk/config/dynamic.py",
        old='                complaints.append(f"{complaint}: {name}")\n                continue\n',
        new='                complaints.append(f"{complaint}: {name}")\n',
        tests="tests/unit/config/test_dynamic.py",
    ),
    Mutant(
        breaks="what a small batch becomes when decompressed is not made on the loop",
        file="kafka_zk/log/append/checking.py",
        old="replace(rules, decompressed_limit_bytes=INLINE_BYTES)",
        new="rules",
        tests="tests/unit/log/test_unified_log.py",
    ),
    Mutant(
        breaks="nothing behind a corrupt segment is kept",
        file="kafka_zk/log/loading/loader.py",
        old="                for lost in unflushed[done + 1 :]:\n                    self._drop(lost)\n",
        new="",
        tests="tests/unit/log",
    ),
    Mutant(
        breaks="rule 25: the high watermark stands still below min.insync.replicas",
        file="kafka_zk/replication/leading/high_watermark.py",
        old="    if len(isr.committed) < min_isr:\n        return current\n",
        new="",
        tests="tests/unit/replication",
    ),
    Mutant(
        breaks="rule 26: a follower joins the ISR only with the start of the leader's epoch",
        file="kafka_zk/replication/leading/isr.py",
        old="        and follower.log_end_offset >= epoch_start_offset\n",
        new="",
        tests="tests/unit/replication/test_isr_rules.py",
    ),
    Mutant(
        breaks="rule 22: while a change is in flight the high watermark waits for the larger set",
        file="kafka_zk/replication/leading/isr.py",
        old="self.maximal = self.committed + tuple(",
        new="self.maximal = tuple(",
        tests="tests/unit/replication",
    ),
    Mutant(
        breaks="an incremental fetch answers only what is news",
        file="kafka_zk/replication/serving/fetch_session.py",
        old="            news.append(cached.is_news(read))",
        new="            cached.is_news(read)\n            news.append(True)",
        tests="tests/unit/replication/test_fetch_sessions.py",
    ),
    Mutant(
        breaks="rule 1: every write of a term is fenced by the controller epoch",
        file="kafka_zk/controller/store.py",
        old="self._fence = Check(znodes.ControllerEpochZNode.PATH, epoch_zk_version)",
        new="self._fence = Check(znodes.ControllerEpochZNode.PATH, -1)",
        tests="tests/simulation tests/unit/controller",
    ),
    Mutant(
        breaks="every election raises the leader epoch",
        file="kafka_zk/controller/decisions/election.py",
        old="leader_epoch=current.leader_epoch + 1",
        new="leader_epoch=current.leader_epoch",
        tests="tests/unit/controller",
    ),
    Mutant(
        breaks="rule 55: a member without an id is told to come back with one",
        file="kafka_zk/coordinator/group/decisions/joining.py",
        old="    elif join.requires_known_member_id:\n",
        new="    elif join.requires_known_member_id and group.members:\n",
        tests="tests/unit/coordinator",
    ),
    Mutant(
        breaks="rule 59: a full group takes nobody in",
        file="kafka_zk/coordinator/group/decisions/joining.py",
        old="return member is not None or len(group.members) < max_size",
        new="return member is not None or len(group.members) <= max_size",
        tests="tests/unit/coordinator",
    ),
    Mutant(
        breaks="the loop converts only a little for old fetchers",
        file="kafka_zk/api/data/old_fetchers.py",
        old="sum(each.piece.size_bytes for each in to_convert) > INLINE_BYTES",
        new="sum(each.piece.size_bytes for each in to_convert) > 1 << 40",
        tests="tests/unit/replication/test_old_fetchers.py",
    ),
    Mutant(
        breaks="what was truncated while a helper process converted it is not sent",
        file="kafka_zk/log/down_converter.py",
        old="        if not piece.is_intact:\n",
        new="        if piece.size_bytes < 0:\n",
        tests="tests/unit/replication/test_old_fetchers.py",
    ),
    Mutant(
        breaks="a helper process ends with the broker, also in the middle of a task",
        file="kafka_zk/log/helper/main.py",
        old="    threading.Thread(target=_end_with_broker, args=(channel,), daemon=True).start()\n",
        new="",
        tests="tests/unit/log/test_helper.py",
    ),
    Mutant(
        breaks="a batch that does not carry its checksum is told by the doctor",
        file="kafka_zk/log/doctor/walk.py",
        old="            is_intact = header[4] == crc_of(chunk[at + CRC_FROM : next_at])\n",
        new="            is_intact = True\n",
        tests="tests/unit/log/doctor/test_damage.py -k a-bit",
    ),
    Mutant(
        breaks="a rehearsed start leaves the real segment alone",
        file="kafka_zk/log/doctor/rehearsal.py",
        old="        if os.path.islink(path):\n            flags = os.O_RDONLY | os.O_CLOEXEC\n",
        new="        if os.path.islink(path):\n            self._inside = os.sep\n",
        tests="tests/unit/log/doctor/test_golden_dirs.py -k changes_nothing",
    ),
    Mutant(
        breaks="a leader made from directories alone begins an epoch that nobody has written in",
        file="kafka_zk/tools/log_doctor/znodes.py",
        old="leader_epoch=leader.report.latest_epoch + 1",
        new="leader_epoch=leader.report.latest_epoch",
        tests="tests/unit/tools/log_doctor/test_znodes.py",
    ),
    Mutant(
        breaks="a dump shows the records before the first that cannot be read",
        file="kafka_zk/tools/dump_log/records.py",
        old="        for record in records_until_bad(payload, start, header):\n",
        new="        for record in list(records_until_bad(payload, start, header)):\n",
        tests="tests/unit/tools/dump_log/test_dump_log.py",
    ),
    Mutant(
        breaks="an index that does not agree with its log is damage",
        file="kafka_zk/tools/dump_log/findings.py",
        old="        self.is_corrupt = True\n        return pairs",
        new="        return pairs",
        tests="tests/unit/tools/dump_log/test_dump_log.py",
    ),
    Mutant(
        breaks="a dump's entries of an index end where its unused room begins",
        file="kafka_zk/tools/dump_log/index_files.py",
        old="            if not relative and slot:\n                return  # the room",
        new="            if not relative and slot > 1 << 40:\n                return  # the room",
        tests="tests/unit/tools/dump_log/test_dump_log.py",
    ),
    Mutant(
        breaks="a power cut: the recovery point passes an offset only after everything below it was synced",
        file="kafka_zk/log/append/flusher.py",
        old="                    self._sync(segment)\n",
        new="                    pass\n",
        tests="tests/crash",
    ),
    Mutant(
        breaks="a power cut: a file that is replaced is synced before it gets its name",
        file="kafka_zk/log/files/disk.py",
        old="            if durable:\n                self.fsync(descriptor)\n",
        new="",
        tests="tests/crash",
    ),
    Mutant(
        breaks="a power cut: the epochs are on the disk before the recovery point passes them",
        file="kafka_zk/log/append/flusher.py",
        old="            if not log.epochs.is_synced:\n",
        new="            if log.epochs is None:\n",
        tests="tests/unit/log/test_power_cuts.py tests/crash",
    ),
    Mutant(
        breaks="a power cut: the newest segment of a truncation goes first",
        file="kafka_zk/log/removal/truncation.py",
        old="        remove_segments(log, gone[::-1])\n",
        new="        remove_segments(log, gone)\n",
        tests="tests/crash",
    ),
    Mutant(
        breaks="a power cut: after a truncation the checkpoint promises no more than there is",
        file="kafka_zk/log/directory/log_directory.py",
        old="        if self.checkpointed.get(topic_partition, 0) > recovery_point:\n",
        new="        if self.checkpointed is None:\n",
        tests="tests/crash",
    ),
    Mutant(
        breaks="a power cut: what lies behind a lost segment goes",
        file="kafka_zk/log/loading/loader.py",
        old="            if following is not None and self._is_hole(",
        new="            if following is not None and following.size_bytes < 0 and self._is_hole(",
        tests="tests/crash",
    ),
    Mutant(
        breaks="a clean marker that was removed stays away",
        file="kafka_zk/log/files/clean_shutdown.py",
        old="    disk.sync_path(log_dir)\n",
        new="",
        tests="tests/crash",
    ),
    Mutant(
        breaks="a torn batch is not kept",
        file="kafka_zk/log/loading/rebuild.py",
        old="    if computed != header.crc:\n",
        new="    if header.size_bytes < 0:\n",
        tests="tests/crash",
    ),
    Mutant(
        breaks="a write that failed is cut back",
        file="kafka_zk/log/files/segment_file.py",
        old="        except OSError:\n            self.cut_back()\n            raise\n",
        new="        except OSError:\n            raise\n",
        tests="tests/unit/log/test_crash_and_faults.py",
    ),
    Mutant(
        breaks="a clean stop completes the indexes before it syncs them",
        file="kafka_zk/log/removal/expiry.py",
        old="segment for segment in log.segments if segment.finish() and segment.size_bytes",
        new="segment for segment in log.segments if segment.size_bytes < 0",
        tests="tests/crash",
    ),
)
