"""LeaderAndIsr (key 4, v0-7): the controller tells a broker which partitions it leads or follows."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT8, INT16, INT32, INT64, STRING, UUID, Array, Field, Struct

LEADER_AND_ISR_PARTITION_STATE = Struct(
    "LeaderAndIsrPartitionState",
    (
        Field("topic_name", "0-1", STRING, ignorable=True),
        Field("partition_index", "0+", INT32),
        Field("controller_epoch", "0+", INT32),
        Field("leader", "0+", INT32),
        Field("leader_epoch", "0+", INT32),
        Field("isr", "0+", Array(INT32)),
        Field("partition_epoch", "0+", INT32),
        Field("replicas", "0+", Array(INT32)),
        Field("adding_replicas", "3+", Array(INT32), ignorable=True),
        Field("removing_replicas", "3+", Array(INT32), ignorable=True),
        Field("is_new", "1+", BOOL, ignorable=True),
        Field("leader_recovery_state", "6+", INT8),
    ),
)

LEADER_AND_ISR_PARTITION_ERROR = Struct(
    "LeaderAndIsrPartitionError",
    (
        Field("topic_name", "0-4", STRING, ignorable=True),
        Field("partition_index", "0+", INT32),
        Field("error_code", "0+", INT16),
    ),
)

LEADER_AND_ISR_REQUEST = Message(
    "LeaderAndIsrRequest",
    api_key=4,
    versions="0-7",
    flexible="4+",
    fields=(
        Field("controller_id", "0+", INT32),
        Field("is_k_raft_controller", "7+", BOOL),
        Field("controller_epoch", "0+", INT32),
        Field("broker_epoch", "2+", INT64, default=-1, ignorable=True),
        Field("type", "5+", INT8),
        Field("ungrouped_partition_states", "0-1", Array(LEADER_AND_ISR_PARTITION_STATE)),
        Field(
            "topic_states",
            "2+",
            Array(
                Struct(
                    "LeaderAndIsrTopicState",
                    (
                        Field("topic_name", "2+", STRING),
                        Field("topic_id", "5+", UUID, ignorable=True),
                        Field("partition_states", "2+", Array(LEADER_AND_ISR_PARTITION_STATE)),
                    ),
                )
            ),
        ),
        Field(
            "live_leaders",
            "0+",
            Array(
                Struct(
                    "LeaderAndIsrLiveLeader",
                    (
                        Field("broker_id", "0+", INT32),
                        Field("host_name", "0+", STRING),
                        Field("port", "0+", INT32),
                    ),
                )
            ),
        ),
    ),
)

LEADER_AND_ISR_RESPONSE = Message(
    "LeaderAndIsrResponse",
    api_key=4,
    versions="0-7",
    flexible="4+",
    fields=(
        Field("error_code", "0+", INT16),
        Field("partition_errors", "0-4", Array(LEADER_AND_ISR_PARTITION_ERROR)),
        Field(
            "topics",
            "5+",
            Array(
                Struct(
                    "LeaderAndIsrTopicError",
                    (
                        Field("topic_id", "5+", UUID),
                        Field("partition_errors", "5+", Array(LEADER_AND_ISR_PARTITION_ERROR)),
                    ),
                )
            ),
        ),
    ),
)

LeaderAndIsrRequest = LEADER_AND_ISR_REQUEST.value_class
LeaderAndIsrPartitionState = LEADER_AND_ISR_REQUEST.class_of("LeaderAndIsrPartitionState")
LeaderAndIsrTopicState = LEADER_AND_ISR_REQUEST.class_of("LeaderAndIsrTopicState")
LeaderAndIsrLiveLeader = LEADER_AND_ISR_REQUEST.class_of("LeaderAndIsrLiveLeader")
LeaderAndIsrResponse = LEADER_AND_ISR_RESPONSE.value_class
LeaderAndIsrPartitionError = LEADER_AND_ISR_RESPONSE.class_of("LeaderAndIsrPartitionError")
LeaderAndIsrTopicError = LEADER_AND_ISR_RESPONSE.class_of("LeaderAndIsrTopicError")
