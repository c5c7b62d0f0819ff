"""Names of files as java.io.File treats them, and what Java throws when a file cannot be opened.

Role        Pure but for the working folder.
Source      java.io.File, String.substring, Long.parseLong, sun.nio.fs.UnixException.
"""

from __future__ import annotations

import os
import re

from kafka_zk.log.files import names
from kafka_zk.tools.common.java_output import JavaError

KAFKA_EXCEPTION = "org.apache.kafka.common.KafkaException"
ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
_INT64 = range(-(2**63), 2**63)


class Damaged(JavaError):
    """A Java exception caused by the bytes of a file."""


class JavaFile:
    """A path as given; `str` is how Java shows it."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        squeezed = re.sub("/+", "/", path)
        self.path = squeezed.rstrip("/") or squeezed

    def __str__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def absolute(self) -> str:
        return self.path if self.path.startswith("/") else f"{os.getcwd()}/{self.path}"

    @property
    def suffix(self) -> str:
        """The name from its last dot. Raises JavaError if there is none."""
        at = self.name.rfind(".")
        if at < 0:
            size = len(self.name)
            raise JavaError(f"begin -1, end {size}, length {size}", "java.lang.StringIndexOutOfBoundsException")
        return self.name[at:]

    @property
    def stem(self) -> str:
        """The name up to its first dot."""
        return self.name.partition(".")[0]

    def base_offset(self) -> int:
        """The offset that the name begins with. Raises JavaError."""
        digits = self.stem[1:] if self.stem[:1] in ("+", "-") else self.stem
        if digits.isascii() and digits.isdigit() and int(self.stem) in _INT64:
            return int(self.stem)
        raise JavaError(f'For input string: "{self.stem}"', "java.lang.NumberFormatException")

    def beside(self, kind: str) -> JavaFile:
        """The file of another kind of the same segment, by its absolute path."""
        return JavaFile(f"{self.absolute.rpartition('/')[0]}/{self.stem}{kind}")

    def log(self) -> JavaFile:
        return self.beside(names.LOG)


def java_error(error: OSError, file: JavaFile) -> JavaError:
    """What java.nio throws for `error`."""
    if isinstance(error, FileNotFoundError):
        return JavaError(str(file), "java.nio.file.NoSuchFileException")
    if isinstance(error, PermissionError):
        return JavaError(str(file), "java.nio.file.AccessDeniedException")
    return JavaError(error.strerror or str(error), "java.io.IOException")
