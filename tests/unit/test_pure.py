"""What decides touches no sockets, disks, clocks or chance: a module that calls itself pure, and whole packages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kafka_zk

ROOT = Path(kafka_zk.__file__).parent
EFFECTS = {"gevent", "kazoo", "socket", "os", "time", "random"}
PACKAGES = (
    "protocol",
    "record",
    "java_hash",
    "config",
    "zk/znodes",
    "client/consumer/assignors",
    "controller/decisions",
    "coordinator/group/decisions",
)
"""All of it is pure, whatever its modules call themselves."""

CALLS_ITSELF_PURE = re.compile(r"^Role\s+Pure[.;:]", re.M)
"""`Pure but for ...` in the header says what it touches all the same."""


def is_pure(path: Path, tree: ast.Module) -> bool:
    name = path.relative_to(ROOT).with_suffix("").as_posix()
    in_a_package = any(name == package or name.startswith(f"{package}/") for package in PACKAGES)
    return in_a_package or bool(CALLS_ITSELF_PURE.search(ast.get_docstring(tree, clean=False) or ""))


def imported(tree: ast.Module) -> Iterator[str]:
    """The packages that a module imports itself, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_what_calls_itself_pure_imports_no_effects() -> None:
    pure = 0
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text())
        if is_pure(path, tree):
            pure += 1
            assert not EFFECTS & set(imported(tree)), path
    assert pure > 300, "the headers are not read"


@pytest.mark.parametrize("package", PACKAGES)
def test_the_packages_are_there(package: str) -> None:
    assert (ROOT / package).exists() or (ROOT / package).with_suffix(".py").exists()
