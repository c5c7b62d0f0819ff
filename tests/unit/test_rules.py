"""docs/rules.md is true: every rule has its row, and every test it names exists."""

from __future__ import annotations

import re

from tests.support.named_tests import TESTS, named_tests, not_there

PAGE = (TESTS.parent / "docs/rules.md").read_text()
RULE_COUNT = 85
_ROW = re.compile(r"^\| ?(\d+)(?:-(\d+))? \| .+ \| (.+) \|$", re.M)


def test_every_rule_has_one_row_in_order() -> None:
    rows = _ROW.findall(PAGE)
    numbers = [number for first, last, _ in rows for number in range(int(first), int(last or first) + 1)]
    assert numbers == list(range(1, RULE_COUNT + 1))


def test_every_rule_names_a_test_or_says_not_yet() -> None:
    rows = _ROW.findall(PAGE)
    assert [first for first, _, carried in rows if not (named_tests(carried) or carried.startswith("not yet ("))] == []


def test_every_test_that_is_named_exists() -> None:
    assert named_tests(PAGE)
    assert not_there(named_tests(PAGE)) == []
