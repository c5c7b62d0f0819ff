"""Command lines and files that kafka-reassign-partitions.sh refuses by itself, in the words that Apache's printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_zk.tools.reassign_partitions.__main__ import main
from tests.interop.tools.reassign_lines import Line, lines, of_ours, written_down

RECORDED = written_down()


def test_every_line_was_asked() -> None:
    assert list(RECORDED) == lines(), "the lines have changed: write the golden file anew"


@pytest.mark.parametrize("line", lines(), ids=lambda line: f"{' '.join(line.arguments)} {line.text}"[:80])
def test_what_is_wrong_by_itself_is_refused_as_apaches_tool_refused_it(line: Line, tmp_path: Path) -> None:
    assert of_ours(main, line, tmp_path) == RECORDED[line]
