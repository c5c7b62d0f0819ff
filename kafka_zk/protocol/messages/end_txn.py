"""EndTxn (key 26, v0-4): commit or abort a transaction."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT16, INT32, INT64, STRING, Field

END_TXN_REQUEST = Message(
    "EndTxnRequest",
    api_key=26,
    versions="0-4",
    flexible="3+",
    fields=(
        Field("transactional_id", "0+", STRING),
        Field("producer_id", "0+", INT64),
        Field("producer_epoch", "0+", INT16),
        Field("committed", "0+", BOOL),
    ),
)

END_TXN_RESPONSE = Message(
    "EndTxnResponse",
    api_key=26,
    versions="0-4",
    flexible="3+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field("error_code", "0+", INT16),
    ),
)

EndTxnRequest = END_TXN_REQUEST.value_class
EndTxnResponse = END_TXN_RESPONSE.value_class
