"""What was compiled is what runs, and a source that changed since is noticed."""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import os
from pathlib import Path

import pytest

from kafka_zk import compiled
from tests.support.interpreted import INTERPRETED


@pytest.mark.parametrize("module", compiled.hot_path_modules())
def test_the_hot_path_runs_compiled_unless_sources_are_wanted(module: str) -> None:
    suffix = Path(str(importlib.import_module(module).__file__)).suffix
    assert suffix == (".py" if INTERPRETED else ".so")


def test_the_list_names_modules_that_exist() -> None:
    assert compiled.hot_path_modules()
    assert all(compiled.source_file(module).exists() for module in compiled.hot_path_modules())


@pytest.mark.parametrize("module", compiled.hot_path_modules())
def test_no_bound_of_a_slice_calls_anything(module: str) -> None:
    """mypyc 2.4.1 evaluates the bounds of most slices twice: `data[send(data):]` would send twice."""
    tree = ast.parse(compiled.source_file(module).read_text())
    slices = [
        node.slice for node in ast.walk(tree) if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)
    ]
    bounds = [bound for each in slices for bound in (each.lower, each.upper, each.step) if bound is not None]
    calling = [bound for bound in bounds if any(isinstance(part, ast.Call) for part in ast.walk(bound))]
    assert [f"{module}:{bound.lineno}: {ast.unparse(bound)}" for bound in calling] == []


def test_a_source_newer_than_what_was_compiled_from_it_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "PROJECT", tmp_path)
    assert compiled.stale_modules() == [], "an installed package has no sources to compare with"
    (tmp_path / "pyproject.toml").touch()
    package = tmp_path / "kafka_zk" / "package"
    package.mkdir(parents=True)
    for name in ("hot.py", "cold.py"):
        (package / name).write_text(f'"""What it does."""\n{compiled.MARK}the hot path.\n')
        os.utime(package / name, (2000, 2000))
    binary = package / f"hot{importlib.machinery.EXTENSION_SUFFIXES[0]}"
    binary.touch()
    os.utime(binary, (3000, 3000))
    assert compiled.stale_modules() == []
    os.utime(binary, (1000, 1000))
    assert compiled.stale_modules() == ["kafka_zk.package.hot"]
    assert compiled.hot_path_modules() == ["kafka_zk.package.cold", "kafka_zk.package.hot"]
