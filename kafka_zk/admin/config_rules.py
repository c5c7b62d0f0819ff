"""Validates requests to change configurations, and computes the values that result.

Role        Pure: each rule raises the BrokerError that a client sees, with Kafka's words.
Source      ConfigAdminManager: preprocess, prepareIncrementalConfigs, validateLogLevelConfigs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from kafka_zk.config.declaration import Config
from kafka_zk.config.values import ConfigType
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.errors import BrokerError, InvalidConfig, InvalidRequest

ROOT_LOGGER = "root"
LOG_LEVELS = ("DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN")


class ConfigResourceType(IntEnum):
    """What a configuration belongs to, as the wire says it. Source: ConfigResource.Type."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16


class Operation(IntEnum):
    """How one key changes. Source: AlterConfigOp.OpType."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Change(NamedTuple):
    """One change of one key. `operation` may be an unknown number; a deletion needs no value."""

    operation: int
    name: str
    value: str | None


def check_changes(changes: Sequence[Change]) -> None:
    """Blocks in turns. Raise InvalidRequest unless each key comes once, and with a value where it needs one."""
    if len({change.name for change in in_turns(changes)}) < len(changes):
        raise InvalidRequest("Error due to duplicate config keys")
    missing = [
        change.name for change in in_turns(changes) if change.value is None and change.operation != Operation.DELETE
    ]
    if missing:
        raise InvalidRequest(f"Null value not supported for : {', '.join(missing)}")


def changed(stored: Mapping[str, str], changes: Iterable[Change], rows: Mapping[str, Config]) -> dict[str, str]:
    """The values after `changes`. Raises InvalidConfig for list operations on other types."""
    values = dict(stored)
    for operation, name, value in changes:
        if operation == Operation.DELETE:
            values.pop(name, None)
            continue
        assert value is not None, "check_changes let it pass"
        if operation == Operation.SET:
            values[name] = value
        elif operation in (Operation.APPEND, Operation.SUBTRACT):
            values[name] = _stepped(values.get(name), Operation(operation), name, value, rows.get(name))
        else:
            # Kafka fails on such a number in a way of its own, which clients see as UNKNOWN_SERVER_ERROR.
            raise BrokerError(f"{operation} is not an operation on a config")
    return values


def _stepped(before: str | None, operation: Operation, name: str, value: str, row: Config | None) -> str:
    if row is None:
        # Kafka's message for this is that of a missing key in a Scala map; clients see none.
        raise BrokerError(f"key not found: {name}")
    if row.type is not ConfigType.LIST:
        raise InvalidConfig(f"Config value {operation.name.lower()} is not allowed for config key: {name}")
    standing = [entry for entry in _entries(row.default_text or "" if before is None else before) if entry]
    given = _entries(value)
    if operation is Operation.APPEND:
        return ",".join([*standing, *(entry for entry in given if entry not in standing)])
    for entry in given:
        if entry in standing:
            standing.remove(entry)
    return ",".join(standing)


def _entries(text: str) -> list[str]:
    """Java's String.split: empty entries at the end do not count, but an empty text is one empty entry."""
    entries = text.split(",")
    while len(entries) > 1 and not entries[-1]:
        entries.pop()
    return entries


def check_levels(changes: Iterable[Change], loggers: Collection[str]) -> None:
    """Raise InvalidConfig or InvalidRequest unless each of `changes` is one of a known logger's level."""
    for operation, name, level in changes:
        if operation == Operation.SET:
            _check_logger(name, loggers)
            if level not in LOG_LEVELS:
                raise InvalidConfig(
                    f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
                    f"Valid log levels are {', '.join(LOG_LEVELS)}"
                )
        elif operation == Operation.DELETE:
            _check_logger(name, loggers)
            if name == ROOT_LOGGER:
                raise InvalidRequest(f"Removing the log level of the {ROOT_LOGGER} logger is not allowed")
        elif operation in (Operation.APPEND, Operation.SUBTRACT):
            raise InvalidRequest(f"{Operation(operation).name} operation is not allowed for the BROKER_LOGGER resource")
        else:
            raise BrokerError(f"{operation} is not an operation on a log level")


def _check_logger(name: str, loggers: Collection[str]) -> None:
    if name not in loggers:
        raise InvalidConfig(f"Logger {name} does not exist!")
