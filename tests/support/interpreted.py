"""Running the hot path from its sources, although it was compiled.

KAFKA_ZK_INTERPRETED=1 has the suites do so: where calls are counted, where faults are planted in sources, and once for
the whole unit suite, because an install without a compiler runs like that.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from kafka_zk.compiled import hot_path_modules, source_file, stale_modules

INTERPRETED = os.environ.get("KAFKA_ZK_INTERPRETED") == "1"


class _SourcesFirst(importlib.abc.MetaPathFinder):
    def __init__(self, modules: Sequence[str]) -> None:
        self._modules = frozenset(modules)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._modules:
            return None
        return importlib.util.spec_from_file_location(fullname, source_file(fullname))


def choose() -> str | None:
    """Hide the compiled modules if asked to; else why the tests may not begin, or None."""
    if INTERPRETED:
        sys.meta_path.insert(0, _SourcesFirst(hot_path_modules()))
        return None
    stale = stale_modules()
    if stale:
        return f"older than their sources: {', '.join(stale)}. Run scripts/setup.sh, or set KAFKA_ZK_INTERPRETED=1"
    return None
