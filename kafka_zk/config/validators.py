"""Validators of single config values, with Kafka's messages.

Role        Pure. A rule is called with the key's name and the parsed value; it raises ConfigException or returns.
Invariants  `str(rule)` is what Java prints for it, so that a declared row can be compared with Kafka's.
Source      ConfigDef.Range, ValidString, ValidList, CaseInsensitiveValidString, NonEmptyString; GzipCompression,
            MetadataVersionValidator, ThrottledReplicaListValidator, RemoteLogManagerConfig, QuorumConfig.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from kafka_zk.config.errors import ConfigException, invalid_value
from kafka_zk.config.metadata_version import KNOWN_VERSIONS, find_version
from kafka_zk.config.values import ConfigValue, java_list, java_text

Validator = Callable[[str, ConfigValue], None]

_REPLICAS = re.compile(r"[0-9]+:[0-9]+")
_VOTER = re.compile(r"[0-9]+@.*:[0-9]+")
_HOST_PORT = re.compile(r"(.*?)\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")


@dataclass(frozen=True, slots=True)
class Range:
    """A number within closed bounds; None leaves a side open."""

    least: int | float | None
    most: int | float | None

    def __call__(self, name: str, value: ConfigValue) -> None:
        if not isinstance(value, int | float):
            raise invalid_value(name, "null", "Value must be non-null")
        if self.least is not None and value < self.least:
            raise invalid_value(name, java_text(value), f"Value must be at least {java_text(self.least)}")
        if self.most is not None and value > self.most:
            raise invalid_value(name, java_text(value), f"Value must be no more than {java_text(self.most)}")

    def __str__(self) -> str:
        bounds = [java_text(self.least), "...", java_text(self.most)]
        return "[" + ",".join(bound for bound in bounds if bound is not None) + "]"


def at_least(least: int) -> Range:
    return Range(least, None)


def between(least: int | float, most: int | float) -> Range:
    return Range(least, most)


@dataclass(frozen=True, slots=True)
class OneOf:
    """A string out of a fixed set, case counts."""

    values: tuple[str, ...]

    def __call__(self, name: str, value: ConfigValue) -> None:
        if value not in self.values:
            shown = "null" if value is None else value
            raise invalid_value(name, shown, "String must be one of: " + ", ".join(self.values))

    def __str__(self) -> str:
        return java_list(list(self.values))


def one_of(*values: str) -> OneOf:
    return OneOf(values)


@dataclass(frozen=True, slots=True)
class OneOfIgnoringCase:
    values: tuple[str, ...]

    def __call__(self, name: str, value: ConfigValue) -> None:
        if not isinstance(value, str) or value.upper() not in self.values:
            shown = "null" if value is None else value
            raise invalid_value(name, shown, "String must be one of (case insensitive): " + ", ".join(self.values))

    def __str__(self) -> str:
        return f"(case insensitive) {java_list(list(self.values))}"


def one_of_ignoring_case(*values: str) -> OneOfIgnoringCase:
    return OneOfIgnoringCase(values)


@dataclass(frozen=True, slots=True)
class ListOf:
    """Every entry of a list is out of a fixed set; an empty list passes."""

    entry: OneOf

    def __call__(self, name: str, value: ConfigValue) -> None:
        if isinstance(value, list):
            for entry in value:
                self.entry(name, entry)

    def __str__(self) -> str:
        return str(self.entry)


def list_of(*values: str) -> ListOf:
    return ListOf(OneOf(values))


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule that needs no parameters: the text Java prints for it, and the check."""

    text: str
    check: Validator

    def __call__(self, name: str, value: ConfigValue) -> None:
        self.check(name, value)

    def __str__(self) -> str:
        return self.text


def _check_non_empty(name: str, value: ConfigValue) -> None:
    if value == "":
        raise invalid_value(name, value, "String must be non-empty")


def _check_non_null(name: str, value: ConfigValue) -> None:
    if value is None:
        raise invalid_value(name, "null", "entry must be non null")


def _check_gzip_level(name: str, value: ConfigValue) -> None:
    if not isinstance(value, int) or not (1 <= value <= 9 or value == -1):
        raise invalid_value(name, value, "Value must be between 1 and 9 or equal to -1")


def _check_version(name: str, value: ConfigValue) -> None:
    if find_version(str(value)) is None:
        raise invalid_value(name, value, f"Version {value} is not a valid version")


def _check_pool_size(name: str, value: ConfigValue) -> None:
    if not isinstance(value, int) or value < -1 or value == 0:
        raise invalid_value(name, value, "Value can be -1 or greater than 0")


def _check_throttled_replicas(name: str, value: ConfigValue) -> None:
    entries = value if isinstance(value, list) else []
    if entries in ([], ["*"]) or all(_REPLICAS.fullmatch(entry) for entry in entries):
        return
    reason = f"{name} must be the literal '*' or a list of replicas in the following format: {_REPLICA_FORMAT}"
    raise invalid_value(name, java_list(entries), reason)


def _check_voters(name: str, value: ConfigValue) -> None:
    if isinstance(value, list) and not all(_VOTER.fullmatch(entry) for entry in value):
        raise ConfigException(
            f"Invalid configuration value for {name}. Each entry should be in the form `{{id}}@{{host}}:{{port}}`."
        )


def _check_quorum_servers(name: str, value: ConfigValue) -> None:
    for entry in value if isinstance(value, list) else []:
        if not _HOST_PORT.fullmatch(entry):
            raise ConfigException(
                f"Failed to parse host name from {entry} for the configuration {name}. "
                'Each entry should be in the form "{host}:{port}"'
            )


_REPLICA_FORMAT = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
NON_EMPTY_STRING = _Rule("non-empty string", _check_non_empty)
NON_NULL = _Rule("non-null string", _check_non_null)
GZIP_LEVEL = _Rule("[1,...,9] or -1", _check_gzip_level)
KNOWN_VERSION = _Rule(java_list(list(KNOWN_VERSIONS)), _check_version)
THROTTLED_REPLICAS = _Rule(_REPLICA_FORMAT, _check_throttled_replicas)
QUORUM_VOTERS = _Rule("non-empty list", _check_voters)
QUORUM_SERVERS = _Rule("non-empty list", _check_quorum_servers)
POOL_SIZE = _Rule(
    "The default value of -1 means that this will be set to the configured value of "
    "remote.log.manager.thread.pool.size, if available; otherwise, it defaults to 10.",
    _check_pool_size,
)
