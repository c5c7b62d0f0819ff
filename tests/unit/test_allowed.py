"""Exceptions of comparisons, and the rows of docs/compat.md that allow them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.allowed import COMPAT, Allowed, allowed, rows

TESTS = Path(__file__).resolve().parents[1]
_NAMED = re.compile(r'\ballowed\("([a-z0-9-]+)"')


def test_a_row_has_a_name_of_its_own() -> None:
    assert len(rows()) == len(set(rows())) > 0
    assert COMPAT.read_text().count("| left out of comparisons") == len(rows()), "the last cell of a row says so"


def test_an_exception_names_a_row_that_is_there() -> None:
    assert allowed(rows()[0], by_chance=True) == Allowed(rows()[0], by_chance=True)
    with pytest.raises(LookupError, match="no row called nowhere"):
        allowed("nowhere")


def test_each_row_that_is_left_out_allows_something() -> None:
    named = {row for path in TESTS.rglob("*.py") for row in _NAMED.findall(path.read_text())}
    assert set(rows()) - named == set(), "no comparison leaves this out any more: do not say so in the row"
