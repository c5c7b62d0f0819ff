"""Standard output in large pieces.

Role        A dump is millions of short lines; writing each on its own would cost more than formatting it.
Invariants  `write` and `flush` keep the order. Text that Java's decoders made is always UTF-8, whatever the locale.
"""

from __future__ import annotations

import sys

from kafka_zk.standard_streams import nobody_reads

_CHARACTERS_AT_ONCE = 256 * 1024
_TERMINAL_CHARACTERS = 4 * 1024


class Output:
    """Gathers texts; on a terminal they appear sooner."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._room = self._limit = _TERMINAL_CHARACTERS if sys.stdout.isatty() else _CHARACTERS_AT_ONCE

    def write(self, text: str) -> None:
        self._texts.append(text)
        self._room -= len(text)
        if self._room < 0:
            self.flush()

    def flush(self) -> None:
        """Raises BrokenPipeError if the reader closed the pipe."""
        text = "".join(self._texts)
        self._texts.clear()
        self._room = self._limit
        binary = getattr(sys.stdout, "buffer", None)
        if binary is None:
            sys.stdout.write(text)
            return
        # File names may hold bytes that are no text.
        binary.write(text.encode("utf-8", "surrogateescape"))
        binary.flush()
        if nobody_reads():
            raise BrokenPipeError
