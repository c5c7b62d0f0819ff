# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from uuid import UUID

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

ALTER_PARTITION_REQUEST: Message[AlterPartitionRequest]
ALTER_PARTITION_RESPONSE: Message[AlterPartitionResponse]

class AlterPartitionRequest(Value):
    broker_id: int
    broker_epoch: int
    topics: list[RequestTopicData]
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        topics: list[RequestTopicData] = ...,
    ) -> None: ...

class RequestTopicData(Value):
    topic_name: str
    topic_id: UUID
    partitions: list[RequestPartitionData]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        topic_id: UUID = ...,
        partitions: list[RequestPartitionData] = ...,
    ) -> None: ...

class RequestPartitionData(Value):
    partition_index: int
    leader_epoch: int
    new_isr: list[int]
    new_isr_with_epochs: list[BrokerState]
    leader_recovery_state: int
    partition_epoch: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        leader_epoch: int = ...,
        new_isr: list[int] = ...,
        new_isr_with_epochs: list[BrokerState] = ...,
        leader_recovery_state: int = ...,
        partition_epoch: int = ...,
    ) -> None: ...

class BrokerState(Value):
    broker_id: int
    broker_epoch: int
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
    ) -> None: ...

class AlterPartitionResponse(Value):
    throttle_time_ms: int
    error_code: int
    topics: list[ResponseTopicData]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        topics: list[ResponseTopicData] = ...,
    ) -> None: ...

class ResponseTopicData(Value):
    topic_name: str
    topic_id: UUID
    partitions: list[ResponsePartitionData]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        topic_id: UUID = ...,
        partitions: list[ResponsePartitionData] = ...,
    ) -> None: ...

class ResponsePartitionData(Value):
    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    isr: list[int]
    leader_recovery_state: int
    partition_epoch: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        leader_id: int = ...,
        leader_epoch: int = ...,
        isr: list[int] = ...,
        leader_recovery_state: int = ...,
        partition_epoch: int = ...,
    ) -> None: ...

