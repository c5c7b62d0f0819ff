"""AlterReplicaLogDirs (key 34, v0-2): move replicas between the log directories of a broker."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, STRING, Array, Field, Struct

ALTER_REPLICA_LOG_DIRS_REQUEST = Message(
    "AlterReplicaLogDirsRequest",
    api_key=34,
    versions="0-2",
    flexible="2+",
    fields=(
        Field(
            "dirs",
            "0+",
            Array(
                Struct(
                    "AlterReplicaLogDir",
                    (
                        Field("path", "0+", STRING),
                        Field(
                            "topics",
                            "0+",
                            Array(
                                Struct(
                                    "AlterReplicaLogDirTopic",
                                    (
                                        Field("name", "0+", STRING),
                                        Field("partitions", "0+", Array(INT32)),
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

ALTER_REPLICA_LOG_DIRS_RESPONSE = Message(
    "AlterReplicaLogDirsResponse",
    api_key=34,
    versions="0-2",
    flexible="2+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field(
            "results",
            "0+",
            Array(
                Struct(
                    "AlterReplicaLogDirTopicResult",
                    (
                        Field("topic_name", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "AlterReplicaLogDirPartitionResult",
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

AlterReplicaLogDirsRequest = ALTER_REPLICA_LOG_DIRS_REQUEST.value_class
AlterReplicaLogDir = ALTER_REPLICA_LOG_DIRS_REQUEST.class_of("AlterReplicaLogDir")
AlterReplicaLogDirTopic = ALTER_REPLICA_LOG_DIRS_REQUEST.class_of("AlterReplicaLogDirTopic")
AlterReplicaLogDirsResponse = ALTER_REPLICA_LOG_DIRS_RESPONSE.value_class
AlterReplicaLogDirTopicResult = ALTER_REPLICA_LOG_DIRS_RESPONSE.class_of("AlterReplicaLogDirTopicResult")
AlterReplicaLogDirPartitionResult = ALTER_REPLICA_LOG_DIRS_RESPONSE.class_of("AlterReplicaLogDirPartitionResult")
