"""tests/pairs.md names for each two kinds of long-running work a test in which they meet, or why they cannot."""

from __future__ import annotations

import re
from itertools import combinations_with_replacement

from tests.support.named_tests import TESTS, not_there

PAGE = (TESTS / "pairs.md").read_text()
ENTRIES = re.findall(r"^- (\w+) × (\w+): (.+)$", PAGE, re.MULTILINE)
KINDS = re.findall(r"^## (\w+)$", PAGE, re.MULTILINE)


def test_every_pair_has_one_entry() -> None:
    assert [(one, other) for one, other, _ in ENTRIES] == list(combinations_with_replacement(KINDS, 2))


def test_every_test_that_is_named_exists() -> None:
    named = [(module, f"test_{name}") for module, name in re.findall(r"`([\w/]+)\.py::(\w+)`", PAGE)]
    assert len(named) > len(KINDS)
    assert not_there(named) == []


def test_what_says_nothing_of_a_test_says_why_in_a_sentence() -> None:
    assert not [entry for entry in ENTRIES if "::" not in entry[2] and entry[2] != "**open**" and len(entry[2]) < 30]
