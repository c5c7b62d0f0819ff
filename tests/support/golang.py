"""Programs in Go, built once from their folder below tests/interop or from the tests of a module, kept in `.cache`.

Run as a program, it tells by its exit code whether there is a Go that can build them.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.maven import INTEROP
from tests.support.one_at_a_time import CACHE, one_at_a_time

FRANZ_GO = INTEROP / "franz_go"


def built(source: Path) -> Path:
    """Blocks. The program of a folder; go fetches its modules and builds it the first time, and when it has changed."""
    # Without optimization, which takes a third of the time.
    return _built(source, "build", "-trimpath", ".")


def built_tests(package: str) -> Path:
    """Blocks. The tests of a package that FRANZ_GO's module requires, as their authors wrote them, as a program."""
    return _built(FRANZ_GO, "test", "-c", package)


def _built(source: Path, *command: str) -> Path:
    """What a command of go makes in the folder of a module; it ends with the package."""
    program = CACHE / source.name / Path(command[-1]).name / _digest(source)
    with one_at_a_time("go"):
        if not program.exists():
            go = _find_go()
            assert go, "the interop tests need Go (scripts/test.sh installs it) to build programs"
            shutil.rmtree(program.parent, ignore_errors=True)
            verb, *arguments = command
            whole = [go, verb, "-gcflags=all=-N -l", "-o", str(program), *arguments]
            subprocess.run(whole, cwd=source, env=_environment(), check=True)
    return program


def _find_go() -> str | None:
    """The one of the virtual environment first."""
    return shutil.which("go", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def _environment() -> dict[str, str]:
    """Nothing is fetched but what go.sum names, no other Go either."""
    return {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"}


def _digest(source: Path) -> str:
    content = hashlib.sha256()
    for file in sorted(source.iterdir()):
        content.update(file.read_bytes())
    return content.hexdigest()[:16]


def _is_here() -> bool:
    go = _find_go()
    if go is None:
        return False
    found = subprocess.run([go, "env", "GOVERSION"], env=_environment(), capture_output=True, text=True, check=True)
    needed = re.search(r"^go (.+)$", (FRANZ_GO / "go.mod").read_text(), re.M)
    assert needed
    return _numbers(found.stdout) >= _numbers(needed[1])


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


if __name__ == "__main__":
    sys.exit(not _is_here())
