"""Secrets of clients: kept out of what Spark plans, sends and writes down.

Role        Reads and writes files, on the driver and in workers. What a plan, a task or a log holds of a client are
            `public` properties; a client is made of `resolved` ones, where it is made.
Invariants  Public properties hold no secret, only where to find it:
            `config.file`        a properties file: a path, or a file that Spark gave to the workers (--files, addFile)
            `${env:NAME}`        in any value: an environment variable of the process that makes the client
            `config.sealed`      a file of ours for secrets that were given in options: on this machine alone, readable
                                 by its owner, in a folder that Spark deletes with the application
            A secret that cannot be found is named in an error; its value is in no message.
Source      EnvVarConfigProvider for ${env:NAME}; SslConfigs and SaslConfigs for what is a secret (type PASSWORD).
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kafka_zk.config.declaration import PASSWORD
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.properties import read_file
from kafka_zk.config.tables.client_security import SECURITY_KEYS

CONFIG_FILE: Final = "config.file"
SEALED: Final = "config.sealed"
SECRETS: Final = frozenset(key.name for key in SECURITY_KEYS if key.type is PASSWORD)
REDACTED: Final = "(?i)" + "|".join(sorted(re.escape(name).replace("\\.", "[.]") for name in SECRETS))
"""For spark.sql.redaction.options.regex: options of ours whose values plans must not show."""

_LOOKS_SECRET: Final = re.compile("password|secret", re.IGNORECASE)
_VARIABLE: Final = re.compile(r"\$\{env:([^}:]+)\}")


def is_secret(name: str) -> bool:
    """Whether the value of a client's property must not be seen."""
    return name in SECRETS or _LOOKS_SECRET.search(name) is not None


def inline_secrets(properties: Mapping[str, str]) -> dict[str, str]:
    """The secrets that are there in words: not as a reference to the environment."""
    return {name: value for name, value in properties.items() if is_secret(name) and not _VARIABLE.search(value)}


def public(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties that may be planned, sent and shown. Secrets among them move to a file on this machine.

    What is no secret in `config.file` is taken over: it may decide what is planned. Raises ConfigException.
    """
    found = dict(properties)
    if CONFIG_FILE in found:
        found = {name: value for name, value in _read(found[CONFIG_FILE]).items() if not is_secret(name)} | found
    secrets = inline_secrets(found)
    if secrets:
        found = {name: value for name, value in found.items() if name not in secrets}
        found[SEALED] = str(_seal(secrets))
    return found


def resolved(properties: Mapping[str, str]) -> dict[str, str]:
    """What a client is made of: secrets in their places. Raises ConfigException for one that is not here."""
    found = {name: value for name, value in properties.items() if name not in (CONFIG_FILE, SEALED)}
    if SEALED in properties:
        found = _opened(properties[SEALED]) | found
    if CONFIG_FILE in properties:
        found = _read(properties[CONFIG_FILE]) | found
    return {name: _VARIABLE.sub(_variable, value) for name, value in found.items()}


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """A properties file that only its owner may read."""
    lines = [f"{_escaped(name)}={_escaped(value)}\n" for name, value in properties.items()]
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="iso-8859-1") as file:
        file.writelines(lines)


def _escaped(text: str) -> str:
    return "".join(each if each.isascii() and each.isalnum() else _escape(each) for each in text)


def _escape(character: str) -> str:
    """UTF-16 units: Java's escapes have nothing else."""
    encoded = character.encode("utf-16-be", "surrogatepass")
    units = [int.from_bytes(encoded[index : index + 2], "big") for index in range(0, len(encoded), 2)]
    return "".join(f"\\u{unit:04x}" for unit in units)


def _seal(secrets: Mapping[str, str]) -> Path:
    # Spark tells its Python processes of folders that it deletes in the end.
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir()
    path = Path(tempfile.mkdtemp(prefix="kafka_zk-", dir=folder if Path(folder).is_dir() else None), "sealed")
    write_properties(path, secrets)
    return path


def _opened(path: str) -> dict[str, str]:
    try:
        return read_file(path)
    except OSError:
        raise ConfigException(
            "Secrets that are given in options stay on the machine where a query is planned, and this worker runs "
            "elsewhere. Put them into a properties file, give it to the workers (spark-submit --files, addFile) and "
            "name it in the option kafka.config.file; or write ${env:NAME} for a variable of their environment."
        ) from None


def _read(name: str) -> dict[str, str]:
    path = _found(name)
    try:
        return read_file(path)
    except OSError as error:
        raise ConfigException(f"{CONFIG_FILE}={name} cannot be read here: {error.strerror}") from None


def _found(name: str) -> Path:
    """A path as it is where it exists; else the file of that name that Spark brought here."""
    path = Path(name)
    if path.is_absolute() and path.exists():
        return path
    from pyspark import SparkFiles

    try:
        root = Path(SparkFiles.getRootDirectory())
    except (AssertionError, AttributeError, TypeError):
        # Outside of Spark there is no folder for its files.
        return path
    # A streaming query looks below the folder of its session; what the application was given lies above.
    brought = (folder / path.name for folder in (root, root.parent))
    return next((each for each in brought if each.exists()), path)


def _variable(match: re.Match[str]) -> str:
    value = os.environ.get(match.group(1))
    if value is None:
        raise ConfigException(f"The environment variable {match.group(1)} is not set in this process")
    return value
