"""Stdout and stderr of a program whose output may have nowhere to go: no reader, a full disk, a quota that is used
up, a closed descriptor.

Role        Acts on `sys` and on the descriptors 0 to 2.
Source      java.io.PrintStream, which passes over what cannot be written.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any

_NO_ROOM = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""No reader; no room on the disk, in a quota, below a file's largest size."""
_LOST = (*_NO_ROOM, errno.EIO)
"""Also: a disk or terminal that is gone."""


def cannot_be_printed(error: BaseException) -> bool:
    """Whether nobody reads any more, or there is no room for what is printed, whatever was done when it came.

    Not where a disk or terminal is gone: that may have been met by who reads, and much was not read then.
    """
    return isinstance(error, OSError) and error.errno in _NO_ROOM


def open_closed_streams() -> None:
    """Where a shell has closed them (`>&-`), what is printed goes nowhere, and no file or socket gets their numbers."""
    while (fileno := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fileno, True)
    os.close(fileno)
    for fileno, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            setattr(sys, name, open(fileno, mode, closefd=False))  # noqa: SIM115 (for as long as the process lives)


def forgive(*names: str) -> None:
    """From now on what cannot be printed on these of `sys` is lost, and nobody fails of it: so Java prints.

    A terminal stays as it is: it always has room, and `input` edits lines on no other stream.
    """
    for name in names:
        stream = getattr(sys, name)
        if stream.isatty():
            continue
        raw = _Forgiving(os.dup(stream.fileno()), "wb")
        forgiving = io.TextIOWrapper(
            raw if stream.write_through else io.BufferedWriter(raw),
            stream.encoding,
            stream.errors,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )
        setattr(sys, name, forgiving)


def nobody_reads() -> bool:
    """Whether something was lost of what was printed on stdout, which forgives."""
    buffer = getattr(sys.stdout, "buffer", None)
    raw = getattr(buffer, "raw", buffer)
    return isinstance(raw, _Forgiving) and raw.has_lost


class _Forgiving(io.FileIO):
    has_lost = False

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in _LOST:
                raise
            self.has_lost = True
            return len(data)
