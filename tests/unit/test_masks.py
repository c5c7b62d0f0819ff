"""What a comparison leaves out must have been there to be left out."""

from __future__ import annotations

import re

from tests.interop.replay.scenario import needed
from tests.support.allowed import allowed, rows
from tests.support.masks import Excuse, Mask, excused, masked, needless

ROW = rows()[0]


def test_a_mask_that_never_occurred_is_named() -> None:
    masks = (Mask(re.compile(r"\d+"), "#", allowed(ROW)), Mask(re.compile("x"), "y", allowed(ROW)))
    assert masked("7 of 9", masks) == "# of #"
    assert needless(masks) == [f"x ({ROW})"]


def test_one_that_occurs_by_chance_may_be_missing() -> None:
    assert needless([Mask(re.compile("x"), "y", allowed(ROW, by_chance=True))]) == []


def test_an_excuse_is_used_where_it_holds_and_the_first_one_only() -> None:
    larger, other = (
        Excuse(name, allowed(ROW), lambda theirs, ours: bool(theirs < ours)) for name in ("larger", "other")
    )
    assert not excused((larger, other), 2, 1)
    assert excused((larger, other), 1, 2)
    assert needless((larger, other)) == [f"other ({ROW})"]


def test_what_is_left_out_of_answers_is_needed_where_they_differ() -> None:
    apache = {("a", 0): {"topics": ["t", "u"], "port": 1}, ("b", 0): {"leader": "m", "results": [1, 2]}}
    ours = {("a", 0): {"topics": ["u", "t"], "port": 1}, ("b", 0): {"leader": "n", "results": [1, 2]}}
    assert needed(apache, ours) == {"topics", "leader"}
