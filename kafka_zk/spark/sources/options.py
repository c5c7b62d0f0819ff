"""Parses the options of both sources, with the names and limits of Spark's own connector.

Role        Pure, but for the files of a client's secrets.
Source      Spark 4.2 KafkaSourceProvider.validateGeneralOptions, validateBatchOptions, validateStreamOptions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kafka_zk.config.errors import ConfigException
from kafka_zk.spark.client_secrets import public
from kafka_zk.spark.sources.errors import SourceOptionError
from kafka_zk.spark.whole_number import whole_number

CLIENT_PREFIX = "kafka."
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"(\d+)\s*([a-z]*)")


def read_flag(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    """true or false. Raises SourceOptionError."""
    text = options.get(name, "").strip().lower()
    if text not in ("", "true", "false"):
        raise SourceOptionError(f"The option {name} must be true or false, not {text}.")
    return text == "true" if text else default


def read_positive(options: Mapping[str, str], name: str) -> int | None:
    """A whole number above 0, None where the option is not given. Raises SourceOptionError."""
    text = options.get(name)
    if text is None:
        return None
    number = whole_number(text)
    if number is None or number <= 0:
        raise SourceOptionError(f"The option {name} must be a positive integer, not {text}.")
    return number


def read_duration_ms(options: Mapping[str, str], name: str, default: str) -> int:
    """A time like 15m, 30s or 500ms; a number alone is in ms. Raises SourceOptionError."""
    text = options.get(name, default).strip().lower()
    match = _DURATION.fullmatch(text)
    unit = _UNITS_MS.get(match[2] or "ms") if match else None
    if match is None or unit is None:
        raise SourceOptionError(f"The option {name} must be a time like 15m or 30s, not {text}.")
    return int(match[1]) * unit


def client_properties(options: Mapping[str, str]) -> dict[str, str]:
    """What follows `kafka.` in the names of options: settings of the client, without its secrets (`client_secrets`).

    Raises SourceOptionError for a config.file that cannot be read.
    """
    given = {
        name[len(CLIENT_PREFIX) :]: value for name, value in options.items() if name.lower().startswith(CLIENT_PREFIX)
    }
    try:
        return public(given)
    except ConfigException as error:
        raise SourceOptionError(str(error)) from error
