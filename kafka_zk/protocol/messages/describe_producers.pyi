# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

DESCRIBE_PRODUCERS_REQUEST: Message[DescribeProducersRequest]
DESCRIBE_PRODUCERS_RESPONSE: Message[DescribeProducersResponse]

class DescribeProducersRequest(Value):
    topics: list[TopicRequest]
    def __init__(
        self,
        *,
        topics: list[TopicRequest] = ...,
    ) -> None: ...

class TopicRequest(Value):
    name: str
    partition_indexes: list[int]
    def __init__(
        self,
        *,
        name: str = ...,
        partition_indexes: list[int] = ...,
    ) -> None: ...

class DescribeProducersResponse(Value):
    throttle_time_ms: int
    topics: list[TopicResponse]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[TopicResponse] = ...,
    ) -> None: ...

class TopicResponse(Value):
    name: str
    partitions: list[PartitionResponse]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[PartitionResponse] = ...,
    ) -> None: ...

class PartitionResponse(Value):
    partition_index: int
    error_code: int
    error_message: str | None
    active_producers: list[ProducerState]
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        active_producers: list[ProducerState] = ...,
    ) -> None: ...

class ProducerState(Value):
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_start_offset: int
    def __init__(
        self,
        *,
        producer_id: int = ...,
        producer_epoch: int = ...,
        last_sequence: int = ...,
        last_timestamp: int = ...,
        coordinator_epoch: int = ...,
        current_txn_start_offset: int = ...,
    ) -> None: ...

