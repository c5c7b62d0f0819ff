"""zookeeper-shell against what ZooKeeper's own shell (3.8.4, as Kafka 3.9.1 ships it) printed for the same commands.

tests/golden/zookeeper-shell/runs.json: one run after the other in one fresh chroot; addresses, dates and transaction
ids are replaced by HOST, T and 0xN. Where a command needs no ZooKeeper, Apache's shell sometimes tells of its
connection and sometimes has ended before; the runs have it without.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.tools.zookeeper_shell import __main__ as zookeeper_shell
from tests.support.processes import free_port
from tests.support.znodes import looking_at
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

RUNS = json.loads((Path(__file__).parents[1] / "golden" / "zookeeper-shell" / "runs.json").read_text())


def comparable(text: str, connect: str) -> str:
    text = re.sub(r"(ctime|mtime) = .*", r"\1 = T", text.replace(connect, "HOST"))
    return re.sub(r"0x[0-9a-f]+", "0xN", text)


def test_every_run_prints_and_exits_as_apaches_shell(
    zookeeper: ZooKeeperServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = fresh_chroot(zookeeper, "shell")
    with looking_at(zookeeper.connect) as client:
        client.create(connect.removeprefix(zookeeper.connect))
    different: list[tuple[Any, Any]] = []
    for run in RUNS:
        monkeypatch.setattr("sys.stdin", io.StringIO(run["stdin"] or ""))
        exit_code = zookeeper_shell.main([connect, *run["arguments"]])
        printed = capsys.readouterr()
        ours = {
            **run,
            "exit_code": exit_code,
            "stdout": comparable(printed.out, connect),
            "stderr": comparable(printed.err, connect),
        }
        if ours != run:
            different.append((run, ours))
    assert different == []


def test_a_refused_connection_is_reported_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert zookeeper_shell.main([f"127.0.0.1:{free_port()}", "ls", "/"]) == 1
    assert capsys.readouterr().err == "KeeperErrorCode = ConnectionLoss for /\n"


def test_without_an_address_it_says_how_it_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    assert zookeeper_shell.main([]) == 1
    assert capsys.readouterr().out.startswith("USAGE: ")


def test_a_tls_configuration_that_is_not_there_stops_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert zookeeper_shell.main(["h:1", "-zk-tls-config-file", "f", "ls", "/"]) == 1
    assert "NoSuchFileException: f" in capsys.readouterr().err
