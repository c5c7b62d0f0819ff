"""Files that an option names, with Java's words for those that cannot be read.

Source      org.apache.kafka.common.utils.Utils.readFileAsString, java.nio.file.Files.
"""

from __future__ import annotations

from pathlib import Path

from kafka_zk.tools.common.java_output import JavaError

_CLASSES = {
    FileNotFoundError: "java.nio.file.NoSuchFileException",
    PermissionError: "java.nio.file.AccessDeniedException",
}


def read_file(path: str) -> str:
    """The file's text, its line ends as they are. Raises JavaError, an IOException with its reason as the cause."""
    try:
        return read_all_bytes(path).decode("utf-8", "replace")
    except JavaError as reason:
        raise JavaError(f"Unable to read file {path}", "java.io.IOException") from reason


def read_all_bytes(path: str) -> bytes:
    """Files.readAllBytes. Raises JavaError."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        name = _CLASSES.get(type(error))
        raise JavaError(error.strerror, "java.io.IOException") if name is None else JavaError(path, name) from error
