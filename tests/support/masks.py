"""What is masked in the texts of two programs before they are compared, and whether it was there to be masked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from tests.support.allowed import Allowed


@dataclass
class Mask:
    """`instead` in the place of `pattern`, which `reason` allows. `was_needed` once it occurred."""

    pattern: re.Pattern[str]
    instead: str
    reason: Allowed
    was_needed: bool = False


def masked(text: str, masks: Iterable[Mask]) -> str:
    for each in masks:
        text, count = each.pattern.subn(each.instead, text)
        each.was_needed = each.was_needed or count > 0
    return text


def needless(masks: Iterable[Mask]) -> list[str]:
    """Patterns that did not occur, of those that occur each time."""
    return [
        f"{each.pattern.pattern} ({each.reason.row})"
        for each in masks
        if not each.was_needed and not each.reason.by_chance
    ]


def skip_unless_whole(config: pytest.Config) -> None:
    """For a test of what all tests of its file have seen: skip it where some of them were chosen."""
    if config.option.keyword or any("::" in str(each) for each in config.args):
        pytest.skip("some tests of this file were chosen")
