"""AllocateProducerIds (key 67, v0): a broker takes a block of producer ids from the controller."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, INT64, Field

ALLOCATE_PRODUCER_IDS_REQUEST = Message(
    "AllocateProducerIdsRequest",
    api_key=67,
    versions="0-0",
    flexible="0+",
    fields=(
        Field("broker_id", "0+", INT32),
        Field("broker_epoch", "0+", INT64, default=-1),
    ),
)

ALLOCATE_PRODUCER_IDS_RESPONSE = Message(
    "AllocateProducerIdsResponse",
    api_key=67,
    versions="0-0",
    flexible="0+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field("error_code", "0+", INT16),
        Field("producer_id_start", "0+", INT64),
        Field("producer_id_len", "0+", INT32),
    ),
)

AllocateProducerIdsRequest = ALLOCATE_PRODUCER_IDS_REQUEST.value_class
AllocateProducerIdsResponse = ALLOCATE_PRODUCER_IDS_RESPONSE.value_class
