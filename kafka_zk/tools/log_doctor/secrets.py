"""Checks that files with a broker's secrets are not readable by everybody."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from kafka_zk.config.errors import ConfigException
from kafka_zk.config.exposure import exposed_files
from kafka_zk.config.properties import read_file
from kafka_zk.log.doctor.findings import SECRET_EXPOSED, Finding
from kafka_zk.tools.log_doctor.options import WrongUsage


def check_secrets(config: Path) -> Iterator[Finding]:
    """One finding a file. Raises WrongUsage for a configuration that cannot be read, OSError."""
    try:
        properties = read_file(config)
    except ConfigException as error:
        raise WrongUsage(f"{config}: {error}") from None
    for exposed in exposed_files(properties, config, os.environ):
        path = exposed.path.absolute()
        yield Finding(SECRET_EXPOSED, str(path.parent), "", path.name, f"{exposed.what}", "starts, and warns of it")
