"""WriteTxnMarkers (key 27, v0-1): the transaction coordinator writes commit and abort markers."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT16, INT32, INT64, STRING, Array, Field, Struct

WRITE_TXN_MARKERS_REQUEST = Message(
    "WriteTxnMarkersRequest",
    api_key=27,
    versions="0-1",
    flexible="1+",
    fields=(
        Field(
            "markers",
            "0+",
            Array(
                Struct(
                    "WritableTxnMarker",
                    (
                        Field("producer_id", "0+", INT64),
                        Field("producer_epoch", "0+", INT16),
                        Field("transaction_result", "0+", BOOL),
                        Field(
                            "topics",
                            "0+",
                            Array(
                                Struct(
                                    "WritableTxnMarkerTopic",
                                    (
                                        Field("name", "0+", STRING),
                                        Field("partition_indexes", "0+", Array(INT32)),
                                    ),
                                )
                            ),
                        ),
                        Field("coordinator_epoch", "0+", INT32),
                    ),
                )
            ),
        ),
    ),
)

WRITE_TXN_MARKERS_RESPONSE = Message(
    "WriteTxnMarkersResponse",
    api_key=27,
    versions="0-1",
    flexible="1+",
    fields=(
        Field(
            "markers",
            "0+",
            Array(
                Struct(
                    "WritableTxnMarkerResult",
                    (
                        Field("producer_id", "0+", INT64),
                        Field(
                            "topics",
                            "0+",
                            Array(
                                Struct(
                                    "WritableTxnMarkerTopicResult",
                                    (
                                        Field("name", "0+", STRING),
                                        Field(
                                            "partitions",
                                            "0+",
                                            Array(
                                                Struct(
                                                    "WritableTxnMarkerPartitionResult",
                                                    (
                                                        Field("partition_index", "0+", INT32),
                                                        Field("error_code", "0+", INT16),
                                                    ),
                                                )
                                            ),
                                        ),
                                    ),
                                )
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
)

WriteTxnMarkersRequest = WRITE_TXN_MARKERS_REQUEST.value_class
WritableTxnMarker = WRITE_TXN_MARKERS_REQUEST.class_of("WritableTxnMarker")
WritableTxnMarkerTopic = WRITE_TXN_MARKERS_REQUEST.class_of("WritableTxnMarkerTopic")
WriteTxnMarkersResponse = WRITE_TXN_MARKERS_RESPONSE.value_class
WritableTxnMarkerResult = WRITE_TXN_MARKERS_RESPONSE.class_of("WritableTxnMarkerResult")
WritableTxnMarkerTopicResult = WRITE_TXN_MARKERS_RESPONSE.class_of("WritableTxnMarkerTopicResult")
WritableTxnMarkerPartitionResult = WRITE_TXN_MARKERS_RESPONSE.class_of("WritableTxnMarkerPartitionResult")
