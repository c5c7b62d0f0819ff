# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

LIST_TRANSACTIONS_REQUEST: Message[ListTransactionsRequest]
LIST_TRANSACTIONS_RESPONSE: Message[ListTransactionsResponse]

class ListTransactionsRequest(Value):
    state_filters: list[str]
    producer_id_filters: list[int]
    duration_filter: int
    def __init__(
        self,
        *,
        state_filters: list[str] = ...,
        producer_id_filters: list[int] = ...,
        duration_filter: int = ...,
    ) -> None: ...

class ListTransactionsResponse(Value):
    throttle_time_ms: int
    error_code: int
    unknown_state_filters: list[str]
    transaction_states: list[TransactionState]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        unknown_state_filters: list[str] = ...,
        transaction_states: list[TransactionState] = ...,
    ) -> None: ...

class TransactionState(Value):
    transactional_id: str
    producer_id: int
    transaction_state: str
    def __init__(
        self,
        *,
        transactional_id: str = ...,
        producer_id: int = ...,
        transaction_state: str = ...,
    ) -> None: ...

