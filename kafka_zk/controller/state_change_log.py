"""Writes state-change.log, with a prefix that names the controller.

Source      StateChangeLogger.
"""

from __future__ import annotations

import logging

_LOGGER = logging.getLogger("state.change.logger")


class StateChangeLog:
    """Writes to state.change.logger as `[Controller id=N epoch=M] ...`."""

    def __init__(self, broker_id: int, epoch: int) -> None:
        self._prefix = f"[Controller id={broker_id} epoch={epoch}] "

    def debug(self, message: str) -> None:
        if _LOGGER.isEnabledFor(logging.DEBUG):
            _LOGGER.debug("%s%s", self._prefix, message)

    def info(self, message: str) -> None:
        if _LOGGER.isEnabledFor(logging.INFO):
            _LOGGER.info("%s%s", self._prefix, message)

    def warning(self, message: str) -> None:
        _LOGGER.warning("%s%s", self._prefix, message)

    def error(self, message: str) -> None:
        _LOGGER.error("%s%s", self._prefix, message)
