"""InitProducerId (key 22, v0-5): a producer receives its id and epoch."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, INT64, STRING, Field

INIT_PRODUCER_ID_REQUEST = Message(
    "InitProducerIdRequest",
    api_key=22,
    versions="0-5",
    flexible="2+",
    fields=(
        Field("transactional_id", "0+", STRING, nullable="0+"),
        Field("transaction_timeout_ms", "0+", INT32),
        Field("producer_id", "3+", INT64, default=-1),
        Field("producer_epoch", "3+", INT16, default=-1),
    ),
)

INIT_PRODUCER_ID_RESPONSE = Message(
    "InitProducerIdResponse",
    api_key=22,
    versions="0-5",
    flexible="2+",
    fields=(
        Field("throttle_time_ms", "0+", INT32, ignorable=True),
        Field("error_code", "0+", INT16),
        Field("producer_id", "0+", INT64, default=-1),
        Field("producer_epoch", "0+", INT16),
    ),
)

InitProducerIdRequest = INIT_PRODUCER_ID_REQUEST.value_class
InitProducerIdResponse = INIT_PRODUCER_ID_RESPONSE.value_class
