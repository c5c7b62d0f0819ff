"""docs/rules.md is true: every rule has its row, and every test it names exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
RULE_COUNT = 85
_ROW = re.compile(r"^\| ?(\d+)(?:-(\d+))? \| .+ \| (.+) \|$", re.M)
_TEST = re.compile(r"`([\w/]+)::(test_\w+)`")


def test_every_rule_has_one_row_in_order() -> None:
    rows = _ROW.findall((ROOT / "docs/rules.md").read_text())
    numbers = [number for first, last, _ in rows for number in range(int(first), int(last or first) + 1)]
    assert numbers == list(range(1, RULE_COUNT + 1))


def test_every_rule_names_a_test_or_says_not_yet() -> None:
    rows = _ROW.findall((ROOT / "docs/rules.md").read_text())
    assert [first for first, _, carried in rows if not (_TEST.search(carried) or carried.startswith("not yet ("))] == []


def test_every_test_that_is_named_exists() -> None:
    named = _TEST.findall((ROOT / "docs/rules.md").read_text())
    missing = [
        f"{module}::{test}"
        for module, test in named
        if not (path := ROOT / "tests" / f"{module}.py").exists()
        or not re.search(rf"^(?:async )?def {test}\b", path.read_text(), re.M)
    ]
    assert named
    assert missing == []
