"""--command-config FILE: a client's properties, with Java's words when the file cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from kafka_zk.config.properties import read_file
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.common.options import Options


def client_properties(options: Options) -> dict[str, str]:
    """The properties for an admin tool's client: --command-config, overridden by --bootstrap-server.

    Raises OptionError, JavaError.
    """
    return {
        **read_command_config(options.text("command-config")),
        "bootstrap.servers": options.text("bootstrap-server") or "",
    }


API_TIMEOUT_MS = 60_000
"""The default of default.api.timeout.ms."""


def api_timeout_ms(properties: Mapping[str, str]) -> int:
    """How long an admin client tries to reach a broker; the client itself refuses a value that is no number."""
    with suppress(KeyError, ValueError):
        return int(properties["default.api.timeout.ms"])
    return API_TIMEOUT_MS


def read_command_config(path: str | None) -> dict[str, str]:
    """The file's entries; empty if no file was named. Raises JavaError."""
    if path is None:
        return {}
    try:
        return read_file(path)
    except FileNotFoundError as error:
        raise JavaError(path, "java.nio.file.NoSuchFileException") from error
    except PermissionError as error:
        raise JavaError(path, "java.nio.file.AccessDeniedException") from error
    except OSError as error:
        raise JavaError(error.strerror, "java.io.IOException") from error
