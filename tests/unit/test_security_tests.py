"""docs/security-tests.md is true: each of the forty tests has its row, and every test it names exists."""

from __future__ import annotations

import re

from tests.support.named_tests import TESTS, named_tests, not_there

PAGE = (TESTS.parent / "docs/security-tests.md").read_text()
COUNT = 40
_ROW = re.compile(r"^\| (\d+) \| .+ \| (.+) \|$", re.M)


def test_each_of_the_forty_has_a_row_with_a_test() -> None:
    rows = _ROW.findall(PAGE)
    assert [int(number) for number, _ in rows] == list(range(1, COUNT + 1))
    assert [number for number, held_by in rows if not named_tests(held_by)] == []


def test_every_test_that_is_named_exists() -> None:
    assert named_tests(PAGE)
    assert not_there(named_tests(PAGE)) == []
