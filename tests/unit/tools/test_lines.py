"""Lines of an input, until its end or until somebody asks to stop."""

from __future__ import annotations

import os
import resource
import threading
from pathlib import Path

import pytest

from kafka_zk.tools.console_producer import lines as module
from kafka_zk.tools.console_producer.lines import Lines


def lines_of(data: bytes) -> list[bytes]:
    read, write = os.pipe()
    os.write(write, data)
    os.close(write)
    found = list(Lines(read))
    os.close(read)
    return found


def test_a_process_with_a_thousand_open_files_reads_lines() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    others = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert lines_of(b"a\n") == [b"a"]
    finally:
        for descriptor in others:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\nb\rc\n\nd", [b"a", b"b", b"c", b"", b"d"]),
        (b"\n", [b""]),
        ("é\n".encode(), ["é".encode()]),
        (b"a\xffb\n", "a�b".encode().splitlines()),
    ],
)
@pytest.mark.parametrize("chunk_bytes", [1, 2, 64])
def test_lines_end_as_javas_do(
    monkeypatch: pytest.MonkeyPatch, data: bytes, lines: list[bytes], chunk_bytes: int
) -> None:
    monkeypatch.setattr(module, "CHUNK_BYTES", chunk_bytes)
    assert lines_of(data) == lines


def test_what_was_typed_before_a_stop_is_read_and_no_more() -> None:
    read, write = os.pipe()
    os.write(write, b"a\nb\nunfinished")
    lines = Lines(read)
    lines.stop()
    assert list(lines) == [b"a", b"b"]


def test_a_stop_ends_a_wait() -> None:
    read, _ = os.pipe()
    lines = Lines(read)
    found: list[list[bytes]] = []
    reading = threading.Thread(target=lambda: found.append(list(lines)))
    reading.start()
    lines.stop()
    reading.join(30)
    assert found == [[]]


def test_the_rest_of_a_file_is_not_read_after_a_stop(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"a\n" * 10)
    lines = Lines(os.open(tmp_path / "lines", os.O_RDONLY))
    lines.stop()
    assert list(lines) == []


def test_lines_in_hand_at_a_stop_are_still_given() -> None:
    read, write = os.pipe()
    os.write(write, b"a\nb\nc\n")
    lines = Lines(read)
    given = iter(lines)
    assert next(given) == b"a"
    lines.stop()
    assert list(given) == [b"b", b"c"]


def test_each_line_of_a_terminal_is_asked_for() -> None:
    read, write = os.pipe()
    os.write(write, b"a\nb\n")
    os.close(write)
    asked: list[int] = []
    assert len(list(Lines(read, lambda: asked.append(1)))) == 2
    assert len(asked) == 3
