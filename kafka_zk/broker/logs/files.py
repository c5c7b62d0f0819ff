"""Rolling log files: by date (log4j's DailyRollingFileAppender) or by size (RollingFileAppender).

Role        Acts, on the drain thread only.
Invariants  A line is never divided between two files. A file that cannot be rolled keeps growing.
Source      org.apache.log4j.DailyRollingFileAppender, RollingFileAppender.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import time
from pathlib import Path
from typing import BinaryIO, Protocol

from kafka_zk.config.errors import ConfigException

_DATE_FIELDS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
_DATE_TOKEN = re.compile(r"'([^']*)'|([a-zA-Z])\2*|[^a-zA-Z']+")
_SIZE = re.compile(r"\s*([0-9]+)\s*(KB|MB|GB)?\s*", re.IGNORECASE)
_UNITS = {"": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


class Rolling(Protocol):
    """When a file rolls, and the name of the old one."""

    def is_due(self, size_bytes: int, coming_bytes: int, now_s: float) -> bool: ...

    def roll(self, path: Path) -> None: ...

    def opened(self, now_s: float) -> None: ...


class NeverRolling:
    """A file that never rolls."""

    def is_due(self, size_bytes: int, coming_bytes: int, now_s: float) -> bool:
        return False

    def roll(self, path: Path) -> None:
        """Nothing to do."""

    def opened(self, now_s: float) -> None:
        """Nothing to remember."""


class RollingByDate:
    """A new file for each period of the pattern; `'.'yyyy-MM-dd-HH` names the old one server.log.2026-11-21-06."""

    def __init__(self, date_pattern: str) -> None:
        self._format = strftime_format(date_pattern)
        self._suffix = ""

    def is_due(self, size_bytes: int, coming_bytes: int, now_s: float) -> bool:
        return self._suffix_at(now_s) != self._suffix

    def roll(self, path: Path) -> None:
        os.replace(path, f"{path}{self._suffix}")

    def opened(self, now_s: float) -> None:
        self._suffix = self._suffix_at(now_s)

    def _suffix_at(self, now_s: float) -> str:
        return _shown(self._format, int(now_s))


class RollingBySize:
    """A new file once `max_bytes` would be passed; the old ones are server.log.1 (the newest) to .N."""

    def __init__(self, max_bytes: int, backup_count: int) -> None:
        self._max_bytes = max_bytes
        self._backup_count = backup_count

    def is_due(self, size_bytes: int, coming_bytes: int, now_s: float) -> bool:
        return size_bytes > 0 and size_bytes + coming_bytes > self._max_bytes

    def roll(self, path: Path) -> None:
        if self._backup_count == 0:
            path.unlink()
            return
        for number in range(self._backup_count - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{path}.{number}", f"{path}.{number + 1}")
        os.replace(path, f"{path}.1")

    def opened(self, now_s: float) -> None:
        """Nothing to remember."""


class LogFile:
    """An append-only file, created with its directory at the first line."""

    def __init__(self, path: Path, rolling: Rolling) -> None:
        self._path = path
        self._rolling = rolling
        self._file: BinaryIO | None = None
        self._size_bytes = 0

    def write(self, line: bytes, now_s: float) -> None:
        """Blocks. Raises OSError when the line could not be written."""
        file = self._file or self._open(now_s)
        if self._rolling.is_due(self._size_bytes, len(line), now_s):
            # Whatever becomes of what is buffered: a full disk fails the close, and the file is closed all the same.
            self._file = None
            file.close()
            # Rolling fails for a missing or busy file: do not lose the line, write it to the old one.
            with contextlib.suppress(OSError):
                self._rolling.roll(self._path)
            file = self._open(now_s)
        file.write(line)
        self._size_bytes += len(line)

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Raises OSError when the last lines could not be written."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _open(self, now_s: float) -> BinaryIO:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._file = self._path.open("ab")
        self._size_bytes = file.tell()
        # A file left by an earlier run belongs to the period it was last written in.
        self._rolling.opened(self._path.stat().st_mtime if self._size_bytes else now_s)
        return file


@functools.lru_cache(maxsize=8)
def _shown(date_format: str, second: int) -> str:
    """Asked for each line, and thousands may be written in one second."""
    return time.strftime(date_format, time.localtime(second))


def strftime_format(date_pattern: str) -> str:
    """Java's date pattern as strftime's. Raises ConfigException for fields that are not supported."""
    parts = []
    for match in _DATE_TOKEN.finditer(date_pattern):
        token = match[0]
        if token.startswith("'"):
            parts.append(match[1].replace("%", "%%"))
        elif token[0].isalpha():
            if token not in _DATE_FIELDS:
                raise ConfigException(f"The date pattern {date_pattern} has the unknown field {token}")
            parts.append(_DATE_FIELDS[token])
        else:
            parts.append(token.replace("%", "%%"))
    return "".join(parts)


def size_in_bytes(text: str) -> int:
    """`100MB` in bytes. Raises ConfigException."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ConfigException(f"{text} is not a file size")
    return int(match[1]) * _UNITS[(match[2] or "").upper()]
