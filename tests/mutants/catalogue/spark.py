"""Faults in the data pipeline."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a reader of ranges goes on behind batches that have no rows",
        file="kafka_zk/client/range_reading/visible_batches.py",
        old="        next_offset = max(next_offset, header.next_offset)\n",
        new="        next_offset = next_offset if header.is_control else max(next_offset, header.next_offset)\n",
        tests="tests/unit/client/range_reading/test_visible_batches.py",
    ),
    Mutant(
        breaks="of a segment nothing is read behind a wrong checksum",
        file="kafka_zk/spark/sources/log/segments.py",
        old='                    damage = "a checksum is wrong"\n                    break\n',
        new="                    pass\n",
        tests="tests/unit/spark/sources/test_log_reader.py -k damage",
    ),
    Mutant(
        breaks="a time is looked for in the batches, whatever a time index says",
        file="kafka_zk/spark/sources/log/times.py",
        old="    position = 0\n",
        new='    index = segment.path.with_suffix(".timeindex").read_bytes()\n'
        '    if index:\n        return 0 <= int.from_bytes(index[-12:-4], "big") < timestamp\n    position = 0\n',
        tests="tests/unit/spark/sources/test_log_reader.py -k time_index",
    ),
    Mutant(
        breaks="a stream's limit leaves no partition behind",
        file="kafka_zk/spark/sources/ranges.py",
        old="        taken = int(share) if share >= 1 else 1\n",
        new="        taken = int(share)\n",
        tests="tests/unit/spark/sources/test_ranges.py -k limit",
    ),
    Mutant(
        breaks="a copy that was cut off counts what is there from where it began",
        file="kafka_zk/spark/jobs/copy_plan.py",
        old="        written = ends[each] - first\n",
        new="        written = ends[each]\n",
        tests="tests/unit/spark/test_copy_plan.py -k noted_end",
    ),
    Mutant(
        breaks="a group that stood in a hole goes on at the next record, not behind it",
        file="kafka_zk/spark/jobs/copy_plan.py",
        old="min(committed - span.source_offset, span.record_count)",
        new="(committed - span.source_offset)",
        tests="tests/unit/spark/test_copy_plan.py -k exactly_the_records",
    ),
    Mutant(
        breaks="files of a batch that was begun are not sent with another batch too",
        file="kafka_zk/spark/jobs/ingest_plan.py",
        old="fresh = sorted(set(there) - known)",
        new="fresh = sorted(there)",
        tests="tests/unit/spark/test_ingest_plan.py",
    ),
    Mutant(
        breaks="the batches behind the last compact file count, too",
        file="kafka_zk/spark/jobs/file_sink_log.py",
        old="if number > last or",
        new="if number < last or",
        tests="tests/unit/spark/test_file_sink_log.py",
    ),
    Mutant(
        breaks="a task of a copy that is tried again sends nothing twice",
        file="kafka_zk/spark/jobs/ordered_copy.py",
        old="        if found != planned:\n",
        new="        if found < planned:\n",
        tests="tests/unit/spark/test_ordered_copy.py -k tried_again",
    ),
    Mutant(
        breaks="of a directory that was moved no committed file is deleted",
        file="kafka_zk/spark/jobs/file_sink_log.py",
        old="    known = {_name(path) for path in committed}\n",
        new="    known = set(committed)\n",
        tests="tests/unit/spark/test_file_sink_log.py -k moved",
    ),
    Mutant(
        breaks="an archive does not forget partitions that a later run finds fewer of",
        file="kafka_zk/spark/jobs/archived_topics.py",
        old="max(known.get(topic, 0), found.get(topic, 0))",
        new="found.get(topic, 0)",
        tests="tests/unit/spark/test_archived_topics.py -k never_goes_down",
    ),
    Mutant(
        breaks="a file with a bracket in its name is read as that file",
        file="kafka_zk/spark/jobs/file_store.py",
        old='    return _SPECIAL.sub(r"\\\\\\g<0>", path)\n',
        new="    return path\n",
        tests="tests/unit/spark/test_archived_topics.py -k pattern",
    ),
    Mutant(
        breaks="a value that is not Avro is named by its offset",
        file="kafka_zk/spark/jobs/decoding.py",
        old="partition {partition}, offset {offset}",
        new="partition {partition}, offset {partition}",
        tests="tests/unit/spark/test_decoding.py",
    ),
    Mutant(
        breaks="of several replicas the one that lacks a batch is named",
        file="kafka_zk/spark/jobs/replica_comparison.py",
        old="missing = [name for name in replicas if name not in found]",
        new="missing = [name for name in replicas[:2] if name not in found]",
        tests="tests/unit/spark/test_replica_comparison.py -k three",
    ),
    Mutant(
        breaks="a replica that lags does not hide how two others differ",
        file="kafka_zk/spark/jobs/replica_comparison.py",
        old="for _, found in sorted(by_offset.items())\n",
        new="for _, found in sorted(by_offset.items())\n"
        "        if all(each.end_offset > max(found.values()).last_offset for each in replicas.values())\n",
        tests="tests/unit/spark/test_replica_comparison.py -k does_not_hide",
    ),
    Mutant(
        breaks="a replica without batches is told",
        file="kafka_zk/spark/jobs/audit_findings.py",
        old="        of_replica = batches.setdefault(replica, [])\n        if crc is None:\n",
        new="        if crc is None and base > last:\n            continue\n"
        "        of_replica = batches.setdefault(replica, [])\n        if crc is None:\n",
        tests="tests/unit/spark/test_replica_comparison.py -k without_any_batch",
    ),
    Mutant(
        breaks="an audit tells a key from a value, and null from empty",
        file="kafka_zk/spark/jobs/audit_archive.py",
        old="xxhash64(key IS NULL, key, value IS NULL, value,",
        new="xxhash64(key, value,",
        tests="tests/integration/test_pipeline_jobs.py -k missing_twice_or_changed",
    ),
    Mutant(
        breaks="files that another checkpoint wrote are refused",
        file="kafka_zk/spark/jobs/sink_owner.py",
        old="    if written > begun or (written > NONE and noted not in (None, query_id)):\n",
        new="    if False:\n",
        tests="tests/unit/spark/test_sink_owner.py -k refused",
    ),
    Mutant(
        breaks="a topic that was made anew and has grown is not taken for the old one",
        file="kafka_zk/spark/sources/stream_offsets.py",
        old="if now.get(topic, known) != known)",
        new="if topic not in {**now, topic: known})",
        tests="tests/unit/spark/sources/test_planning.py -k made_anew",
    ),
    Mutant(
        breaks="a task reads no other topic of the name that was planned",
        file="kafka_zk/client/range_reading/range_reader.py",
        old="        if NULL_UUID not in (topic_id, self._topic_id) and topic_id != self._topic_id:\n",
        new="        if False:\n",
        tests="tests/unit/client/range_reading/test_range_reader.py -k made_anew",
    ),
    Mutant(
        breaks="a small file is there while it is replaced",
        file="kafka_zk/spark/jobs/file_replacement.py",
        old="    os.replace(unfinished, at)\n",
        new="    at.unlink(missing_ok=True)\n    os.replace(unfinished, at)\n",
        tests="tests/unit/spark/test_file_replacement.py",
    ),
)
