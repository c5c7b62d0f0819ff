"""Whether the modules of the hot path run compiled, and whether what was compiled is what stands in the sources.

Role        Reads file names and times only. The list of modules is in pyproject.toml, which an installed package lacks:
            there nothing can be stale.
"""

from __future__ import annotations

import importlib.machinery
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent


def hot_path_modules() -> list[str]:
    """The modules that setup.py compiles as they are; none outside a checkout."""
    settings = PROJECT / "pyproject.toml"
    if not settings.exists():
        return []
    names: list[str] = tomllib.loads(settings.read_text()).get("tool", {}).get("kafka_zk", {}).get("compiled", [])
    return names


def stale_modules() -> list[str]:
    """Modules whose source changed after they were compiled: the old code would run."""
    return [
        name
        for name in hot_path_modules()
        if (binary := compiled_file(name)) is not None and source_file(name).stat().st_mtime > binary.stat().st_mtime
    ]


def source_file(module: str) -> Path:
    return PROJECT / (module.replace(".", "/") + ".py")


def compiled_file(module: str) -> Path | None:
    """What is imported in the place of the source, if it was built."""
    stem = source_file(module).with_suffix("")
    found = (Path(f"{stem}{suffix}") for suffix in importlib.machinery.EXTENSION_SUFFIXES)
    return next((path for path in found if path.exists()), None)
