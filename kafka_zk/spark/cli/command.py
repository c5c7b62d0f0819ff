"""kafka-pipeline.sh JOB: arguments, session, job, exit code.

Exit codes: 0 done; 1 wrong usage, or the job failed; 2 the audit found problems; 3 a later run of the same job has
taken over; 130 interrupted, 143 terminated. Output that nobody reads, or that has no room, changes nothing: the job is
done.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_zk.spark.cli.arguments import PROGRAM, Packing, Run, WrongUsage, parse
from kafka_zk.spark.cli.failures import clear_sentence, is_of_a_fenced_run
from kafka_zk.spark.cli.interruption import SCRATCH, end_on_interrupt, leave_the_end_to_it
from kafka_zk.spark.cli.package import PackageError, pack
from kafka_zk.standard_streams import forgive, open_closed_streams

if TYPE_CHECKING:
    from kafka_zk.spark.jobs.outcome import Outcome

DONE, FAILED, WRONG, TAKEN_OVER = 0, 1, 2, 3


def run() -> None:
    """Entry point of spark-submit."""
    open_closed_streams()
    forgive("stdout", "stderr")
    with tempfile.TemporaryDirectory(prefix=SCRATCH, ignore_cleanup_errors=True) as scratch:
        end_on_interrupt(Path(scratch))
        code = main(sys.argv[1:], Path(scratch))
        leave_the_end_to_it()
        sys.exit(code)


def main(arguments: Sequence[str], scratch: Path) -> int:
    """Blocks until the job ends; returns its exit code. The caller deletes the directory `scratch` afterwards."""
    try:
        wanted = parse(list(arguments))
        return _pack(wanted) if isinstance(wanted, Packing) else _run(wanted, scratch)
    except WrongUsage as error:
        print(error, file=sys.stderr)
        return FAILED


def _pack(wanted: Packing) -> int:
    try:
        target = pack(wanted.target, wanted.include)
    except (PackageError, OSError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return FAILED
    print(f"{target}: {target.stat().st_size / 1e6:.1f} MB")
    return DONE


def _run(wanted: Run, scratch: Path) -> int:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        print(f"{PROGRAM}: PySpark is not installed: pip install 'kafka_zk[spark]'", file=sys.stderr)
        return FAILED
    from kafka_zk.spark.cli.secrets import shared
    from kafka_zk.spark.cli.session import start_session

    try:
        session = start_session(wanted.job.name, wanted.settings, scratch)
        job = importlib.import_module(f"kafka_zk.spark.jobs.{wanted.job.name}")
        outcome: Outcome = job.run(session, shared(session, wanted.job, wanted.settings, scratch))
    except Exception as error:
        return _explain(wanted.job.name, error)
    print(outcome.text, flush=True)
    session.stop()
    return WRONG if outcome.found_wrong else DONE


def _explain(job: str, error: Exception) -> int:
    leave_the_end_to_it()
    if os.environ.get("KAFKA_PIPELINE_TRACEBACK"):
        traceback.print_exception(error)
    print(f"{PROGRAM} {job}: {clear_sentence(str(error) or type(error).__name__)}", file=sys.stderr)
    return TAKEN_OVER if is_of_a_fenced_run(str(error)) else FAILED


if __name__ == "__main__":
    run()
