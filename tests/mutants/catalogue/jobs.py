"""Faults in the jobs of the pipeline: what they leave, go on with, and refuse."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a copy whose last records may be compacted away is refused",
        file="kafka_zk/client/range_writing/arrivals.py",
        old="        if missing is None and header.base_offset > position:\n",
        new="        if missing is None and header.base_offset < position:\n",
        tests="tests/unit/spark/test_ordered_copy.py -k newer_values",
    ),
    Mutant(
        breaks="who asks what stands in a log hears of control batches too",
        file="kafka_zk/client/range_reading/visible_batches.py",
        old="        if header.last_offset >= position:\n",
        new="        if header.last_offset >= position and not header.is_control:\n",
        tests="tests/unit/client/range_reading/test_visible_batches.py -k headers",
    ),
    Mutant(
        breaks="a copy to another topic than before begins anew there",
        file="kafka_zk/spark/jobs/copy_plan.py",
        old="            is_here = sending.to == name if",
        new="            is_here = True if",
        tests="tests/unit/spark/test_renamed_copies.py -k under_another_name",
    ),
    Mutant(
        breaks="groups are carried by the offsets of the topic that is mirrored to",
        file="kafka_zk/spark/jobs/carried_groups.py",
        old="        if to is None or to == rename.get(topic, topic):\n",
        new="        if to != rename:\n",
        tests="tests/unit/spark/test_renamed_copies.py -k groups",
    ),
    Mutant(
        breaks="no file of an ingest is divided among tasks",
        file="kafka_zk/spark/jobs/rows_in_order.py",
        old="str(max(1, min(tasks, sum(sizes) // largest)))",
        new="str(tasks)",
        tests="tests/unit/spark/test_whole_files.py -k divided",
    ),
    Mutant(
        breaks="what an ingest has left of a file is sent in the order of the file",
        file="kafka_zk/spark/jobs/rows_in_order.py",
        old='.sortWithinPartitions("position")',
        new="",
        tests="tests/integration/test_ingest_order.py",
    ),
    Mutant(
        breaks="two runs of one checkpoint do not work at the same time",
        file="kafka_zk/spark/jobs/sole_run.py",
        old="fcntl.LOCK_EX | fcntl.LOCK_NB",
        new="fcntl.LOCK_SH | fcntl.LOCK_NB",
        tests="tests/unit/spark/test_sole_run.py -k second_run",
    ),
    Mutant(
        breaks="the lock of a mirror's checkpoint does not make its offsets another's",
        file="kafka_zk/spark/jobs/mirror.py",
        old="(not any(table.data_files()) or state.names())",
        new="(not table.exists() or state.names())",
        tests="tests/unit/spark/test_mirror_notes.py -k inside_the_folder",
    ),
    Mutant(
        breaks="a file system without locks hinders no run",
        file="kafka_zk/spark/jobs/sole_run.py",
        old="        if error.errno not in WITHOUT_LOCKS:\n",
        new="        if error.errno:\n",
        tests="tests/unit/spark/test_sole_run.py -k without_locks",
    ),
    Mutant(
        breaks="a run does not meet its own lock",
        file="kafka_zk/spark/jobs/sole_run.py",
        old="sorted({each.resolve() for each in folders if each is not None})",
        new="filter(None, folders)",
        tests="tests/unit/spark/test_sole_run.py -k own_lock",
    ),
    Mutant(
        breaks="a job that is terminated ends with its line and its code",
        file="kafka_zk/spark/cli/interruption.py",
        old="SIGNALS = (signal.SIGINT, signal.SIGTERM)",
        new="SIGNALS = (signal.SIGINT,)",
        tests="tests/unit/spark/test_interruption.py -k jvm_with_one_line",
    ),
    Mutant(
        breaks="a job that has no time left to end in leaves no JVM behind",
        file="kafka_zk/spark/cli/interruption.py",
        old="    try:\n        if not _is_on_cluster():\n",
        new="    if not LIMIT_S:\n        os._exit(1)\n    try:\n        if not _is_on_cluster():\n",
        tests="tests/unit/spark/test_interruption.py -k nobody_reads",
    ),
    Mutant(
        breaks="a job that can start no thread any more ends when it is told to",
        file="kafka_zk/spark/cli/interruption.py",
        old="with suppress(RuntimeError):",
        new="with suppress(OSError):",
        tests="tests/unit/spark/test_interruption.py -k start_no_thread",
    ),
    Mutant(
        breaks="a job in the background of a script is not interrupted with it",
        file="kafka_zk/spark/cli/interruption.py",
        old=" for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN}",
        new=" for number in SIGNALS}",
        tests="tests/unit/spark/test_interruption.py -k stays_so",
    ),
    Mutant(
        breaks="a transform does not write to a topic that it reads",
        file="kafka_zk/spark/jobs/destination.py",
        old="    if read.matches(topic) and is_one",
        new="    if topic in read.topics and is_one",
        tests="tests/unit/spark/test_destination.py -k is_read",
    ),
    Mutant(
        breaks="a checkpoint that has begun goes on at its destination",
        file="kafka_zk/spark/jobs/destination.py",
        old="    if noted not in (None, destination) and last",
        new="    if noted is None and last",
        tests="tests/unit/spark/test_destination.py -k its_destination",
    ),
)
