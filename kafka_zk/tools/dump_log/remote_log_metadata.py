"""--remote-log-metadata-decoder: the records of __remote_log_metadata, where tiered storage records what it copied.

Role        Pure. An Apache broker in ZooKeeper mode may have left the topic behind; we read it and never write it.
Layout      Unsigned varints: frame version (1), record type, record version; then the record, flexible.
Source      RemoteLogMetadataSerde, AbstractApiMessageSerde, toString of RemoteLogSegmentMetadata and its relatives.
"""

from __future__ import annotations

from typing import Any

from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BYTES, INT8, INT32, INT64, STRING, UUID, Array, Field, Struct
from kafka_zk.protocol.types import uuid_to_base64
from kafka_zk.record.types import Record
from kafka_zk.tools.common.kafka_json import to_json

_FRAME_VERSION = 1
_UNSUPPORTED = "org.apache.kafka.common.errors.UnsupportedVersionException"
_NO_VALUE = (
    'Cannot invoke "java.nio.ByteBuffer.remaining()" because the return value of '
    '"org.apache.kafka.common.record.Record.value()" is null'
)

_TOPIC_ID_PARTITION = Struct(
    "TopicIdPartitionEntry",
    (
        Field("name", "0+", STRING),
        Field("id", "0+", UUID),
        Field("partition", "0+", INT32),
    ),
)
_SEGMENT_ID = Struct(
    "RemoteLogSegmentIdEntry",
    (
        Field("topic_id_partition", "0+", _TOPIC_ID_PARTITION),
        Field("id", "0+", UUID),
    ),
)
_LEADER_EPOCH = Struct(
    "SegmentLeaderEpochEntry",
    (
        Field("leader_epoch", "0+", INT32),
        Field("offset", "0+", INT64),
    ),
)
_CONTENT = (
    Field("start_offset", "0+", INT64),
    Field("end_offset", "0+", INT64),
    Field("broker_id", "0+", INT32),
    Field("max_timestamp_ms", "0+", INT64),
    Field("event_timestamp_ms", "0+", INT64),
    Field("segment_leader_epochs", "0+", Array(_LEADER_EPOCH)),
    Field("segment_size_in_bytes", "0+", INT32),
    Field("custom_metadata", "0+", BYTES, nullable="0+", default=None),
    Field("remote_log_segment_state", "0+", INT8),
)


def _message(name: str, fields: tuple[Field, ...]) -> Message[Any]:
    return Message(name, versions="0", flexible="0+", fields=fields)


SEGMENT_METADATA = _message(
    "RemoteLogSegmentMetadataRecord", (Field("remote_log_segment_id", "0+", _SEGMENT_ID), *_CONTENT)
)
SEGMENT_METADATA_UPDATE = _message(
    "RemoteLogSegmentMetadataUpdateRecord",
    (
        Field("remote_log_segment_id", "0+", _SEGMENT_ID),
        Field("broker_id", "0+", INT32),
        Field("event_timestamp_ms", "0+", INT64),
        Field("custom_metadata", "0+", BYTES, nullable="0+", default=None),
        Field("remote_log_segment_state", "0+", INT8),
    ),
)
PARTITION_DELETE = _message(
    "RemotePartitionDeleteMetadataRecord",
    (
        Field("topic_id_partition", "0+", _TOPIC_ID_PARTITION),
        Field("broker_id", "0+", INT32),
        Field("event_timestamp_ms", "0+", INT64),
        Field("remote_partition_delete_state", "0+", INT8),
    ),
)
SEGMENT_METADATA_SNAPSHOT = _message(
    "RemoteLogSegmentMetadataSnapshotRecord", (Field("segment_id", "0+", UUID), *_CONTENT)
)

RECORD_TYPES = (SEGMENT_METADATA, SEGMENT_METADATA_UPDATE, PARTITION_DELETE, SEGMENT_METADATA_SNAPSHOT)
_SEGMENT_STATES = (
    "COPY_SEGMENT_STARTED",
    "COPY_SEGMENT_FINISHED",
    "DELETE_SEGMENT_STARTED",
    "DELETE_SEGMENT_FINISHED",
)
_PARTITION_STATES = ("DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED")


class RemoteLogMetadataParser:
    """There are no keys. An error message takes the payload's place where decoding fails."""

    def text(self, record: Record) -> tuple[str | None, str | None]:
        try:
            message, found = _decoded(record.value)
            return None, _shown(message, found)
        except DecodeError as error:
            return None, _skipped(record, error)

    def values(self, record: Record) -> tuple[Any, Any]:
        try:
            message, found = _decoded(record.value)
            return None, {"record": message.name.removesuffix("Record"), **to_json(message, found, 0)}
        except DecodeError as error:
            return None, _skipped(record, error)


