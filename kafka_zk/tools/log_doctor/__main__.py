"""kafka-log-doctor.sh DIR...: see options.py for what it takes, ../../log/doctor for what it looks at.

Exit codes: 0 nothing is lost or in danger; 1 wrong usage, a directory that cannot be read or is in use; 2 findings of
severity error: data is lost or in danger, or a broker would not start. Also 2: znodes that were not written because
others are there, indexes that were not rebuilt because their segment is damaged.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from kafka_zk.log.doctor.checkup import CheckUp, check_up
from kafka_zk.log.doctor.findings import Finding, Severity
from kafka_zk.log.doctor.log_dir import LogDir, LogDirInUse, check_free, look_at
from kafka_zk.tools.common.endings import run_as_program
from kafka_zk.tools.log_doctor.identity import check_identities
from kafka_zk.tools.log_doctor.open_transactions import check_open_transactions
from kafka_zk.tools.log_doctor.options import Wanted, WrongUsage, parse
from kafka_zk.tools.log_doctor.output import Progress, as_json, print_findings, summary

FINE, CANNOT, ENDANGERED = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        wanted = parse(list(sys.argv[1:] if arguments is None else arguments))
    except WrongUsage as error:
        print(error, file=sys.stderr)
        return CANNOT
    try:
        return _run(wanted)
    except (LogDirInUse, WrongUsage) as error:
        print(error, file=sys.stderr)
        return CANNOT
    except OSError as error:
        print(f"{error.filename}: {error.strerror}" if error.filename else error, file=sys.stderr)
        return CANNOT
    except KeyboardInterrupt:
        return 130


def run() -> None:
    """`main` as a program."""
    sys.exit(run_as_program(main))


def _run(wanted: Wanted) -> int:
    log_dirs = _look(wanted.directories)
    if wanted.rebuild_indexes:
        from kafka_zk.tools.log_doctor.rebuilding import rebuild

        return rebuild(log_dirs, wanted)
    progress = Progress(sys.stderr)
    result = check_up(
        log_dirs,
        deep=wanted.deep,
        index_interval_bytes=wanted.index_interval_bytes,
        processes=wanted.processes,
        on_progress=progress.show,
    )
    progress.end()
    for log_dir in log_dirs:
        # Files that changed during the check may have been judged wrongly.
        check_free(log_dir.path)
    if wanted.znodes:
        from kafka_zk.tools.log_doctor.restoring import restore

        return restore(result, wanted)
    result.together += check_identities(log_dirs)
    result.together += check_open_transactions(result, now_ms=time.time_ns() // 1_000_000)
    if wanted.config is not None:
        from kafka_zk.tools.log_doctor.secrets import check_secrets

        result.together += check_secrets(wanted.config)
    return _tell(result, wanted)


def _look(directories: Sequence[Path]) -> list[LogDir]:
    """Raises LogDirInUse, OSError."""
    for path in directories:
        check_free(path)
    return [look_at(path) for path in directories]


def _tell(result: CheckUp, wanted: Wanted) -> int:
    findings: list[Finding] = result.findings()
    if wanted.as_json:
        print(as_json(result))
    else:
        print_findings(findings, verbose=wanted.verbose)
        print(summary(result, verbose=wanted.verbose))
    return ENDANGERED if result.count(Severity.ERROR) else FINE


if __name__ == "__main__":
    run()
