"""UpdateMetadata (key 6, v0-8): the controller replaces parts of a broker's picture of the cluster."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT8, INT16, INT32, INT64, STRING, UUID, Array, Field, Struct

UPDATE_METADATA_PARTITION_STATE = Struct(
    "UpdateMetadataPartitionState",
    (
        Field("topic_name", "0-4", STRING, ignorable=True),
        Field("partition_index", "0+", INT32),
        Field("controller_epoch", "0+", INT32),
        Field("leader", "0+", INT32),
        Field("leader_epoch", "0+", INT32),
        Field("isr", "0+", Array(INT32)),
        Field("zk_version", "0+", INT32),
        Field("replicas", "0+", Array(INT32)),
        Field("offline_replicas", "4+", Array(INT32), ignorable=True),
    ),
)

UPDATE_METADATA_REQUEST = Message(
    "UpdateMetadataRequest",
    api_key=6,
    versions="0-8",
    flexible="6+",
    fields=(
        Field("controller_id", "0+", INT32),
        Field("is_k_raft_controller", "8+", BOOL),
        Field("type", "8+", INT8, tag=0),
        Field("controller_epoch", "0+", INT32),
        Field("broker_epoch", "5+", INT64, default=-1, ignorable=True),
        Field("ungrouped_partition_states", "0-4", Array(UPDATE_METADATA_PARTITION_STATE)),
        Field(
            "topic_states",
            "5+",
            Array(
                Struct(
                    "UpdateMetadataTopicState",
                    (
                        Field("topic_name", "5+", STRING),
                        Field("topic_id", "7+", UUID, ignorable=True),
                        Field("partition_states", "5+", Array(UPDATE_METADATA_PARTITION_STATE)),
                    ),
                )
            ),
        ),
        Field(
            "live_brokers",
            "0+",
            Array(
                Struct(
                    "UpdateMetadataBroker",
                    (
                        Field("id", "0+", INT32),
                        Field("v0_host", "0", STRING, ignorable=True),
                        Field("v0_port", "0", INT32, ignorable=True),
                        Field(
                            "endpoints",
                            "1+",
                            Array(
                                Struct(
                                    "UpdateMetadataEndpoint",
                                    (
                                        Field("port", "1+", INT32),
                                        Field("host", "1+", STRING),
                                        Field("listener", "3+", STRING, ignorable=True),
                                        Field("security_protocol", "1+", INT16),
                                    ),
                                )
                            ),
                            ignorable=True,
                        ),
                        Field("rack", "2+", STRING, nullable="0+", ignorable=True),
                    ),
                )
            ),
        ),
    ),
)

UPDATE_METADATA_RESPONSE = Message(
    "UpdateMetadataResponse",
    api_key=6,
    versions="0-8",
    flexible="6+",
    fields=(Field("error_code", "0+", INT16),),
)

UpdateMetadataRequest = UPDATE_METADATA_REQUEST.value_class
UpdateMetadataPartitionState = UPDATE_METADATA_REQUEST.class_of("UpdateMetadataPartitionState")
UpdateMetadataTopicState = UPDATE_METADATA_REQUEST.class_of("UpdateMetadataTopicState")
UpdateMetadataBroker = UPDATE_METADATA_REQUEST.class_of("UpdateMetadataBroker")
UpdateMetadataEndpoint = UPDATE_METADATA_REQUEST.class_of("UpdateMetadataEndpoint")
UpdateMetadataResponse = UPDATE_METADATA_RESPONSE.value_class
