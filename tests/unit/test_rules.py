"""docs/rules.md is whole: every rule has its row, which names a test."""

from __future__ import annotations

import re

from tests.support.named_tests import TESTS, named_tests

PAGE = (TESTS.parent / "docs/rules.md").read_text()
RULE_COUNT = 85
_ROW = re.compile(r"^\| (\d+) \| .+ \| (.+) \|$", re.M)


def test_every_rule_has_one_row_in_order() -> None:
    assert [int(number) for number, _ in _ROW.findall(PAGE)] == list(range(1, RULE_COUNT + 1))


def test_every_rule_names_a_test() -> None:
    assert [number for number, held_by in _ROW.findall(PAGE) if not named_tests(held_by)] == []
