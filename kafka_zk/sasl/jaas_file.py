"""The JAAS file that -Djava.security.auth.login.config in KAFKA_OPTS names.

Role        Acts: reads one file.
Source      JaasContext.defaultContext, JaasUtils in Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kafka_zk.config.java_options import system_properties
from kafka_zk.sasl.jaas import JaasError, LoginModule, parse_file

LOGIN_CONFIG: Final = "java.security.auth.login.config"


def file_sections(environ: Mapping[str, str]) -> Mapping[str, list[LoginModule]] | None:
    """Blocks for the file. Its sections; None where no file is named. Raises JaasError."""
    named = system_properties(environ).get(LOGIN_CONFIG)
    if not named:
        return None
    path = Path(named.removeprefix("="))
    try:
        return parse_file(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise JaasError(f"Cannot read the JAAS file {path}: {why}") from error
    except JaasError as error:
        raise JaasError(f"{path}: {error}") from error
