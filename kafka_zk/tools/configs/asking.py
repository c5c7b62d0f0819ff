"""Shared by all entity types: admin calls, and keys that cannot be deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError, InvalidConfig
from kafka_zk.tools.common.java_output import execution_error

T = TypeVar("T")


def asked(call: Callable[[], T]) -> T:
    """The result of a call. A failure is wrapped as Java's futures do."""
    try:
        return call()
    except (BrokerError, KafkaException) as error:
        raise execution_error(error) from error


def check_deletions(deleted: Iterable[str], known: Iterable[str]) -> None:
    """Raise InvalidConfig for keys of `deleted` that are not `known`."""
    standing = set(known)
    invalid = [key for key in deleted if key not in standing]
    if invalid:
        raise InvalidConfig(f"Invalid config(s): {','.join(invalid)}")
