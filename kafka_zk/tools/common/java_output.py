"""Java's default output: exceptions with causes, log lines, hash maps in their iteration order.

Role        Printing for all tools. Scripts compare these texts, so they are Apache's; only
            the stack frames are left out.
Source      Throwable.printStackTrace, Kafka's tools-log4j.properties, java.util.HashMap.
"""

from __future__ import annotations

import base64
import logging
import string
import sys
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import TypeVar
from uuid import UUID

from kafka_zk.client.errors import KafkaException, java_name
from kafka_zk.config.errors import ConfigException
from kafka_zk.java_hash import SMALLEST_TABLE, in_hash_order, partition_hash, string_hash
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import TopicPartition

_BASE64_URL = frozenset(string.ascii_letters + string.digits + "-_")


H = TypeVar("H", bound=Hashable)


class JavaError(Exception):
    """An error that only Java's standard classes name, such as an illegal argument."""

    def __init__(self, message: str | None, java_class: str) -> None:
        super().__init__(*(() if message is None else (message,)))
        self.java_class = java_class
        self.suppressed: Sequence[BaseException] = ()


def illegal_argument(message: str) -> JavaError:
    return JavaError(message, "java.lang.IllegalArgumentException")


def execution_error(cause: BaseException) -> JavaError:
    """What Java's futures throw, with `cause` inside; raise it from that."""
    return JavaError(_headline(cause), "java.util.concurrent.ExecutionException")


def runtime_error(cause: BaseException) -> JavaError:
    """What Java's tools wrap checked exceptions in; raise it from `cause`."""
    return JavaError(_headline(cause), "java.lang.RuntimeException")


def awaited(cause: BaseException) -> JavaError:
    """`execution_error` with its cause in place, to be printed without being raised."""
    error = execution_error(cause)
    error.__cause__ = cause
    return error


def stack_trace(error: BaseException) -> str:
    """`Class: message`, then a line for each error that it suppressed and for each cause."""
    lines = [_headline(error)]
    if isinstance(error, JavaError):
        lines += [f"\tSuppressed: {_headline(each)}" for each in error.suppressed]
    cause = error.__cause__
    while isinstance(cause, JavaError | KafkaException | ConfigException | BrokerError):
        lines.append(f"Caused by: {_headline(cause)}")
        cause = cause.__cause__
    return "\n".join(lines) + "\n"


def message_of(error: BaseException) -> str:
    """Throwable.getMessage, printed."""
    return str(error) if error.args else "null"


def _headline(error: BaseException) -> str:
    name = java_name(error)
    return f"{name}: {error}" if error.args else name


def log_error(logger: str, text: str, trace: str = "") -> None:
    """One ERROR line on stderr, and an exception's trace below it."""
    print_log_line("ERROR", text, logger)
    print(trace, end="", file=sys.stderr)


def print_log_line(level: str, text: str, logger: str) -> None:
    """A line on stderr as the tools' log4j writes it."""
    now = time.time()
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    print(f"[{stamp},{int(now * 1000) % 1000:03}] {level} {text} ({logger})", file=sys.stderr)


class _Warnings(logging.Handler):
    """Log lines on the present stderr, in the tools' log4j form.

    On a terminal, one sentence says that nothing answers at an address; Apache's tools repeat a log line
    each second for a minute, and so do ours when a program reads the output.
    """

    def __init__(self, tried_for_ms: int | None) -> None:
        super().__init__(logging.WARNING)
        self.tried_for_ms = tried_for_ms
        self._told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        hint = getattr(record, "hint", None)
        if hint is not None:
            self._hint_once(hint)
            if sys.stderr.isatty():
                return
        address = getattr(record, "unreachable", None)
        if address is not None and sys.stderr.isatty():
            self._tell_once(address.lstrip("/"))
            return
        print_log_line("WARN" if record.levelno < logging.ERROR else "ERROR", record.getMessage(), record.name)
        if record.exc_info is not None and record.exc_info[1] is not None:
            print(stack_trace(record.exc_info[1]), end="", file=sys.stderr)

    def _hint_once(self, hint: str) -> None:
        """What is likely wrong, in one line."""
        if hint not in self._told:
            self._told.add(hint)
            print(hint, file=sys.stderr)

    def _tell_once(self, address: str) -> None:
        if address in self._told:
            return
        self._told.add(address)
        how_long = "" if self.tried_for_ms is None else f" for {self.tried_for_ms // 1000} s"
        print(f"No broker answers at {address}. Is it running? Retrying{how_long}.", file=sys.stderr)


def show_warnings(tried_for_ms: int | None = None) -> None:
    """Print the clients' warnings as Apache's tools do; nothing below WARN.

    `tried_for_ms`: how long a client that reaches no broker tries; None for without limit.
    """
    logger = logging.getLogger()
    for handler in logger.handlers:
        if isinstance(handler, _Warnings):
            handler.tried_for_ms = tried_for_ms
            return
    logger.addHandler(_Warnings(tried_for_ms))


def hash_order(names: Iterable[str], capacity: int = SMALLEST_TABLE) -> list[str]:
    """The order in which a java.util.HashMap, made for `capacity` entries, walks over `names` put into it in turn."""
    return hash_order_by(names, string_hash, capacity=capacity)


def hash_order_by(items: Iterable[H], hash_of: Callable[[H], int], *, capacity: int = SMALLEST_TABLE) -> list[H]:
    """The same for keys of any kind; `hash_of` is their hashCode, as an unsigned number."""
    return in_hash_order(dict.fromkeys(items), hash_of, capacity=capacity)


def partition_order(partitions: Iterable[TopicPartition], capacity: int = SMALLEST_TABLE) -> list[TopicPartition]:
    """The same of a HashMap with partitions for keys."""
    return hash_order_by(partitions, partition_hash, capacity=capacity)


def copied_order(names: Collection[str]) -> list[str]:
    """The order of a HashMap of strings made as a copy of a HashMap that `names` were put into in turn."""
    return hash_order(hash_order(names), int(len(names) / 0.75 + 1))


def utf16_order(text: str) -> bytes:
    """A key that sorts as String.compareTo does."""
    return text.encode("utf-16-be", "surrogatepass")


def java_uuid(text: str) -> UUID:
    """Uuid.fromString. Raises ValueError with Java's words for what is wrong."""
    if len(text) > 24:
        raise ValueError(f"Input string with prefix `{text[:24]}` is too long to be decoded as a base64 UUID")
    bare = text.rstrip("=") if len(text) % 4 == 0 else text
    for character in bare:
        if character not in _BASE64_URL:
            if character == "=":
                raise ValueError("Input byte array has wrong 4-byte ending unit")
            raise ValueError(f"Illegal base64 character {ord(character):x}")
    if len(bare) == 1:
        raise ValueError("Input byte[] should at least have 2 bytes for base64 bytes")
    if len(bare) % 4 == 1:
        raise ValueError("Last unit does not have enough valid bits")
    data = base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
    if len(data) != 16:
        raise ValueError(
            f"Input string `{text}` decoded as {len(data)} bytes, "
            "which is not equal to the expected 16 bytes of a base64-encoded UUID"
        )
    return UUID(bytes=data)
