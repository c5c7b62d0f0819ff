"""What a start makes of the files that its process is given."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CLOSED = (
    "import os; os.closerange(0, 3)\n"
    "from kafka_zk.tools.server_start import open_standard_streams\n"
    "open_standard_streams()\n"
    "null = os.stat(os.devnull).st_rdev\n"
    "os._exit(0 if all(os.fstat(each).st_rdev == null for each in range(3)) else 7)\n"
)


def test_closed_standard_streams_become_the_null_device() -> None:
    assert subprocess.run([sys.executable, "-c", CLOSED], timeout=60).returncode == 0


@pytest.mark.parametrize("limit", [64, 90])
def test_too_few_open_files_are_refused_in_a_sentence(tmp_path: Path, limit: int) -> None:
    (tmp_path / "server.properties").write_text(f"zookeeper.connect=127.0.0.1:1\nlog.dirs={tmp_path}/data\n")
    start = f"ulimit -n {limit}; LOG_DIR={tmp_path}/logs exec {sys.executable} -m kafka_zk.tools.server_start"
    command = f"{start} {tmp_path}/server.properties"
    run = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
    said = run.stdout + run.stderr
    assert run.returncode == 1
    assert f"{limit} files may be open (ulimit -Hn), and this config needs at least 98" in said
    assert "Traceback" not in said
