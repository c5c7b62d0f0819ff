"""The levels of log4j, and those of the broker's loggers while it runs.

Role        Acts on the standard library's loggers.
Source      kafka.utils.LoggingController; log4j's Level.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafka_zk.config.errors import ConfigException

ROOT = "root"
TRACE = 5
_OFF = logging.CRITICAL + 10
_LEVELS = {
    "ALL": 1,
    "TRACE": TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "OFF": _OFF,
}
_LEVEL_NAMES = {number: name for name, number in _LEVELS.items()}


def level_number(name: str) -> int:
    """Python's number of a log4j level. Raises ConfigException."""
    number = _LEVELS.get(name.strip().upper())
    if number is None:
        raise ConfigException(f"{name} is not a log level, expected one of: {', '.join(_LEVELS)}")
    return number


class LogLevels:
    """The loggers of this process; the root logger is called "root". `on_change` is called after each change."""

    def __init__(self, on_change: Callable[[], object] = lambda: None) -> None:
        self._on_change = on_change

    def all(self) -> dict[str, str]:
        """The effective level of the root logger and of every known logger."""
        names = sorted(
            name for name, logger in logging.root.manager.loggerDict.items() if isinstance(logger, logging.Logger)
        )
        numbers = {ROOT: logging.root.getEffectiveLevel()}
        numbers |= {name: logging.getLogger(name).getEffectiveLevel() for name in names}
        return {name: _LEVEL_NAMES.get(number, logging.getLevelName(number)) for name, number in numbers.items()}

    def set(self, logger_name: str, level: str) -> None:
        """Change a level at run time. Raises ConfigException for an unknown level."""
        logging.getLogger(None if logger_name == ROOT else logger_name).setLevel(level_number(level))
        self._on_change()

    def unset(self, logger_name: str) -> None:
        """Let a logger follow its parent again. Raises ConfigException for the root logger, which has none."""
        if logger_name == ROOT:
            raise ConfigException("The level of the root logger cannot be unset")
        logging.getLogger(logger_name).setLevel(logging.NOTSET)
        self._on_change()
