"""Tests that pages name: `path below tests::test`, without `.py`, in backticks."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
_NAMED = re.compile(r"`([\w/]+)::(test_\w+)`")
_MARK = re.compile(r"\(security (12\.\d+[^)]*)\)")
_NUMBER = re.compile(r"\b12\.(\d+)")


def named_tests(text: str) -> list[tuple[str, str]]:
    """Each test that `text` names: its module below tests/, without `.py`, and its function."""
    return _NAMED.findall(text)


def not_there(named: list[tuple[str, str]]) -> list[str]:
    """Those of `named` that do not exist."""
    return [f"{module}::{test}" for module, test in named if test not in _functions_in(module)]


def marked_tests() -> list[tuple[str, str, int]]:
    """Module, function and number of each test whose docstring says `(security 12.N)`, once for each number there."""
    found = []
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text()
        if _MARK.search(text):
            module = str(path.relative_to(TESTS).with_suffix(""))
            for node in _tests_in(text):
                marks = " ".join(_MARK.findall(ast.get_docstring(node) or ""))
                found += [(module, node.name, int(number)) for number in _NUMBER.findall(marks)]
    return found


@cache
def _functions_in(module: str) -> frozenset[str]:
    path = TESTS / f"{module}.py"
    if not path.exists():
        return frozenset()
    return frozenset(node.name for node in _tests_in(path.read_text()))


def _tests_in(text: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.parse(text).body if isinstance(node, functions)]
