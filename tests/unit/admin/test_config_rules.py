"""Requests to change configurations: what is refused, what values become. Each case was asked of Apache 3.9.1."""

from __future__ import annotations

import pytest

from kafka_zk.admin.config_rules import Change, Operation, changed, check_changes, check_levels
from kafka_zk.config.tables.topic import TOPIC_KEYS
from kafka_zk.protocol.errors import BrokerError, ErrorCode, InvalidConfig, InvalidRequest

SET, DELETE, APPEND, SUBTRACT = Operation
POLICY = "cleanup.policy"
LOGGERS = {"root", "kafka.log.LogCleaner"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([Change(SET, "a", "1"), Change(DELETE, "a", None)], "Error due to duplicate config keys"),
        ([Change(SET, "a", None), Change(APPEND, "b", None)], "Null value not supported for : a, b"),
    ],
)
def test_a_key_comes_once_and_with_a_value(changes: list[Change], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        check_changes(changes)


def test_a_deletion_needs_no_value() -> None:
    check_changes([Change(DELETE, "a", None)])


@pytest.mark.parametrize(
    ("stored", "change", "becomes"),
    [
        ({"retention.ms": "1"}, Change(SET, "retention.ms", "2"), {"retention.ms": "2"}),
        ({"retention.ms": "1"}, Change(DELETE, "retention.ms", None), {}),
        ({}, Change(DELETE, "no.such", ""), {}),
        ({}, Change(APPEND, POLICY, "compact"), {POLICY: "delete,compact"}),
        ({POLICY: "compact"}, Change(APPEND, POLICY, "compact"), {POLICY: "compact"}),
        ({POLICY: ""}, Change(APPEND, POLICY, "delete"), {POLICY: "delete"}),
        ({POLICY: "delete,compact"}, Change(SUBTRACT, POLICY, "delete"), {POLICY: "compact"}),
        ({POLICY: "compact"}, Change(SUBTRACT, POLICY, "compact"), {POLICY: ""}),
        ({POLICY: "compact"}, Change(SUBTRACT, POLICY, "delete,x"), {POLICY: "compact"}),
    ],
)  # fmt: skip
def test_values_after_a_change(stored: dict[str, str], change: Change, becomes: dict[str, str]) -> None:
    before = dict(stored)
    assert changed(stored, [change], TOPIC_KEYS) == becomes
    assert stored == before


def test_only_lists_are_changed_by_steps() -> None:
    with pytest.raises(InvalidConfig, match="Config value append is not allowed for config key: retention"):
        changed({}, [Change(APPEND, "retention.ms", "1")], TOPIC_KEYS)


@pytest.mark.parametrize("change", [Change(APPEND, "no.such", "1"), Change(7, "retention.ms", "1")])
def test_what_kafka_stumbles_over_is_an_unknown_server_error(change: Change) -> None:
    with pytest.raises(BrokerError) as raised:
        changed({}, [change], TOPIC_KEYS)
    assert raised.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (Change(SET, "nobody", "INFO"), 40, "Logger nobody does not exist!"),
        (Change(SET, "ROOT", "INFO"), 40, "Logger ROOT does not exist!"),
        (
            Change(SET, "root", "info"),
            40,
            "Cannot set the log level of root to info as it is not",
        ),
        (Change(SET, "root", "OFF"), 40, "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"),
        (Change(DELETE, "nobody", None), 40, "Logger nobody does not exist!"),
        (Change(DELETE, "root", None), 42, "Removing the log level of the root logger is not allowed"),
        (Change(APPEND, "root", "INFO"), 42, "APPEND operation is not allowed for the BROKER_LOGGER resource"),
        (Change(9, "root", "INFO"), -1, "is not an operation"),
    ],
)
def test_what_is_no_change_of_a_level(change: Change, code: int, said: str) -> None:
    with pytest.raises(BrokerError, match=said) as raised:
        check_levels([change], LOGGERS)
    assert raised.value.code == code


def test_a_level_is_set_and_unset() -> None:
    check_levels([Change(SET, "root", "WARN"), Change(DELETE, "kafka.log.LogCleaner", None)], LOGGERS)
