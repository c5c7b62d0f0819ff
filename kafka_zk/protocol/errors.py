"""Kafka's error codes, with one exception class per code.

Role        The only list of codes. `ErrorCode`, the classes and their default messages come from `error_table.py`;
            `errors.pyi` (written by `python -m kafka_zk.protocol.stubs`) shows them to type checkers.
Invariants  Every error that a client must see is a `BrokerError`; any other exception is our bug (code -1).
            A class is named after its code: UNKNOWN_TOPIC_OR_PARTITION is `UnknownTopicOrPartition`.
Source      Kafka 3.9 org.apache.kafka.common.protocol.Errors: codes, retriable classes and messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import ClassVar

from kafka_zk.protocol.error_table import ERROR_TABLE

ErrorCode = IntEnum("ErrorCode", {name: code for code, name, _, _ in ERROR_TABLE})

_MESSAGES = {code: message for code, _, _, message in ERROR_TABLE}
_RETRIABLE = frozenset(code for code, _, retriable, _ in ERROR_TABLE if retriable)


def is_retriable(code: int) -> bool:
    """Whether Kafka's clients retry after this code."""
    return code in _RETRIABLE


def code_of(number: int) -> ErrorCode:
    """The code of a number received from a peer; one newer than 3.9 is UNKNOWN_SERVER_ERROR. Source: Errors.forCode."""
    return ErrorCode(number) if number in _MESSAGES else ErrorCode.UNKNOWN_SERVER_ERROR


def message_of(code: int) -> str:
    """Kafka's standard text for a code; empty for NONE."""
    return _MESSAGES[code]


LONGEST_MESSAGE = 4_096
"""Characters, at most four times as many bytes: far below 32,767 bytes, which is all that an old answer can hold."""


class BrokerError(Exception):
    """A failure that has a wire code. str() is the given message, else Kafka's standard one.

    A message that quotes too much of what a client sent is cut in its middle.
    """

    code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR

    def __init__(self, message: str | None = None) -> None:
        if message is None:
            message = _MESSAGES[self.code]
        elif len(message) > LONGEST_MESSAGE:
            message = f"{message[:2_000]} ... ({len(message)} characters) ... {message[-2_000:]}"
        super().__init__(message)


class RecordsError(BrokerError):
    """An error that may also name single records: pairs of their index in the batch and what is wrong with them."""

    def __init__(self, message: str | None = None, *, record_errors: Sequence[tuple[int, str]] = ()) -> None:
        super().__init__(message)
        self.record_errors = list(record_errors)


# ProduceResponse carries single records' errors with these two codes only (RecordValidationException).
_RECORDS_ERRORS = ("INVALID_RECORD", "INVALID_TIMESTAMP")


def class_name_of(code_name: str) -> str:
    """INVALID_TOPIC_EXCEPTION -> InvalidTopicException."""
    return "".join(word.capitalize() for word in code_name.split("_"))


def base_of(code_name: str) -> type[BrokerError]:
    """The class that the code's own class extends."""
    return RecordsError if code_name in _RECORDS_ERRORS else BrokerError


CLASSES: dict[ErrorCode, type[BrokerError]] = {
    code: type(class_name_of(code.name), (base_of(code.name),), {"code": code, "__module__": __name__})
    for code in ErrorCode
    if code is not ErrorCode.NONE
}
globals().update({error_class.__name__: error_class for error_class in CLASSES.values()})


class DecodeError(CLASSES[ErrorCode.INVALID_REQUEST]):  # InvalidRequest
    """Bytes that do not decode as the expected message. Kafka closes the connection without an answer."""


class EncodeError(ValueError):
    """A value that its message cannot hold: a number out of range, null where null is not allowed. Our bug."""


def error_code_for(error: Exception) -> ErrorCode:
    """The wire code of an exception; UNKNOWN_SERVER_ERROR if it is not a BrokerError."""
    return error.code if isinstance(error, BrokerError) else ErrorCode.UNKNOWN_SERVER_ERROR


def error_class_for(code: int) -> type[BrokerError]:
    """The class of a code received from a peer; a code newer than 3.9 is UNKNOWN_SERVER_ERROR. Not for NONE (0)."""
    if code == ErrorCode.NONE:
        raise ValueError("NONE is not an error")
    return CLASSES.get(ErrorCode(code), BrokerError) if code in _MESSAGES else CLASSES[ErrorCode.UNKNOWN_SERVER_ERROR]
