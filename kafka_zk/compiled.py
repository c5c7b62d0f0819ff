"""Whether the hot-path modules run compiled, and whether they are older than their sources.

Role        Reads file names and times, and the mark below the docstring of what is to be compiled. In an installed
            package nothing can be stale.
"""

from __future__ import annotations

import importlib.machinery
from pathlib import Path

MARK = "\n# Compiled by mypyc: "
PROJECT = Path(__file__).resolve().parent.parent


def hot_path_modules() -> list[str]:
    """The modules that setup.py compiles as they are; none outside a checkout. Reads every source."""
    return [name for path in _sources("*.py") if MARK in path.read_text() and (name := _module(path))]


def stale_modules() -> list[str]:
    """Modules whose source changed after they were compiled: the old code would run."""
    binaries = ((path, path.with_name(f"{path.name.partition('.')[0]}.py")) for path in _sources("*.so"))
    # The twins of Cython's, and what mypyc's modules share, have no source of their own name.
    stale = (source for binary, source in binaries if source.exists() and _is_newer(source, binary))
    return [_module(source) for source in stale]


def _sources(pattern: str) -> list[Path]:
    is_checkout = (PROJECT / "pyproject.toml").exists()
    return sorted((PROJECT / "kafka_zk").rglob(pattern)) if is_checkout else []


def _module(path: Path) -> str:
    return ".".join(path.relative_to(PROJECT).with_suffix("").parts)


def _is_newer(source: Path, binary: Path) -> bool:
    return source.stat().st_mtime > binary.stat().st_mtime


def source_file(module: str) -> Path:
    return PROJECT / (module.replace(".", "/") + ".py")


def compiled_file(module: str) -> Path | None:
    """What is imported in the place of the source, if it was built."""
    stem = source_file(module).with_suffix("")
    found = (Path(f"{stem}{suffix}") for suffix in importlib.machinery.EXTENSION_SUFFIXES)
    return next((path for path in found if path.exists()), None)
