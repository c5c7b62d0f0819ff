"""What Apache's kafka-dump-log printed, and the directories it printed it for."""

from __future__ import annotations

import re
import shlex
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

GOLDEN = Path(__file__).resolve().parents[3] / "golden"
_ARCHIVES = (
    ("12-compacted", "12-compacted/log-dirs.tar.gz"),
    ("12-compacted", "12-compacted/texts.tar.xz"),
    ("", "21-dump-log-options/cases.tar.xz"),
)
_CASES_OF_OPTIONS = ("11-multi-segment", "01-plain")


class Dumped(NamedTuple):
    """One run of Apache's tool. `folder` is where it ran."""

    folder: Path
    arguments: list[str]
    stdout: str
    stderr: str
    exit_code: int


def unpack_cases(into: Path) -> Path:
    for folder, archive in _ARCHIVES:
        with tarfile.open(GOLDEN / archive) as packed:
            packed.extractall(into / folder, filter="data")
    return into


def dumped(cases: Path) -> Iterator[Dumped]:
    """Every run there is."""
    for transcript in sorted(cases.glob("*/dump-log*.txt")):
        case = transcript.parent
        for block in re.split(r"^\$ ", transcript.read_bytes().decode(), flags=re.MULTILINE)[1:]:
            command, _, rest = block.partition("\n")
            arguments = shlex.split(command)[1:]
            end = re.search(r"\[exit (\d+)\]\n*\Z", rest)
            assert end is not None, block
            stdout, _, stderr = rest[: end.start()].partition("[stderr]\n")
            folder = _where(case, arguments)
            yield Dumped(folder, arguments, stdout, stderr.replace("<case>", str(folder)), int(end[1]))


def _where(case: Path, arguments: list[str]) -> Path:
    candidates = [case, *(case.parent / name for name in _CASES_OF_OPTIONS)]
    for folder in candidates:
        if any((folder / word.partition(",")[0]).is_file() for word in arguments):
            return folder
    return candidates[1]
