"""AddOffsetsToTxn (key 25, v0-4): add a group's offsets partition to a transaction."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, INT64, STRING, Field

ADD_OFFSETS_TO_TXN_REQUEST = Message(
    "AddOffsetsToTxnRequest",
    api_key=25,
    versions="0-4",
    flexible="3+",
    fields=(
        Field("transactional_id", "0+", STRING),
        Field("producer_id", "0+", INT64),
        Field("producer_epoch", "0+", INT16),
        Field("group_id", "0+", STRING),
    ),
)

ADD_OFFSETS_TO_TXN_RESPONSE = Message(
    "AddOffsetsToTxnResponse",
    api_key=25,
    versions="0-4",
    flexible="3+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field("error_code", "0+", INT16),
    ),
)

AddOffsetsToTxnRequest = ADD_OFFSETS_TO_TXN_REQUEST.value_class
AddOffsetsToTxnResponse = ADD_OFFSETS_TO_TXN_RESPONSE.value_class
