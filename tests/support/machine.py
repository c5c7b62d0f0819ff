"""Which tests share the machine with whatever else runs: its clock, its processes and threads, its sockets, its memory.

Such a test may fail for a reason that is not in the code, so `--reruns` gives it a second try, with the same seed. What
shares nothing is a function of the seed, fails twice if it fails at all, and gets none.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
WITHOUT_IT = ("tests/simulation/", "tests/crash/")
"""They simulate the machine."""
WITH_IT = ("tests/integration/", "tests/interop/", "tests/mutants/")

_MODULES = "asyncio ctypes gc gevent mmap multiprocessing select signal socket subprocess threading time"
_SHARED = re.compile(rf"^\s*(?:import|from) (?:{_MODULES.replace(' ', '|')})\b", re.MULTILINE)
_OF_OURS = re.compile(r"^from (tests(?:\.\w+)+) import", re.MULTILINE)


def is_shared_by(nodeid: str) -> bool:
    """Whether this test takes part in what else the machine does."""
    file = nodeid.partition("::")[0]
    if file.startswith(WITHOUT_IT):
        return False
    return file.startswith(WITH_IT) or _imports_it(PROJECT / file)


@functools.cache
def _imports_it(file: Path) -> bool:
    """Whether a file of the tests, or one of the tests' own that it imports, names a module of the machine."""
    text = file.read_text()
    others = (PROJECT.joinpath(*name.split(".")).with_suffix(".py") for name in _OF_OURS.findall(text))
    return bool(_SHARED.search(text)) or any(_imports_it(other) for other in others if other.is_file())
