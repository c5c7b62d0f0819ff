"""What a comparison of two programs leaves out, and whether it was there: masks of texts, excuses for outcomes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.allowed import Allowed


@dataclass
class Mask:
    """`instead` in the place of `pattern`, which `reason` allows. `was_needed` once it occurred."""

    pattern: re.Pattern[str]
    instead: str | Callable[[re.Match[str]], str]
    reason: Allowed
    was_needed: bool = False

    def __str__(self) -> str:
        return f"{self.pattern.pattern} ({self.reason.row})"


@dataclass
class Excuse:
    """Two outcomes that differ may do so where this `holds` of them. `was_needed` once it held."""

    name: str
    reason: Allowed
    holds: Callable[..., bool]
    was_needed: bool = False

    def __str__(self) -> str:
        return f"{self.name} ({self.reason.row})"


def masked(text: str, masks: Iterable[Mask]) -> str:
    for each in masks:
        text, count = each.pattern.subn(each.instead, text)
        each.was_needed = each.was_needed or count > 0
    return text


def excused(excuses: Iterable[Excuse], *outcomes: Any) -> bool:
    """Whether one of them holds; the first that does was needed."""
    for each in excuses:
        if each.holds(*outcomes):
            each.was_needed = True
            return True
    return False


def needless(exceptions: Iterable[Mask | Excuse]) -> list[str]:
    """What did not occur, of what occurs each time."""
    return [str(each) for each in exceptions if not each.was_needed and not each.reason.by_chance]


def skip_unless_whole(config: pytest.Config) -> None:
    """For a test of what all tests of its file have seen: skip it where some of them were chosen."""
    if config.option.keyword or any("::" in str(each) for each in config.args):
        pytest.skip("some tests of this file were chosen")
