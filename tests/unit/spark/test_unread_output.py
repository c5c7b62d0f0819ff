"""A job that is done has its exit code, whether or not somebody reads what it prints."""

from __future__ import annotations

import subprocess
import sys

import pytest

JOB = """
import sys
from pathlib import Path
from kafka_zk.spark.cli import session
from kafka_zk.spark.jobs import audit
from kafka_zk.spark.jobs.outcome import Outcome
from kafka_zk.spark.jobs.progress import Progress

class Session:
    def stop(self):
        print("stopped", file=sys.stderr)

session.start_session = lambda *_: Session()
def examine(*_):
    print("| a table |")
    progress = Progress("audit")
    for number in range(3):
        progress.note(number, 1, 0.0)
        progress.show(sys.stderr)
    return Outcome("audit: 1 problem", found_wrong=True)

audit.run = examine
sys.argv[1:] = ["audit", "--archive", "a"]
"""
COMMAND = JOB + "from kafka_zk.spark.cli.command import run\nrun()\n"
PIPELINE = JOB + "from kafka_zk.tools.pipeline import __main__ as tool\ntool.java_home = lambda _: '/'\ntool.run()\n"
TIMEOUT_S = 60


@pytest.mark.parametrize("where", ["> /dev/full", ">&-", "| true", "2> /dev/full", "2>&-", "2> >(true)", "2>&1 | true"])
@pytest.mark.parametrize("program", [COMMAND, PIPELINE], ids=["command", "pipeline"])
def test_a_job_whose_output_nobody_can_read_ends_as_it_would(program: str, where: str) -> None:
    shell = f'"$0" -u -c "$1" {where}; exit ${{PIPESTATUS[0]}}'
    command = ["bash", "-c", shell, sys.executable, program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    told = (
        ""
        if "2>" in where
        else "".join(f"audit: batch {number}: 1 records; {number + 1} so far\n" for number in range(3))
    )
    assert (done.returncode, done.stderr) == (2, told and f"{told}stopped\n")
