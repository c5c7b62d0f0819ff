"""What zookeeper-server-start.sh hands on to the server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from kafka_zk.tools.zookeeper_server_start import __main__ as zookeeper_server_start
from kafka_zk.zk.embedded import SERVER_CLASS


@pytest.mark.parametrize("given", [["zoo.cfg"], ["2181", "/data"], ["2181", "/data", "2000", "60"]])
def test_zookeepers_server_gets_all_arguments(
    given: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file, or a port and a directory and what may follow: the server tells them apart, as behind Apache's script."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"21\"' >&2\n")
    java.chmod(0o755)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "zookeeper-3.9.3.jar").touch()
    for name in ("JAVA_HOME", "ZOOKEEPER_HOME", "LOG_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    run: list[Sequence[str]] = []
    monkeypatch.setattr(os, "execv", lambda program, command: run.append(command) or 0)
    assert zookeeper_server_start.main(given) == 0
    assert run[0][run[0].index(SERVER_CLASS) + 1 :] == given
