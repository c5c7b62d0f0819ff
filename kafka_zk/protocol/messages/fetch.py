"""Fetch (key 1, v0-17): consumers and followers read record batches; incremental sessions (KIP-227)."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT8, INT16, INT32, INT64, RECORDS, STRING, UUID, Array, Field, Struct

FETCH_REQUEST = Message(
    "FetchRequest",
    api_key=1,
    versions="0-17",
    flexible="12+",
    fields=(
        Field("cluster_id", "12+", STRING, nullable="12+", default=None, tag=0, ignorable=True),
        Field("replica_id", "0-14", INT32, default=-1),
        Field(
            "replica_state",
            "15+",
            Struct(
                "ReplicaState",
                (
                    Field("replica_id", "15+", INT32, default=-1),
                    Field("replica_epoch", "15+", INT64, default=-1),
                ),
            ),
            tag=1,
        ),
        Field("max_wait_ms", "0+", INT32),
        Field("min_bytes", "0+", INT32),
        Field("max_bytes", "3+", INT32, default=2**31 - 1, ignorable=True),
        Field("isolation_level", "4+", INT8, ignorable=True),
        Field("session_id", "7+", INT32, ignorable=True),
        Field("session_epoch", "7+", INT32, default=-1, ignorable=True),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "FetchTopic",
                    (
                        Field("topic", "0-12", STRING, ignorable=True),
                        Field("topic_id", "13+", UUID, ignorable=True),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "FetchPartition",
                                    (
                                        Field("partition", "0+", INT32),
                                        Field("current_leader_epoch", "9+", INT32, default=-1, ignorable=True),
                                        Field("fetch_offset", "0+", INT64),
                                        Field("last_fetched_epoch", "12+", INT32, default=-1),
                                        Field("log_start_offset", "5+", INT64, default=-1, ignorable=True),
                                        Field("partition_max_bytes", "0+", INT32),
                                        Field("replica_directory_id", "17+", UUID, tag=0, ignorable=True),
                                    ),
                                )
                            ),
                        ),
                    ),
                )
            ),
        ),
        Field(
            "forgotten_topics_data",
            "7+",
            Array(
                Struct(
                    "ForgottenTopic",
                    (
                        Field("topic", "7-12", STRING, ignorable=True),
                        Field("topic_id", "13+", UUID, ignorable=True),
                        Field("partitions", "7+", Array(INT32)),
                    ),
                )
            ),
        ),
        Field("rack_id", "11+", STRING, ignorable=True),
    ),
)

FETCH_RESPONSE = Message(
    "FetchResponse",
    api_key=1,
    versions="0-17",
    flexible="12+",
    fields=(
        Field("throttle_time_ms", "1+", INT32, ignorable=True),
        Field("error_code", "7+", INT16, ignorable=True),
        Field("session_id", "7+", INT32),
        Field(
            "responses",
            "0+",
            Array(
                Struct(
                    "FetchableTopicResponse",
                    (
                        Field("topic", "0-12", STRING, ignorable=True),
                        Field("topic_id", "13+", UUID, ignorable=True),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "PartitionData",
                                    (
                                        Field("partition_index", "0+", INT32),
                                        Field("error_code", "0+", INT16),
                                        Field("high_watermark", "0+", INT64),
                                        Field("last_stable_offset", "4+", INT64, default=-1, ignorable=True),
                                        Field("log_start_offset", "5+", INT64, default=-1, ignorable=True),
                                        Field(
                                            "diverging_epoch",
                                            "12+",
                                            Struct(
                                                "EpochEndOffset",
                                                (
                                                    Field("epoch", "12+", INT32, default=-1),
                                                    Field("end_offset", "12+", INT64, default=-1),
                                                ),
                                            ),
                                            tag=0,
                                        ),
                                        Field(
                                            "current_leader",
                                            "12+",
                                            Struct(
                                                "LeaderIdAndEpoch",
                                                (
                                                    Field("leader_id", "12+", INT32, default=-1),
                                                    Field("leader_epoch", "12+", INT32, default=-1),
                                                ),
                                            ),
                                            tag=1,
                                        ),
                                        Field(
                                            "snapshot_id",
                                            "12+",
                                            Struct(
                                                "SnapshotId",
                                                (
                                                    Field("end_offset", "0+", INT64, default=-1),
                                                    Field("epoch", "0+", INT32, default=-1),
                                                ),
                                            ),
                                            tag=2,
                                        ),
                                        Field(
                                            "aborted_transactions",
                                            "4+",
                                            Array(
                                                Struct(
                                                    "AbortedTransaction",
                                                    (
                                                        Field("producer_id", "4+", INT64),
                                                        Field("first_offset", "4+", INT64),
                                                    ),
                                                )
                                            ),
                                            nullable="4+",
                                            ignorable=True,
                                        ),
                                        Field("preferred_read_replica", "11+", INT32, default=-1),
                                        Field("records", "0+", RECORDS, nullable="0+"),
                                    ),
                                )
                            ),
                        ),
                    ),
                )
            ),
        ),
        Field(
            "node_endpoints",
            "16+",
            Array(
                Struct(
                    "NodeEndpoint",
                    (
                        Field("node_id", "16+", INT32),
                        Field("host", "16+", STRING),
                        Field("port", "16+", INT32),
                        Field("rack", "16+", STRING, nullable="16+", default=None),
                    ),
                )
            ),
            tag=0,
        ),
    ),
)

FetchRequest = FETCH_REQUEST.value_class
ReplicaState = FETCH_REQUEST.class_of("ReplicaState")
FetchTopic = FETCH_REQUEST.class_of("FetchTopic")
FetchPartition = FETCH_REQUEST.class_of("FetchPartition")
ForgottenTopic = FETCH_REQUEST.class_of("ForgottenTopic")
FetchResponse = FETCH_RESPONSE.value_class
FetchableTopicResponse = FETCH_RESPONSE.class_of("FetchableTopicResponse")
PartitionData = FETCH_RESPONSE.class_of("PartitionData")
EpochEndOffset = FETCH_RESPONSE.class_of("EpochEndOffset")
LeaderIdAndEpoch = FETCH_RESPONSE.class_of("LeaderIdAndEpoch")
SnapshotId = FETCH_RESPONSE.class_of("SnapshotId")
AbortedTransaction = FETCH_RESPONSE.class_of("AbortedTransaction")
NodeEndpoint = FETCH_RESPONSE.class_of("NodeEndpoint")
