"""DescribeLogDirs (key 35, v0-4): log directories of a broker with the sizes of their replicas."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT16, INT32, INT64, STRING, Array, Field, Struct

DESCRIBE_LOG_DIRS_REQUEST = Message(
    "DescribeLogDirsRequest",
    api_key=35,
    versions="0-4",
    flexible="2+",
    fields=(
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "DescribableLogDirTopic",
                    (
                        Field("topic", "0+", STRING),
                        Field("partitions", "0+", Array(INT32)),
                    ),
                )
            ),
            nullable="0+",
        ),
    ),
)

DESCRIBE_LOG_DIRS_RESPONSE = Message(
    "DescribeLogDirsResponse",
    api_key=35,
    versions="0-4",
    flexible="2+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field("error_code", "3+", INT16, ignorable=True),
        Field(
            "results",
            "0+",
            Array(
                Struct(
                    "DescribeLogDirsResult",
                    (
                        Field("error_code", "0+", INT16),
                        Field("log_dir", "0+", STRING),
                        Field(
                            "topics",
                            "0+",
                            Array(
                                Struct(
                                    "DescribeLogDirsTopic",
                                    (
                                        Field("name", "0+", STRING),
                                        Field(
                                            "partitions",
                                            "0+",
                                            Array(
                                                Struct(
                                                    "DescribeLogDirsPartition",
                                                    (
                                                        Field("partition_index", "0+", INT32),
                                                        Field("partition_size", "0+", INT64),
                                                        Field("offset_lag", "0+", INT64),
                                                        Field("is_future_key", "0+", BOOL),
                                                    ),
                                                )
                                            ),
                                        ),
                                    ),
                                )
                            ),
                        ),
                        Field("total_bytes", "4+", INT64, default=-1, ignorable=True),
                        Field("usable_bytes", "4+", INT64, default=-1, ignorable=True),
                    ),
                )
            ),
        ),
    ),
)

DescribeLogDirsRequest = DESCRIBE_LOG_DIRS_REQUEST.value_class
DescribableLogDirTopic = DESCRIBE_LOG_DIRS_REQUEST.class_of("DescribableLogDirTopic")
DescribeLogDirsResponse = DESCRIBE_LOG_DIRS_RESPONSE.value_class
DescribeLogDirsResult = DESCRIBE_LOG_DIRS_RESPONSE.class_of("DescribeLogDirsResult")
DescribeLogDirsTopic = DESCRIBE_LOG_DIRS_RESPONSE.class_of("DescribeLogDirsTopic")
DescribeLogDirsPartition = DESCRIBE_LOG_DIRS_RESPONSE.class_of("DescribeLogDirsPartition")
