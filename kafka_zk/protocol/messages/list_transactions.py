"""ListTransactions (key 66, v0-1): the transactions that live on the answering coordinator."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, INT64, STRING, Array, Field, Struct

LIST_TRANSACTIONS_REQUEST = Message(
    "ListTransactionsRequest",
    api_key=66,
    versions="0-1",
    flexible="0+",
    fields=(
        Field("state_filters", "0+", Array(STRING)),
        Field("producer_id_filters", "0+", Array(INT64)),
        Field("duration_filter", "1+", INT64, default=-1),
    ),
)

LIST_TRANSACTIONS_RESPONSE = Message(
    "ListTransactionsResponse",
    api_key=66,
    versions="0-1",
    flexible="0+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field("error_code", "0+", INT16),
        Field("unknown_state_filters", "0+", Array(STRING)),
        Field(
            "transaction_states",
            "0+",
            Array(
                Struct(
                    "TransactionState",
                    (
                        Field("transactional_id", "0+", STRING),
                        Field("producer_id", "0+", INT64),
                        Field("transaction_state", "0+", STRING),
                    ),
                )
            ),
        ),
    ),
)

ListTransactionsRequest = LIST_TRANSACTIONS_REQUEST.value_class
ListTransactionsResponse = LIST_TRANSACTIONS_RESPONSE.value_class
TransactionState = LIST_TRANSACTIONS_RESPONSE.class_of("TransactionState")
