"""Which processes zookeeper-server-stop.sh signals, which it remembers, and with what."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_zk.tools.server_stop import __main__ as server_stop
from kafka_zk.tools.zookeeper_server_stop import __main__ as zookeeper_server_stop
from kafka_zk.zk.embedded import SERVER_CLASS

PATIENCE_S = 60
SERVER = """
import signal, sys
signal.signal(signal.SIGUSR1, lambda *_: print("heard", flush=True))
print("ready", flush=True)
while True:
    signal.pause()
"""
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    """A process that looks like a ZooKeeper of ours, survives SIGUSR1, and is remembered."""
    monkeypatch.setenv("LOG_DIR", str(tmp_path))
    command = [sys.executable, "-c", SERVER, SERVER_CLASS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        (tmp_path / f"zookeeper-{process.pid}.pid").write_text(f"{process.pid}\n")
        yield process
        process.kill()


def test_a_server_that_a_signal_does_not_end_can_be_stopped_later(
    server: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("SIGNAL", "usr1")
    assert zookeeper_server_stop.main() == 0
    assert server.stdout is not None
    assert server.stdout.readline() == "heard\n"
    monkeypatch.delenv("SIGNAL")
    assert zookeeper_server_stop.main() == 0
    assert server.wait(PATIENCE_S) == -signal.SIGTERM
    assert zookeeper_server_stop.main() == 1
    assert capsys.readouterr().out == "No zookeeper server to stop\n"


def test_what_is_remembered_of_another_program_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG_DIR", str(tmp_path))
    (tmp_path / "zookeeper-1.pid").write_text(f"{os.getpid()}\n")
    (tmp_path / "zookeeper-2.pid").write_text("")
    assert zookeeper_server_stop.main() == 1
    assert [file.name for file in tmp_path.iterdir()] == ["zookeeper-2.pid"], "that one is being written"


def test_a_server_that_may_not_be_stopped_keeps_no_other_one_running(
    tmp_path: Path, server: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """As the kill of Apache's script, which gets all of them at once."""
    kill, sent = os.kill, list[int]()
    first = tmp_path / "zookeeper-0.pid"
    first.write_text(f"{server.pid}\n")

    def refuse_first(pid: int, number: int) -> None:
        sent.append(pid)
        if len(sent) == 1:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        kill(pid, number)

    monkeypatch.setattr(os, "kill", refuse_first)
    assert zookeeper_server_stop.main() == 1
    assert capsys.readouterr().err == f"Cannot stop the server of {first}: Operation not permitted\n"
    assert sent == [server.pid] * 2
    assert server.wait(PATIENCE_S) == -signal.SIGTERM


@pytest.mark.parametrize("stop", [zookeeper_server_stop.main, lambda: server_stop.main([])])
def test_what_is_no_signal_is_told_in_a_sentence(
    stop: Callable[[], int], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("SIGNAL", "NONE")
    assert stop() == 1
    assert capsys.readouterr().err == "Unknown signal NONE\n"


@pytest.mark.parametrize("text", ["9", "KILL", "SIGKILL", "kill"])
def test_a_broker_gets_the_signal_that_is_named_or_numbered(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setenv("SIGNAL", text)
    monkeypatch.setattr(server_stop, "broker_pids", lambda _: [41, 42])

    def kill(pid: int, number: int) -> None:
        sent.append((pid, number))
        if pid == 41:
            raise ProcessLookupError

    monkeypatch.setattr(os, "kill", kill)
    assert server_stop.main([]) == 0
    assert sent == [(41, signal.SIGKILL), (42, signal.SIGKILL)]
