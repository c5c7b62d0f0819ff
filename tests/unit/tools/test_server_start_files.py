"""What a start makes of the files and signals that its process is given."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from kafka_zk.tools.common.background import start
from kafka_zk.tools.common.program import SIGNALS
from tests.support.processes import piped

CLOSED = (
    "import os; os.closerange(0, 3)\n"
    "from kafka_zk.standard_streams import open_closed_streams\n"
    "open_closed_streams()\n"
    "null = os.stat(os.devnull).st_rdev\n"
    "os._exit(0 if all(os.fstat(each).st_rdev == null for each in range(3)) else 7)\n"
)


def test_closed_standard_streams_become_the_null_device() -> None:
    assert subprocess.run([sys.executable, "-c", CLOSED], timeout=60).returncode == 0


@pytest.mark.parametrize("where", [">&-", "2>&-", ">&- 2>&- <&-", ">/dev/full", ">/dev/full 2>&1", "| true"])
def test_a_start_that_cannot_print_ends_as_if_it_could(where: str) -> None:
    start = f'"$0" -m kafka_zk.tools.server_start --version {where}; echo "${{PIPESTATUS[0]}}" >&9'
    run = subprocess.run(
        ["bash", "-c", f"exec 9>&1; {start}", sys.executable], capture_output=True, text=True, timeout=60
    )
    assert (run.stdout.splitlines()[-1], run.stderr) == ("0", "")


@pytest.mark.parametrize("ignored", [None, signal.SIGHUP, signal.SIGINT])
def test_a_signal_that_is_ignored_at_the_start_stays_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ignored: signal.Signals | None
) -> None:
    monkeypatch.setenv("LOG_DIR", str(tmp_path))
    (tmp_path / "server.properties").write_text(
        f"zookeeper.connect=127.0.0.1:1\nzookeeper.connection.timeout.ms=600000\nlog.dirs={tmp_path}/data\n"
    )

    def reset() -> None:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN if number is ignored else signal.SIG_DFL)

    command = [sys.executable, "-m", "kafka_zk.tools.server_start", str(tmp_path / "server.properties")]
    with piped(command, preexec_fn=reset) as process:
        assert process.stdout is not None
        has_said(process.stdout, "] starting")
        process.send_signal(ignored or signal.SIGHUP)
        if ignored is not None:
            process.send_signal(signal.SIGUSR1)
            has_said(process.stdout, "State: starting")
            process.send_signal(signal.SIGTERM)
        has_said(process.stdout, "shut down completed")
        assert process.wait(60) == 128 + (signal.SIGHUP if ignored is None else signal.SIGTERM)


def has_said(stream: IO[str], text: str) -> None:
    """Blocks until a line of `stream` has `text`."""
    assert any(text in line for line in stream), text


def test_what_goes_on_in_the_background_ignores_what_nohup_and_a_script_make_it_ignore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOG_DIR", str(tmp_path))
    asks = "import signal; print([each.name for each in signal.Signals if signal.getsignal(each) == signal.SIG_IGN])"
    os.waitpid(start([sys.executable, "-c", asks], output="said"), 0)
    assert {"SIGHUP", "SIGINT"} <= set(re.findall(r"SIG\w+", (tmp_path / "said").read_text()))


@pytest.mark.parametrize("limit", [64, 90])
def test_too_few_open_files_are_refused_in_a_sentence(tmp_path: Path, limit: int) -> None:
    (tmp_path / "server.properties").write_text(f"zookeeper.connect=127.0.0.1:1\nlog.dirs={tmp_path}/data\n")
    start = f"ulimit -n {limit}; LOG_DIR={tmp_path}/logs exec {sys.executable} -m kafka_zk.tools.server_start"
    command = f"{start} {tmp_path}/server.properties"
    run = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
    said = run.stdout + run.stderr
    assert run.returncode == 1
    assert f"the limit of open files is {limit} (ulimit -Hn), but this config needs at least 98" in said
    assert "Traceback" not in said
