"""Command lines that small tools for replicas refuse by themselves, in the words that Apache's printed."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.interop.tools.election_lines import TOOLS
from tests.interop.tools.reassign_lines import of_ours, written_down


@pytest.mark.parametrize("name", TOOLS)
def test_what_is_wrong_by_itself_is_refused_as_apaches_tool_refused_it(name: str, tmp_path: Path) -> None:
    recorded = written_down(TOOLS[name].golden)
    assert list(recorded) == TOOLS[name].asked, "the lines have changed: write the golden file anew"
    main = importlib.import_module(f"kafka_zk.tools.{name}.__main__").main
    assert {line: of_ours(main, line, tmp_path, name) for line in recorded} == recorded
