"""Lines of a file descriptor, until its end or until `stop`.

Role        Acts: reads. `stop` may be called from any thread.
Invariants  A line ends with LF, CR or both, the last one with the input. Bytes that are no UTF-8 become U+FFFD.
            After `stop`, only input that was written before it is still read.
Source      java.io.BufferedReader.readLine over an InputStreamReader.
"""

from __future__ import annotations

import array
import fcntl
import os
import select
import stat
import sys
import termios
from collections.abc import Callable, Iterator

from kafka_zk.tools.common.java_text import string

CHUNK_BYTES = 64 * 1024


class Lines:
    """The lines of one descriptor."""

    def __init__(self, descriptor: int, prompt: Callable[[], None] | None = None) -> None:
        """`prompt` is called before each wait for a line of a terminal."""
        self._descriptor = descriptor
        self._prompt = prompt
        self._stopped, self._stop = os.pipe()
        self._ready = select.poll()
        for end in (descriptor, self._stopped):
            self._ready.register(end, select.POLLIN)
        self._is_stopping = False
        self._left = 0

    def stop(self) -> None:
        """End after the lines already typed."""
        os.write(self._stop, b".")

    def __iter__(self) -> Iterator[bytes]:
        """Blocks between lines."""
        rest = b""
        was_cr = False
        self._ask()
        while chunk := self._read():
            if was_cr and chunk.startswith(b"\n"):
                chunk = chunk[1:]
            was_cr = chunk.endswith(b"\r") if chunk else False
            lines = (rest + chunk).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
            rest = lines.pop()
            for line in lines:
                yield _valid(line)
                self._ask()
        if rest and not self._is_stopping:
            yield _valid(rest)

    def _ask(self) -> None:
        if self._prompt is not None:
            self._prompt()

    def _read(self) -> bytes:
        """The next bytes; empty at the end."""
        if not self._is_stopping:
            if self._stopped not in {end for end, _ in self._ready.poll()}:
                return os.read(self._descriptor, CHUNK_BYTES)
            self._is_stopping = True
            self._left = _waiting_bytes(self._descriptor)
        chunk = os.read(self._descriptor, min(self._left, CHUNK_BYTES)) if self._left else b""
        self._left -= len(chunk)
        return chunk


def _valid(line: bytes) -> bytes:
    if line.isascii():
        return line
    try:
        line.decode()
    except UnicodeDecodeError:
        text: str = string(line)
        return text.encode()
    return line


def _waiting_bytes(descriptor: int) -> int:
    """What can be read without waiting: of a pipe or a terminal what is in it. Of a file nothing must be read."""
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return 0
    count = array.array("i", [0])
    try:
        fcntl.ioctl(descriptor, termios.FIONREAD, count)
    except OSError:
        return 0
    return count[0]


def standard_input() -> Lines:
    """Lines of stdin; on a terminal with a prompt for each, as Apache's tool does where both ends are one."""

    def prompt() -> None:
        sys.stdout.write(">")
        sys.stdout.flush()

    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return Lines(sys.stdin.fileno(), prompt if at_terminal else None)
