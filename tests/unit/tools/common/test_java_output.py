"""What Java prints without being asked."""

from __future__ import annotations

import io
import logging
import re
import sys
from collections.abc import Iterator
from uuid import UUID

import pytest

from kafka_zk.client.errors import KafkaException, java_name
from kafka_zk.config.errors import ConfigException
from kafka_zk.protocol.errors import (
    InvalidConfig,
    InvalidRecord,
    RequestTimedOut,
    TopicAlreadyExists,
    UnknownServerError,
)
from kafka_zk.tools.common.java_output import (
    hash_order,
    illegal_argument,
    java_uuid,
    log_error,
    show_warnings,
    stack_trace,
)


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (TopicAlreadyExists(), "org.apache.kafka.common.errors.TopicExistsException"),
        (InvalidConfig(), "org.apache.kafka.common.errors.InvalidConfigurationException"),
        (RequestTimedOut(), "org.apache.kafka.common.errors.TimeoutException"),
        (UnknownServerError(), "org.apache.kafka.common.errors.UnknownServerException"),
        (InvalidRecord(), "org.apache.kafka.common.InvalidRecordException"),
        (ConfigException(), "org.apache.kafka.common.config.ConfigException"),
        (KafkaException(), "org.apache.kafka.common.KafkaException"),
        (illegal_argument(""), "java.lang.IllegalArgumentException"),
    ],
)
def test_an_error_has_the_name_of_javas_class(error: Exception, name: str) -> None:
    assert java_name(error) == name


def test_a_trace_names_every_cause() -> None:
    error = KafkaException("outer")
    error.__cause__ = ConfigException("inner")
    assert stack_trace(error) == (
        "org.apache.kafka.common.KafkaException: outer\n"
        "Caused by: org.apache.kafka.common.config.ConfigException: inner\n"
    )


def test_a_log_line_has_log4js_form(capsys: pytest.CaptureFixture[str]) -> None:
    log_error("a.Logger", "text")
    assert re.fullmatch(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] ERROR text \(a\.Logger\)\n", capsys.readouterr().err)


def test_names_come_in_the_order_of_javas_hash_map() -> None:
    # As a describe of all topics by Apache's tool showed them.
    assert hash_order(["defaults", "t.2", "t1", "t4", "t5"], 5) == ["t4", "t.2", "t5", "defaults", "t1"]


def test_names_of_one_bucket_keep_their_order() -> None:
    assert hash_order(["BB", "x", "Aa"], 2).index("BB") < hash_order(["BB", "x", "Aa"], 2).index("Aa")
    assert hash_order(["Aa", "x", "BB"], 2).index("Aa") < hash_order(["Aa", "x", "BB"], 2).index("BB")


def test_a_topic_id_is_read_as_java_reads_it() -> None:
    assert java_uuid("AAAAAAAAAAAAAAAAAAAAAQ") == java_uuid("AAAAAAAAAAAAAAAAAAAAAQ==") == UUID(int=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A" * 25, f"Input string with prefix `{'A' * 24}` is too long to be decoded as a base64 UUID"),
        ("AAAA+", "Illegal base64 character 2b"),
        ("x", "Input byte[] should at least have 2 bytes for base64 bytes"),
        ("AAAAA", "Last unit does not have enough valid bits"),
        ("AAAA=A", "Input byte array has wrong 4-byte ending unit"),
        (
            "AAAA",
            (
                "Input string `AAAA` decoded as 3 bytes, "
                "which is not equal to the expected 16 bytes of a base64-encoded UUID"
            ),
        ),
    ],
)
def test_a_wrong_topic_id_is_refused_in_javas_words(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        java_uuid(text)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def quiet_root() -> Iterator[None]:
    root = logging.getLogger()
    before = list(root.handlers)
    # Another test may have had a tool show its warnings.
    root.handlers[:] = [each for each in before if not hasattr(each, "tried_for_ms")]
    yield
    root.handlers[:] = before


def unreachable(address: str) -> None:
    message = "[%s] Connection to node %s (%s) could not be established. Node may not be available."
    logging.getLogger("org.apache.kafka.clients.NetworkClient").warning(
        message, "AdminClient", -1, address, extra={"unreachable": address}
    )


def test_on_a_terminal_it_is_said_once_that_nothing_answers(monkeypatch: pytest.MonkeyPatch, quiet_root: None) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    show_warnings(60_000)
    for _ in range(60):
        unreachable("/127.0.0.1:1")
    unreachable("host/127.0.0.2:1")
    assert terminal.getvalue().splitlines() == [
        "No broker answers at 127.0.0.1:1. Is it running? Retrying for 60 s.",
        "No broker answers at host/127.0.0.2:1. Is it running? Retrying for 60 s.",
    ]


def test_who_tries_for_ever_says_no_time(monkeypatch: pytest.MonkeyPatch, quiet_root: None) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    show_warnings()
    unreachable("/127.0.0.1:1")
    assert terminal.getvalue() == "No broker answers at 127.0.0.1:1. Is it running? Retrying.\n"


def test_where_a_program_reads_it_each_line_is_apaches(
    monkeypatch: pytest.MonkeyPatch, quiet_root: None, capsys: pytest.CaptureFixture[str]
) -> None:
    show_warnings(60_000)
    for _ in range(3):
        unreachable("/127.0.0.1:1")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all("(/127.0.0.1:1) could not be established. Node may not be available." in line for line in lines)
