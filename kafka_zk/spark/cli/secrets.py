"""The clients' secrets of a job: from files and pipeline.toml to a file that Spark brings to its workers.

Role        Acts: writes the file, and gives it to Spark.
Invariants  What a job sees, plans and sends are properties without secrets. The command line takes none: others can
            read it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_zk.config.errors import ConfigException
from kafka_zk.config.properties import read_file
from kafka_zk.spark.client_secrets import CONFIG_FILE, inline_secrets, is_secret, write_properties
from kafka_zk.spark.settings.declaration import SettingError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_zk.spark.settings.declaration import JobDeclaration, Settings

CLUSTERS = ("", "target-")
"""Prefixes of the settings of a cluster."""


def refuse_on_command_line(options: Mapping[str, object]) -> None:
    """Raise SettingError for a secret among the options of a command."""
    for prefix in CLUSTERS:
        given = options.get(f"{prefix}kafka")
        pairs = dict(str(each).partition("=")[::2] for each in given) if isinstance(given, list) else {}
        for name in inline_secrets(pairs):
            raise SettingError(
                f"{name} is a secret, and others can read a command line: put it into a properties file and name that "
                f"with --{prefix}command-config, or write ${{env:NAME}} for an environment variable"
            )


def shared(session: SparkSession, job: JobDeclaration, settings: Settings, scratch: Path) -> Settings:
    """Give the secrets to the workers; returns the settings without them. Raises SettingError for a wrong file."""
    for prefix in CLUSTERS:
        if f"{prefix}kafka" in job.by_name():
            file, given = settings.text(f"{prefix}command-config"), settings.mapping(f"{prefix}kafka")
            everything = (_read(file) if file else {}) | given
            hidden = {name: value for name, value in everything.items() if is_secret(name)}
            if hidden:
                # A name of its own: a session has one folder for the files of all jobs.
                path = scratch / f"client-{secrets.token_hex(8)}.properties"
                write_properties(path, hidden)
                session.sparkContext.addFile(str(path))
                everything = {name: value for name, value in everything.items() if name not in hidden}
                everything[CONFIG_FILE] = path.name
            if file or hidden:
                settings = settings.with_mapping(f"{prefix}kafka", everything)
    return settings


def _read(path: str) -> dict[str, str]:
    try:
        return read_file(path)
    except OSError as error:
        raise SettingError(f"{path}: {error.strerror}") from None
    except ConfigException as error:
        raise SettingError(f"{path}: {error}") from None
