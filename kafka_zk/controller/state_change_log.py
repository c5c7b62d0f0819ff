"""Writes state-change.log, with a prefix that names the controller.

Source      StateChangeLogger.
"""

from __future__ import annotations

import logging

log = logging.getLogger("state.change.logger")


class StateChangeLog:
    """Writes to state.change.logger as `[Controller id=N epoch=M] ...`."""

    def __init__(self, broker_id: int, epoch: int) -> None:
        self._prefix = f"[Controller id={broker_id} epoch={epoch}] "

    def debug(self, message: str) -> None:
        if log.isEnabledFor(logging.DEBUG):
            log.debug("%s%s", self._prefix, message)

    def info(self, message: str) -> None:
        if log.isEnabledFor(logging.INFO):
            log.info("%s%s", self._prefix, message)

    def warning(self, message: str) -> None:
        log.warning("%s%s", self._prefix, message)

    def error(self, message: str) -> None:
        log.error("%s%s", self._prefix, message)