def _skipped(record: Record, error: DecodeError) -> str:
    return f"Error at offset {record.offset}, skipping. {error}"


def _decoded(data: bytes | None) -> tuple[Message[Any], Any]:
    """Raises DecodeError."""
    if data is None:
        raise DecodeError(_NO_VALUE)
    frame_version, position = _unsigned_varint(data, 0, "frame version")
    if frame_version != _FRAME_VERSION:
        raise DecodeError(
            f"Could not deserialize metadata record due to unknown frame version {frame_version}"
            f"(only frame version {_FRAME_VERSION} is supported)"
        )
    number, position = _unsigned_varint(data, position, "type")
    version, position = _unsigned_varint(data, position, "version")
    if number >= len(RECORD_TYPES):
        raise DecodeError(f"{_UNSUPPORTED}: Unknown metadata id {number}")
    message = RECORD_TYPES[number]
    if version not in message.versions:
        raise DecodeError(f"Failed to deserialize record with type {number}")
    try:
        found, end = message.decoder(version)(data, position)
    except DecodeError as error:
        raise DecodeError(f"Failed to deserialize record with type {number}") from error
    if end < len(data):
        raise DecodeError(f"Found {len(data) - end} byte(s) of garbage after {number}")
    return message, found


def _unsigned_varint(data: bytes, position: int, name: str) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0x7FFF:
                raise DecodeError(f"Value for {name} was too large.")
            return value, position
    raise DecodeError(f"Error while reading {name}")


def _shown(message: Message[Any], found: Any) -> str:
    if message is PARTITION_DELETE:
        return (
            f"RemotePartitionDeleteMetadata{{topicPartition={_partition(found.topic_id_partition)}, "
            f"state={_state(_PARTITION_STATES, found.remote_partition_delete_state)}, "
            f"eventTimestampMs={found.event_timestamp_ms}, brokerId={found.broker_id}}}"
        )
    state = _state(_SEGMENT_STATES, found.remote_log_segment_state)
    custom = _custom(found.custom_metadata)
    if message is SEGMENT_METADATA_UPDATE:
        return (
            f"RemoteLogSegmentMetadataUpdate{{remoteLogSegmentId={_segment(found.remote_log_segment_id)}, "
            f"customMetadata={custom}, state={state}, eventTimestampMs={found.event_timestamp_ms}, "
            f"brokerId={found.broker_id}}}"
        )
    epochs = ", ".join(f"{each.leader_epoch}={each.offset}" for each in _by_epoch(found.segment_leader_epochs))
    rest = (
        f"segmentLeaderEpochs={{{epochs}}}, segmentSizeInBytes={found.segment_size_in_bytes}, "
        f"customMetadata={custom}, state={state}}}"
    )
    if message is SEGMENT_METADATA:
        return (
            f"RemoteLogSegmentMetadata{{remoteLogSegmentId={_segment(found.remote_log_segment_id)}, "
            f"startOffset={found.start_offset}, endOffset={found.end_offset}, brokerId={found.broker_id}, "
            f"maxTimestampMs={found.max_timestamp_ms}, eventTimestampMs={found.event_timestamp_ms}, {rest}"
        )
    return (
        f"RemoteLogSegmentMetadataSnapshot{{segmentId={uuid_to_base64(found.segment_id)}, "
        f"startOffset={found.start_offset}, endOffset={found.end_offset}, "
        f"maxTimestampMs={found.max_timestamp_ms}, {rest}"
    )


def _partition(found: Any) -> str:
    return f"{uuid_to_base64(found.id)}:{found.name}-{found.partition}"


def _segment(found: Any) -> str:
    return (
        f"RemoteLogSegmentId{{topicIdPartition={_partition(found.topic_id_partition)}, id={uuid_to_base64(found.id)}}}"
    )


def _state(states: tuple[str, ...], number: int) -> str:
    return states[number] if 0 <= number < len(states) else "null"


def _custom(data: Any) -> str:
    return "Optional.empty" if data is None else f"Optional[CustomMetadata{{{len(data)} bytes}}]"


def _by_epoch(entries: list[Any]) -> list[Any]:
    return sorted(entries, key=lambda entry: entry.leader_epoch)
