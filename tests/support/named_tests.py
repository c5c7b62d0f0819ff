"""Tests that pages name: `path below tests::test`, without `.py`, in backticks."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
_NAMED = re.compile(r"`([\w/]+)::(test_\w+)`")


def named_tests(text: str) -> list[tuple[str, str]]:
    """Each test that `text` names: its module below tests/, without `.py`, and its function."""
    return _NAMED.findall(text)


def not_there(named: list[tuple[str, str]]) -> list[str]:
    """Those of `named` that do not exist."""
    return [f"{module}::{test}" for module, test in named if test not in _functions_in(module)]


@cache
def _functions_in(module: str) -> frozenset[str]:
    path = TESTS / f"{module}.py"
    if not path.exists():
        return frozenset()
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.parse(path.read_text()).body if isinstance(node, functions))
