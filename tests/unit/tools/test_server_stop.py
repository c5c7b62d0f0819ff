"""Which processes kafka-server-stop takes for brokers."""

import os
from pathlib import Path

import pytest

from kafka_zk.tools.server_stop.__main__ import broker_pids


def process(proc: Path, pid: int, *words: str, cwd: Path | None = None) -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    (folder / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in words))
    (folder / "cwd").symlink_to(cwd or os.getcwd())


@pytest.mark.parametrize(
    "words",
    [
        ("/venv/bin/python", "-P", "-m", "kafka_zk.tools.server_start", "server.properties"),
        ("/venv/bin/python3", "/venv/bin/kafka-server-start", "server.properties"),
    ],
)
def test_a_broker_is_found_however_it_was_started(tmp_path: Path, words: tuple[str, ...]):
    process(tmp_path, 42, *words)
    assert list(broker_pids(proc=tmp_path)) == [42]


@pytest.mark.parametrize(
    "words",
    [
        ("/venv/bin/python", "-m", "kafka_zk.tools.server_stop"),
        ("vi", "kafka_zk.tools.server_start"),
        ("tail", "-f", "/var/log/kafka-server-start"),
        ("",),
    ],
)
def test_another_program_is_left_alone(tmp_path: Path, words: tuple[str, ...]):
    process(tmp_path, 42, *words)
    assert list(broker_pids(proc=tmp_path)) == []


@pytest.mark.parametrize(
    ("file", "overrides", "node_id"),
    [
        ("broker.id=7\n", (), "7"),
        ("node.id=7\n", (), "7"),
        ("broker.id=1\n", ("--override", "broker.id=7"), "7"),
        ("broker.id=1\n", ("--override=broker.id=7",), "7"),
    ],
)
def test_node_id_chooses_one_broker(tmp_path: Path, file: str, overrides: tuple[str, ...], node_id: str):
    (tmp_path / "server.properties").write_text(file)
    (tmp_path / "other.properties").write_text("broker.id=8\n")
    proc = tmp_path / "proc"
    python = ("python", "-m", "kafka_zk.tools.server_start")
    process(proc, 42, *python, "server.properties", *overrides, cwd=tmp_path)
    process(proc, 43, *python, "other.properties", cwd=tmp_path)
    process(proc, 44, *python, "gone.properties", cwd=tmp_path)
    assert list(broker_pids(node_id, proc)) == [42]
