"""The pages that say which tests hold what are true: every test that they name exists."""

from __future__ import annotations

import re

import pytest

from tests.support.named_tests import TESTS, named_tests, not_there

PAGES = ("rules.md", "security-tests.md", "transaction-tests.md")
RULES_OF_TRANSACTIONS = range(65, 75)
SHIPPED_FAULTS = 8
_ROW = re.compile(r"^\| (.+) \| (.+) \|$", re.M)


def text_of(page: str) -> str:
    return (TESTS.parent / "docs" / page).read_text()


def rows_of(section: str) -> list[tuple[str, str]]:
    """What each row of a section of the page on transactions is about, and what holds it."""
    _, _, rest = text_of("transaction-tests.md").partition(f"\n## {section}\n")
    return [row for row in _ROW.findall(rest.partition("\n## ")[0]) if not row[1].startswith("held by")]


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_is_named_exists(page: str) -> None:
    named = named_tests(text_of(page))
    assert len(named) > 50
    assert not_there(named) == []


def test_every_rule_of_transactions_has_its_tests() -> None:
    rows = rows_of("Rules")
    assert [int(about.partition(" | ")[0]) for about, _ in rows] == list(RULES_OF_TRANSACTIONS)
    assert [about for about, held_by in rows if not named_tests(held_by)] == []


def test_every_fault_that_others_shipped_and_whatever_else_must_hold_has_its_tests() -> None:
    assert len(rows_of("Faults that others shipped")) == SHIPPED_FAULTS
    rows = [*rows_of("Faults that others shipped"), *rows_of("What else must hold")]
    assert [about for about, held_by in rows if not named_tests(held_by)] == []


def test_the_rules_of_transactions_are_held_by_the_same_tests_on_both_pages() -> None:
    """The page on transactions has all that the page of all rules names for them."""
    rows = re.findall(r"^\| (\d+) \| .+ \| (.+) \|$", text_of("rules.md"), re.M)
    named = {int(number): set(named_tests(held_by)) for number, held_by in rows}
    here = {int(about.partition(" | ")[0]): set(named_tests(held_by)) for about, held_by in rows_of("Rules")}
    assert {number: named[number] - here[number] for number in here if not named[number] <= here[number]} == {}
