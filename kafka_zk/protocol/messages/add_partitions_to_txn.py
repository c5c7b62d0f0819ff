"""AddPartitionsToTxn (key 24, v0-5): add partitions to a transaction, or (brokers) verify that they are in it."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT16, INT32, INT64, STRING, Array, Field, Struct

ADD_PARTITIONS_TO_TXN_TOPIC = Struct(
    "AddPartitionsToTxnTopic",
    (
        Field("name", "0+", STRING),
        Field("partitions", "0+", Array(INT32)),
    ),
)

ADD_PARTITIONS_TO_TXN_PARTITION_RESULT = Struct(
    "AddPartitionsToTxnPartitionResult",
    (
        Field("partition_index", "0+", INT32),
        Field("partition_error_code", "0+", INT16),
    ),
)

ADD_PARTITIONS_TO_TXN_TOPIC_RESULT = Struct(
    "AddPartitionsToTxnTopicResult",
    (
        Field("name", "0+", STRING),
        Field("results_by_partition", "0+", Array(ADD_PARTITIONS_TO_TXN_PARTITION_RESULT)),
    ),
)

ADD_PARTITIONS_TO_TXN_REQUEST = Message(
    "AddPartitionsToTxnRequest",
    api_key=24,
    versions="0-5",
    flexible="3+",
    fields=(
        Field(
            "transactions",
            "4+",
            Array(
                Struct(
                    "AddPartitionsToTxnTransaction",
                    (
                        Field("transactional_id", "4+", STRING),
                        Field("producer_id", "4+", INT64),
                        Field("producer_epoch", "4+", INT16),
                        Field("verify_only", "4+", BOOL),
                        Field("topics", "4+", Array(ADD_PARTITIONS_TO_TXN_TOPIC)),
                    ),
                )
            ),
        ),
        Field("v3_and_below_transactional_id", "0-3", STRING),
        Field("v3_and_below_producer_id", "0-3", INT64),
        Field("v3_and_below_producer_epoch", "0-3", INT16),
        Field("v3_and_below_topics", "0-3", Array(ADD_PARTITIONS_TO_TXN_TOPIC)),
    ),
)

ADD_PARTITIONS_TO_TXN_RESPONSE = Message(
    "AddPartitionsToTxnResponse",
    api_key=24,
    versions="0-5",
    flexible="3+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field("error_code", "4+", INT16, ignorable=True),
        Field(
            "results_by_transaction",
            "4+",
            Array(
                Struct(
                    "AddPartitionsToTxnResult",
                    (
                        Field("transactional_id", "4+", STRING),
                        Field("topic_results", "4+", Array(ADD_PARTITIONS_TO_TXN_TOPIC_RESULT)),
                    ),
                )
            ),
        ),
        Field("results_by_topic_v3_and_below", "0-3", Array(ADD_PARTITIONS_TO_TXN_TOPIC_RESULT)),
    ),
)

AddPartitionsToTxnRequest = ADD_PARTITIONS_TO_TXN_REQUEST.value_class
AddPartitionsToTxnTransaction = ADD_PARTITIONS_TO_TXN_REQUEST.class_of("AddPartitionsToTxnTransaction")
AddPartitionsToTxnTopic = ADD_PARTITIONS_TO_TXN_REQUEST.class_of("AddPartitionsToTxnTopic")
AddPartitionsToTxnResponse = ADD_PARTITIONS_TO_TXN_RESPONSE.value_class
AddPartitionsToTxnResult = ADD_PARTITIONS_TO_TXN_RESPONSE.class_of("AddPartitionsToTxnResult")
AddPartitionsToTxnTopicResult = ADD_PARTITIONS_TO_TXN_RESPONSE.class_of("AddPartitionsToTxnTopicResult")
AddPartitionsToTxnPartitionResult = ADD_PARTITIONS_TO_TXN_RESPONSE.class_of("AddPartitionsToTxnPartitionResult")
