"""DeleteRecords (key 21, v0-2): move log start offsets forward."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, INT64, STRING, Array, Field, Struct

DELETE_RECORDS_REQUEST = Message(
    "DeleteRecordsRequest",
    api_key=21,
    versions="0-2",
    flexible="2+",
    fields=(
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "DeleteRecordsTopic",
                    (
                        Field("name", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "DeleteRecordsPartition",
                                    (
                                        Field("partition_index", "0+", INT32),
                                        Field("offset", "0+", INT64),
                                    ),
                                )
                            ),
                        ),
                    ),
                )
            ),
        ),
        Field("timeout_ms", "0+", INT32),
    ),
)

DELETE_RECORDS_RESPONSE = Message(
    "DeleteRecordsResponse",
    api_key=21,
    versions="0-2",
    flexible="2+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "DeleteRecordsTopicResult",
                    (
                        Field("name", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "DeleteRecordsPartitionResult",
                                    (
                                        Field("partition_index", "0+", INT32),
                                        Field("low_watermark", "0+", INT64),
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

DeleteRecordsRequest = DELETE_RECORDS_REQUEST.value_class
DeleteRecordsTopic = DELETE_RECORDS_REQUEST.class_of("DeleteRecordsTopic")
DeleteRecordsPartition = DELETE_RECORDS_REQUEST.class_of("DeleteRecordsPartition")
DeleteRecordsResponse = DELETE_RECORDS_RESPONSE.value_class
DeleteRecordsTopicResult = DELETE_RECORDS_RESPONSE.class_of("DeleteRecordsTopicResult")
DeleteRecordsPartitionResult = DELETE_RECORDS_RESPONSE.class_of("DeleteRecordsPartitionResult")
