"""Formatters of the coordinators' topics: __consumer_offsets and __transaction_state.

Role        Pure. Each has two: JSON (3.9's own, without line ends), and the text that the old class names print.
Invariants  Records of other kinds print nothing. Data shorter than a version number ends the tool.
Source      ApiMessageFormatter and its subclasses; GroupMetadataManager.OffsetsMessageFormatter and
            GroupMetadataMessageFormatter, TransactionLog.TransactionLogMessageFormatter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kafka_zk.java_hash import in_scala_order, string_hash
from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.records import (
    GROUP_METADATA_KEY,
    GROUP_METADATA_VALUE,
    OFFSET_COMMIT_KEY,
    OFFSET_COMMIT_VALUE,
    TRANSACTION_LOG_KEY,
    TRANSACTION_LOG_VALUE,
    GroupMetadataValue,
    OffsetCommitValue,
    TransactionLogValue,
)
from kafka_zk.protocol.versioned import decode_versioned, payload_version
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.common.kafka_json import json_text, to_json
from kafka_zk.tools.common.transaction_log import in_order_of_hashes, partitions_of, state_name
from kafka_zk.tools.console_consumer.formatters import DEPRECATED, PACKAGE, Formatter

if TYPE_CHECKING:
    from kafka_zk.client.consumer.records import ConsumerRecord

_UNKNOWN = "unknown"
_KEYS = (OFFSET_COMMIT_KEY, GROUP_METADATA_KEY)


def _version(data: bytes) -> int:
    try:
        return payload_version(data)
    except DecodeError:
        raise JavaError(None, "java.nio.BufferUnderflowException") from None


def _read(message: Message[Any], data: bytes) -> Any:
    try:
        return decode_versioned(message, data)
    except DecodeError as error:
        raise JavaError(str(error), "java.lang.RuntimeException") from None


def _key_message(keys: tuple[Message[Any], ...], version: int) -> Message[Any] | None:
    return next((message for message in keys if version in message.versions), None)


# --- JSON ------------------------------------------------------------------------------------------------------------


def _json_formatter(keys: tuple[Message[Any], ...], key: Message[Any], value: Message[Any]) -> Formatter:
    """Of `keys`, all that may occur in the topic, only records with `key` are shown, and those with unknown ones."""

    def write(record: ConsumerRecord) -> bytes:
        document: dict[str, Any] = {"key": None, "value": None}
        if record.key is not None:
            version = _version(record.key)
            found = _key_message(keys, version)
            if found not in (None, key):
                return b""
            document["key"] = {"version": version, "data": _json(found, record.key, version)}
        if record.value is not None:
            version = _version(record.value)
            known = value if version in value.versions else None
            document["value"] = {"version": version, "data": _json(known, record.value, version)}
        return json_text(document).encode("utf-8", "replace")

    return write


def _json(message: Message[Any] | None, data: bytes, version: int) -> Any:
    return _UNKNOWN if message is None else to_json(message, _read(message, data), version)


# --- text ------------------------------------------------------------------------------------------------------------


def _text_formatter(
    keys: tuple[Message[Any], ...],
    key: Message[Any],
    named: Callable[[Any], str],
    value_text: Callable[[Any, bytes], str],
) -> Formatter:
    def write(record: ConsumerRecord) -> bytes:
        if record.key is None:
            return b""
        version = _version(record.key)
        found = _key_message(keys, version)
        if found is None and key is TRANSACTION_LOG_KEY:
            return f"unknown::version={version}\n".encode()
        if found is not key:
            return b""
        name = _read(key, record.key)
        value = "NULL" if record.value is None else value_text(name, record.value)
        return f"{named(name)}::{value}\n".encode("utf-8", "replace")

    return write


def _known(message: Message[Any], data: bytes, what: str) -> Any:
    version = _version(data)
    if version not in message.versions:
        raise JavaError(f"Unknown {what} message version: {version}", "java.lang.IllegalStateException")
    return _read(message, data)


def _offset_text(_: Any, data: bytes) -> str:
    value: OffsetCommitValue = _known(OFFSET_COMMIT_VALUE, data, "offset")
    epoch = "Optional.empty" if value.leader_epoch < 0 else f"Optional[{value.leader_epoch}]"
    expires = "None" if value.expire_timestamp < 0 else f"Some({value.expire_timestamp})"
    return (
        f"OffsetAndMetadata(offset={value.offset}, leaderEpoch={epoch}, metadata={value.metadata}, "
        f"commitTimestamp={value.commit_timestamp}, expireTimestamp={expires})"
    )


def _group_text(key: Any, data: bytes) -> str:
    value: GroupMetadataValue = _known(GROUP_METADATA_VALUE, data, "group metadata")
    members = {member.member_id: _member_text(member, value.protocol) for member in value.members}
    listed = ", ".join(f"{name} -> {members[name]}" for name in in_scala_order(members, string_hash))
    return (
        f"GroupMetadata(groupId={key.group}, generation={value.generation}, protocolType=Some({value.protocol_type}), "
        f"currentState={'Stable' if members else 'Empty'}, members=HashMap({listed}))"
    )


def _member_text(member: Any, protocol: str | None) -> str:
    instance = "None" if member.group_instance_id is None else f"Some({member.group_instance_id})"
    # The first version had one timeout for both.
    rebalance_timeout = member.session_timeout if member.rebalance_timeout < 0 else member.rebalance_timeout
    return (
        f"MemberMetadata(memberId={member.member_id}, groupInstanceId={instance}, clientId={member.client_id}, "
        f"clientHost={member.client_host}, sessionTimeoutMs={member.session_timeout}, "
        f"rebalanceTimeoutMs={rebalance_timeout}, supportedProtocols=List({protocol}))"
    )


def _transaction_text(key: Any, data: bytes) -> str:
    version = _version(data)
    if version not in TRANSACTION_LOG_VALUE.versions:
        raise JavaError(
            f"Unknown version {version} from the transaction log message value", "java.lang.IllegalStateException"
        )
    value: TransactionLogValue = _read(TRANSACTION_LOG_VALUE, data)
    partitions = ", ".join(map(str, in_order_of_hashes(partitions_of(value))))
    return (
        f"TransactionMetadata(transactionalId={key.transactional_id}, producerId={value.producer_id}, "
        f"producerEpoch={value.producer_epoch}, txnTimeoutMs={value.transaction_timeout_ms}, "
        f"state={state_name(value.transaction_status)}, pendingState=None, topicPartitions=HashSet({partitions}), "
        f"txnStartTimestamp={value.transaction_start_timestamp_ms}, "
        f"txnLastUpdateTimestamp={value.transaction_last_update_timestamp_ms})"
    )


_OFFSETS, _GROUPS, _TRANSACTIONS = (
    f"{PACKAGE}{name}"
    for name in ("OffsetsMessageFormatter", "GroupMetadataMessageFormatter", "TransactionLogMessageFormatter")
)
_OLD_NAMES = {new: old for old, new in DEPRECATED.items()}
_TRANSACTION_KEYS = (TRANSACTION_LOG_KEY,)
FORMATTERS: Mapping[str, Formatter] = {
    _OFFSETS: _json_formatter(_KEYS, OFFSET_COMMIT_KEY, OFFSET_COMMIT_VALUE),
    _GROUPS: _json_formatter(_KEYS, GROUP_METADATA_KEY, GROUP_METADATA_VALUE),
    _TRANSACTIONS: _json_formatter(_TRANSACTION_KEYS, TRANSACTION_LOG_KEY, TRANSACTION_LOG_VALUE),
    _OLD_NAMES[_OFFSETS]: _text_formatter(
        _KEYS, OFFSET_COMMIT_KEY, lambda key: f"[{key.group},{key.topic},{key.partition}]", _offset_text
    ),
    _OLD_NAMES[_GROUPS]: _text_formatter(_KEYS, GROUP_METADATA_KEY, lambda key: str(key.group), _group_text),
    _OLD_NAMES[_TRANSACTIONS]: _text_formatter(
        _TRANSACTION_KEYS, TRANSACTION_LOG_KEY, lambda key: str(key.transactional_id), _transaction_text
    ),
}
