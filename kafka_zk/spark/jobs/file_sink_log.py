"""`_spark_metadata`: which files of a directory a streaming query has committed.

Role        Pure: reads the text of its files; archive.py lists and deletes.
Layout      One file per batch, named by its number; every tenth or so is `N.compact` and holds all before it.
            First line: the version, v1. Then one JSON object a file, with "path" and "action" (add or delete).
Why         A task that is killed leaves a finished or half finished file that no batch names. Spark's own readers go by
            this log and never see it; other programs list the directory, and would read its records a second time.
Source      Spark: FileStreamSinkLog, CompactibleFileStreamLog, ManifestFileCommitProtocol.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlparse

FOLDER = "_spark_metadata"
COMPACT = ".compact"
VERSION = "v1"
PART = "part-"


class UnknownSinkLogError(Exception):
    """The log has another version than the one supported here."""


def files_to_read(names: Iterable[str]) -> list[str]:
    """The last compact file and all batches after it, in order."""
    batches = sorted(
        (int(name.removesuffix(COMPACT)), name) for name in names if name.removesuffix(COMPACT).isdecimal()
    )
    compacts = [number for number, name in batches if name.endswith(COMPACT)]
    last = compacts[-1] if compacts else -1
    return [name for number, name in batches if number > last or (number == last and name.endswith(COMPACT))]


def committed_paths(contents: Mapping[str, str]) -> set[str]:
    """Paths (without scheme and host) that the log's files, by name, say are there. Raises UnknownSinkLogError."""
    found: set[str] = set()
    for name in files_to_read(contents):
        version, *lines = contents[name].splitlines() or [""]
        if version != VERSION:
            raise UnknownSinkLogError(f"{FOLDER}/{name} has version {version!r}, but only {VERSION} is supported")
        for line in filter(None, lines):
            entry = json.loads(line)
            path = plain_path(entry["path"])
            if entry.get("action", "add") == "delete":
                found.discard(path)
            else:
                found.add(path)
    return found


def left_over(files: Iterable[str], committed: Iterable[str]) -> list[str]:
    """Which files a broken-off task wrote: named as Spark names them, and by no batch.

    By name alone, which is Spark's and unique: a directory may have been moved, and other programs' files in it stay.
    """
    known = {_name(path) for path in committed}
    return [file for file in files if is_part(file) and _name(file) not in known]


def is_part(path: str) -> bool:
    """Whether a file is named as Spark's tasks name theirs."""
    return _name(path).startswith(PART)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def plain_path(path: str) -> str:
    """Without scheme and host, and with the percent signs of a URI undone once."""
    parsed = urlparse(path)
    return unquote(parsed.path) if parsed.scheme else path
