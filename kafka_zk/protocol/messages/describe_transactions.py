"""DescribeTransactions (key 65, v0): state of transactions by transactional id."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, INT64, STRING, Array, Field, Struct

DESCRIBE_TRANSACTIONS_REQUEST = Message(
    "DescribeTransactionsRequest",
    api_key=65,
    versions="0-0",
    flexible="0+",
    fields=(Field("transactional_ids", "0+", Array(STRING)),),
)

DESCRIBE_TRANSACTIONS_RESPONSE = Message(
    "DescribeTransactionsResponse",
    api_key=65,
    versions="0-0",
    flexible="0+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field(
            "transaction_states",
            "0+",
            Array(
                Struct(
                    "TransactionState",
                    (
                        Field("error_code", "0+", INT16),
                        Field("transactional_id", "0+", STRING),
                        Field("transaction_state", "0+", STRING),
                        Field("transaction_timeout_ms", "0+", INT32),
                        Field("transaction_start_time_ms", "0+", INT64),
                        Field("producer_id", "0+", INT64),
                        Field("producer_epoch", "0+", INT16),
                        Field(
                            "topics",
                            "0+",
                            Array(
                                Struct(
                                    "TopicData",
                                    (
                                        Field("topic", "0+", STRING),
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

DescribeTransactionsRequest = DESCRIBE_TRANSACTIONS_REQUEST.value_class
DescribeTransactionsResponse = DESCRIBE_TRANSACTIONS_RESPONSE.value_class
TransactionState = DESCRIBE_TRANSACTIONS_RESPONSE.class_of("TransactionState")
TopicData = DESCRIBE_TRANSACTIONS_RESPONSE.class_of("TopicData")
