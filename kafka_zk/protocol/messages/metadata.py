"""Metadata (key 3, v0-12): which topics, partitions, leaders and brokers there are."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT16, INT32, STRING, UUID, Array, Field, Struct

METADATA_REQUEST = Message(
    "MetadataRequest",
    api_key=3,
    versions="0-12",
    flexible="9+",
    fields=(
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "MetadataRequestTopic",
                    (
                        Field("topic_id", "10+", UUID, ignorable=True),
                        Field("name", "0+", STRING, nullable="10+"),
                    ),
                )
            ),
            nullable="1+",
        ),
        Field("allow_auto_topic_creation", "4+", BOOL, default=True),
        Field("include_cluster_authorized_operations", "8-10", BOOL),
        Field("include_topic_authorized_operations", "8+", BOOL),
    ),
)

METADATA_RESPONSE = Message(
    "MetadataResponse",
    api_key=3,
    versions="0-12",
    flexible="9+",
    fields=(
        Field("throttle_time_ms", "3+", INT32, ignorable=True),
        Field(
            "brokers",
            "0+",
            Array(
                Struct(
                    "MetadataResponseBroker",
                    (
                        Field("node_id", "0+", INT32),
                        Field("host", "0+", STRING),
                        Field("port", "0+", INT32),
                        Field("rack", "1+", STRING, nullable="1+", default=None, ignorable=True),
                    ),
                )
            ),
        ),
        Field("cluster_id", "2+", STRING, nullable="2+", default=None, ignorable=True),
        Field("controller_id", "1+", INT32, default=-1, ignorable=True),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "MetadataResponseTopic",
                    (
                        Field("error_code", "0+", INT16),
                        Field("name", "0+", STRING, nullable="12+"),
                        Field("topic_id", "10+", UUID, ignorable=True),
                        Field("is_internal", "1+", BOOL, ignorable=True),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "MetadataResponsePartition",
                                    (
                                        Field("error_code", "0+", INT16),
                                        Field("partition_index", "0+", INT32),
                                        Field("leader_id", "0+", INT32),
                                        Field("leader_epoch", "7+", INT32, default=-1, ignorable=True),
                                        Field("replica_nodes", "0+", Array(INT32)),
                                        Field("isr_nodes", "0+", Array(INT32)),
                                        Field("offline_replicas", "5+", Array(INT32), ignorable=True),
                                    ),
                                )
                            ),
                        ),
                        Field("topic_authorized_operations", "8+", INT32, default=-(2**31)),
                    ),
                )
            ),
        ),
        Field("cluster_authorized_operations", "8-10", INT32, default=-(2**31)),
    ),
)

MetadataRequest = METADATA_REQUEST.value_class
MetadataRequestTopic = METADATA_REQUEST.class_of("MetadataRequestTopic")
MetadataResponse = METADATA_RESPONSE.value_class
MetadataResponseBroker = METADATA_RESPONSE.class_of("MetadataResponseBroker")
MetadataResponseTopic = METADATA_RESPONSE.class_of("MetadataResponseTopic")
MetadataResponsePartition = METADATA_RESPONSE.class_of("MetadataResponsePartition")
