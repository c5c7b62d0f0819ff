"""StopReplica (key 5, v0-4): the controller tells a broker to stop, and perhaps delete, replicas."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT16, INT32, INT64, STRING, Array, Field, Struct

STOP_REPLICA_REQUEST = Message(
    "StopReplicaRequest",
    api_key=5,
    versions="0-4",
    flexible="2+",
    fields=(
        Field("controller_id", "0+", INT32),
        Field("is_k_raft_controller", "4+", BOOL),
        Field("controller_epoch", "0+", INT32),
        Field("broker_epoch", "1+", INT64, default=-1, ignorable=True),
        Field("delete_partitions", "0-2", BOOL),
        Field(
            "ungrouped_partitions",
            "0",
            Array(
                Struct(
                    "StopReplicaPartitionV0",
                    (
                        Field("topic_name", "0", STRING),
                        Field("partition_index", "0", INT32),
                    ),
                )
            ),
        ),
        Field(
            "topics",
            "1-2",
            Array(
                Struct(
                    "StopReplicaTopicV1",
                    (
                        Field("name", "1-2", STRING),
                        Field("partition_indexes", "1-2", Array(INT32)),
                    ),
                )
            ),
        ),
        Field(
            "topic_states",
            "3+",
            Array(
                Struct(
                    "StopReplicaTopicState",
                    (
                        Field("topic_name", "3+", STRING),
                        Field(
                            "partition_states",
                            "3+",
                            Array(
                                Struct(
                                    "StopReplicaPartitionState",
                                    (
                                        Field("partition_index", "3+", INT32),
                                        Field("leader_epoch", "3+", INT32, default=-1),
                                        Field("delete_partition", "3+", BOOL),
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

STOP_REPLICA_RESPONSE = Message(
    "StopReplicaResponse",
    api_key=5,
    versions="0-4",
    flexible="2+",
    fields=(
        Field("error_code", "0+", INT16),
        Field(
            "partition_errors",
            "0+",
            Array(
                Struct(
                    "StopReplicaPartitionError",
                    (
                        Field("topic_name", "0+", STRING),
                        Field("partition_index", "0+", INT32),
                        Field("error_code", "0+", INT16),
                    ),
                )
            ),
        ),
    ),
)

StopReplicaRequest = STOP_REPLICA_REQUEST.value_class
StopReplicaPartitionV0 = STOP_REPLICA_REQUEST.class_of("StopReplicaPartitionV0")
StopReplicaTopicV1 = STOP_REPLICA_REQUEST.class_of("StopReplicaTopicV1")
StopReplicaTopicState = STOP_REPLICA_REQUEST.class_of("StopReplicaTopicState")
StopReplicaPartitionState = STOP_REPLICA_REQUEST.class_of("StopReplicaPartitionState")
StopReplicaResponse = STOP_REPLICA_RESPONSE.value_class
StopReplicaPartitionError = STOP_REPLICA_RESPONSE.class_of("StopReplicaPartitionError")
