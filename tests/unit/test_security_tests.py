"""docs/security-tests.md is whole: each of the forty tests has its row, and is where it says that it is."""

from __future__ import annotations

import re

from tests.support.named_tests import TESTS, marked_tests, named_tests

PAGE = (TESTS.parent / "docs/security-tests.md").read_text()
COUNT = 40
_ROW = re.compile(r"^\| (\d+) \| .+ \| (.+) \|$", re.M)


def test_each_of_the_forty_has_a_row_with_a_test() -> None:
    rows = _ROW.findall(PAGE)
    assert [int(number) for number, _ in rows] == list(range(1, COUNT + 1))
    assert [number for number, held_by in rows if not named_tests(held_by)] == []


def test_every_test_that_says_which_of_the_forty_it_is_has_its_place_there() -> None:
    rows = {int(number): named_tests(held_by) for number, held_by in _ROW.findall(PAGE)}
    marked = marked_tests()
    assert len(marked) > 50
    assert [
        f"{number}: {module}::{test}" for module, test, number in marked if (module, test) not in rows[number]
    ] == []
