"""The table fits a terminal, and progress is shown on one only."""

from __future__ import annotations

import io

import pytest

from kafka_zk.tools.log_doctor import output
from kafka_zk.tools.log_doctor.output import Progress, _table

ROWS = [
    ("SEVERITY", "PARTITION", "FILE", "FINDING", "NEXT START"),
    (
        "ERROR",
        "t-0",
        "00000000000000000015.log",
        "bad-crc: " + "word " * 30,
        "truncates it at byte 650, losing 887 bytes",
    ),
    ("INFO", "-", ".kafka_cleanshutdown", "short", "recovers"),
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [100, 140, 300])
def test_a_table_keeps_to_the_width_of_the_terminal_and_loses_no_word(width: int) -> None:
    lines = list(_table(ROWS, width))
    assert max(map(len, lines)) <= width
    assert " ".join(lines).split().count("word") == 30
    assert all(line.startswith(("SEVERITY", "ERROR", "INFO", "  ")) for line in lines)


def test_without_a_terminal_each_finding_is_one_line_with_aligned_columns() -> None:
    lines = list(_table(ROWS, None))
    assert len(lines) == len(ROWS)
    assert len({line.index(row[2]) for line, row in zip(lines, ROWS, strict=True)}) == 1
    assert len({line.rindex(row[4]) for line, row in zip(lines, ROWS, strict=True)}) == 1


def test_progress_overwrites_its_own_line_and_is_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "PROGRESS_INTERVAL_S", 0.0)
    terminal = Terminal()
    progress = Progress(terminal)
    progress.show(500_000_000, 2_000_000_000)
    assert terminal.getvalue().startswith(output.CLEAR_LINE + " 25 %  500 of 2,000 MB, ")
    progress.end()
    assert terminal.getvalue().endswith(output.CLEAR_LINE)


def test_progress_is_not_shown_where_nobody_looks() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    progress.show(1, 2)
    progress.end()
    assert stream.getvalue() == ""
