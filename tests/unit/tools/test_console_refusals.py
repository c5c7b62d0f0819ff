"""Command lines that are wrong by themselves: refused by our console tools in the words that Apache's printed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

import pytest

from tests.interop.tools.goldens import MAIN_CLASSES, MASKS, Refusal, package_of, refusals, shortened
from tests.interop.tools.runs import run_once
from tests.support import masks


def main_of(tool: str) -> Callable[[Sequence[str]], int]:
    main: Callable[[Sequence[str]], int] = importlib.import_module(f"kafka_zk.tools.{package_of(tool)}.__main__").main
    return main


@pytest.mark.parametrize("tool", MAIN_CLASSES)
def test_what_is_wrong_by_itself_is_refused_as_apaches_tool_refused_it(tool: str) -> None:
    given = [refusal for refusal in refusals() if refusal.tool == tool]
    assert given
    ours = [Refusal(tool, each.arguments, shortened(tool, run_once(main_of(tool), each.arguments))) for each in given]
    assert ours == given


def test_what_is_masked_occurs(pytestconfig: pytest.Config) -> None:
    masks.skip_unless_whole(pytestconfig)
    assert masks.needless(MASKS) == []
