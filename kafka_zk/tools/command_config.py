"""--command-config FILE: a client's properties, with Java's words when the file cannot be read."""

from __future__ import annotations

from kafka_zk.config.properties import read_file
from kafka_zk.tools.java_output import JavaError


def read_command_config(path: str) -> dict[str, str]:
    """The file's entries. Raises JavaError."""
    try:
        return read_file(path)
    except FileNotFoundError as error:
        raise JavaError(path, "java.nio.file.NoSuchFileException") from error
    except PermissionError as error:
        raise JavaError(path, "java.nio.file.AccessDeniedException") from error
    except OSError as error:
        raise JavaError(error.strerror, "java.io.IOException") from error
