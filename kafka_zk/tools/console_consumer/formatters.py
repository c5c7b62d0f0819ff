"""--formatter: what is printed of a record.

Role        Pure, but for log lines about what a formatter cannot use.
Invariants  A formatter returns the bytes of one record, ready to be written; what it raises ends the tool unless
            --skip-message-on-error was given.
Source      DefaultMessageFormatter, LoggingMessageFormatter, NoOpMessageFormatter (org.apache.kafka.tools.consumer).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kafka_zk.record.timestamp_type import TimestampType
from kafka_zk.tools.common.java_output import log_error, stack_trace
from kafka_zk.tools.console_consumer.value_texts import NotFound, text_maker

if TYPE_CHECKING:
    from kafka_zk.client.consumer.records import ConsumerRecord

PACKAGE = "org.apache.kafka.tools.consumer."
DEFAULT = f"{PACKAGE}DefaultMessageFormatter"
_OLD_GROUPS = "kafka.coordinator.group.GroupMetadataManager$"
_OLD_TRANSACTIONS = "kafka.coordinator.transaction.TransactionLog$"
# Old names and where they point to. Those of the coordinators still print a form of their own.
OLD_TOOLS = "kafka.tools."
DEPRECATED = {
    **{
        f"{OLD_TOOLS}{name}": f"{PACKAGE}{name}"
        for name in ("DefaultMessageFormatter", "LoggingMessageFormatter", "NoOpMessageFormatter")
    },
    f"{_OLD_TRANSACTIONS}TransactionLogMessageFormatter": f"{PACKAGE}TransactionLogMessageFormatter",
    f"{_OLD_GROUPS}OffsetsMessageFormatter": f"{PACKAGE}OffsetsMessageFormatter",
    f"{_OLD_GROUPS}GroupMetadataMessageFormatter": f"{PACKAGE}GroupMetadataMessageFormatter",
}
_TIMESTAMP_TYPES = {TimestampType.CREATE_TIME: "CreateTime", TimestampType.LOG_APPEND_TIME: "LogAppendTime"}

Formatter = Callable[["ConsumerRecord"], bytes]


def deprecation_warning(class_name: str) -> str | None:
    """The warning about an old name; None for others."""
    if class_name not in DEPRECATED:
        return None
    return (
        f"WARNING: {class_name} is deprecated and will be removed in the next major release. "
        f"Please use {DEPRECATED[class_name]} instead"
    )


def default_formatter(properties: Mapping[str, str]) -> Formatter:
    """Columns as the properties ask for them."""

    def asked(name: str, default: str) -> bool:
        return properties.get(name, default).strip().lower() == "true"

    def separator(name: str, default: str) -> bytes:
        return properties.get(name, default).encode()

    null = separator("null.literal", "null")
    line_end = separator("line.separator", "\n")
    between_headers = separator("headers.separator", ",")
    key_text, value_text, header_text = (
        _deserializer(properties, name) for name in ("key.deserializer", "value.deserializer", "headers.deserializer")
    )

    def timestamp(record: ConsumerRecord) -> bytes:
        if record.timestamp_type is None:
            return b"NO_TIMESTAMP"
        return f"{_TIMESTAMP_TYPES[record.timestamp_type]}:{record.timestamp}".encode()

    def headers(record: ConsumerRecord) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        return between_headers.join(
            b"%b:%b" % (name.encode(), header_text(null if value is None else value)) for name, value in record.headers
        )

    columns: list[tuple[bool, Formatter]] = [
        (asked("print.timestamp", "false"), timestamp),
        (asked("print.partition", "false"), lambda record: b"Partition:%d" % record.partition),
        (asked("print.offset", "false"), lambda record: b"Offset:%d" % record.offset),
        (asked("print.headers", "false"), headers),
        (asked("print.key", "false"), lambda record: key_text(null if record.key is None else record.key)),
        (asked("print.value", "true"), lambda record: value_text(null if record.value is None else record.value)),
    ]
    printed = [column for wanted, column in columns if wanted]
    between = separator("key.separator", "\t")
    if not printed:
        return lambda record: b""
    if printed == [columns[-1][1]] and value_text is bytes:
        return lambda record: (null if record.value is None else record.value) + line_end
    return lambda record: between.join([column(record) for column in printed]) + line_end


def _deserializer(properties: Mapping[str, str], name: str) -> Callable[[bytes], bytes]:
    class_name = properties.get(name)
    if class_name is None:
        return bytes
    own = {key[len(name) + 1 :]: value for key, value in properties.items() if key.startswith(f"{name}.")}
    try:
        return text_maker(class_name, own, is_key=name == "key.deserializer")
    except NotFound as error:
        log_error(DEFAULT, f"Unable to instantiate a deserializer from {class_name}", stack_trace(error))
        return bytes
