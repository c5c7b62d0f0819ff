"""The format of a log line: log4j's conversion patterns.

Role        Pure but for the local time zone.
Source      org.apache.log4j.PatternLayout; Kafka's pattern is `[%d] %p %m (%c)%n`.
"""

from __future__ import annotations

import functools
import logging
import re
import time
from collections.abc import Callable

from kafka_zk.config.errors import ConfigException

KAFKA_PATTERN = "[%d] %p %m (%c)%n"

_CONVERSION = re.compile(r"%(?:(-?[0-9]*)(?:\.[0-9]+)?([dpcmnt])(?:\{[^}]*\})?|(%))")
_Part = Callable[[logging.LogRecord], str]


class PatternFormatter(logging.Formatter):
    """A formatter for %d (ISO 8601 with milliseconds), %p, %c, %m, %n, %t and %%, with minimum widths.

    The traceback of an error follows on separate lines.
    """

    def __init__(self, pattern: str = KAFKA_PATTERN) -> None:
        """Raises ConfigException for a conversion that is not listed."""
        super().__init__()
        self._parts = _parse(pattern)
        self._noted_as = f"line of {pattern}"

    def format(self, record: logging.LogRecord) -> str:
        """Made once a pattern: console and file usually have the same."""
        noted = record.__dict__
        line: str | None = noted.get(self._noted_as)
        if line is None:
            line = "".join([part if isinstance(part, str) else part(record) for part in self._parts])
            if record.exc_info:
                line += self.formatException(record.exc_info) + "\n"
            noted[self._noted_as] = line
        return line


def _parse(pattern: str) -> list[str | _Part]:
    parts: list[str | _Part] = []
    position = 0
    for match in _CONVERSION.finditer(pattern):
        parts.append(_literal(pattern, position, match.start()))
        parts.append("%" if match[3] else _padded(_CONVERSIONS[match[2]], match[1]))
        position = match.end()
    parts.append(_literal(pattern, position, len(pattern)))
    return [part for part in parts if part != ""]


def _literal(pattern: str, start: int, end: int) -> str:
    text = pattern[start:end]
    if "%" in text:
        raise ConfigException(f"The layout {pattern} has an unknown conversion character at {text[text.index('%') :]}")
    return text


def _padded(part: _Part, width: str) -> _Part:
    if width in ("", "-"):
        return part
    size = int(width)
    return (lambda record: part(record).ljust(-size)) if size < 0 else (lambda record: part(record).rjust(size))


def _date(record: logging.LogRecord) -> str:
    return f"{_clock(int(record.created))},{int(record.msecs):03d}"


@functools.lru_cache(maxsize=4)
def _clock(second: int) -> str:
    """A start writes thousands of lines a second; the time zone's offset does not change within one."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(second))


def _level(record: logging.LogRecord) -> str:
    return KAFKA_LEVELS.get(record.levelno, record.levelname)


# Python's names of the levels that log4j calls otherwise.
KAFKA_LEVELS = {5: "TRACE", logging.WARNING: "WARN", logging.CRITICAL: "FATAL"}
_CONVERSIONS: dict[str, _Part] = {
    "d": _date,
    "p": _level,
    "c": lambda record: record.name,
    "m": logging.LogRecord.getMessage,
    "n": lambda record: "\n",
    "t": lambda record: record.threadName or "",
}
