# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

ALTER_PARTITION_REASSIGNMENTS_REQUEST: Message[AlterPartitionReassignmentsRequest]
ALTER_PARTITION_REASSIGNMENTS_RESPONSE: Message[AlterPartitionReassignmentsResponse]

class AlterPartitionReassignmentsRequest(Value):
    timeout_ms: int
    topics: list[ReassignableTopic]
    def __init__(
        self,
        *,
        timeout_ms: int = ...,
        topics: list[ReassignableTopic] = ...,
    ) -> None: ...

class ReassignableTopic(Value):
    name: str
    partitions: list[ReassignablePartition]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[ReassignablePartition] = ...,
    ) -> None: ...

class ReassignablePartition(Value):
    partition_index: int
    replicas: list[int] | None
    def __init__(
        self,
        *,
        partition_index: int = ...,
        replicas: list[int] | None = ...,
    ) -> None: ...

class AlterPartitionReassignmentsResponse(Value):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    responses: list[ReassignableTopicResponse]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        responses: list[ReassignableTopicResponse] = ...,
    ) -> None: ...

class ReassignableTopicResponse(Value):
    name: str
    partitions: list[ReassignablePartitionResponse]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[ReassignablePartitionResponse] = ...,
    ) -> None: ...

class ReassignablePartitionResponse(Value):
    partition_index: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
    ) -> None: ...

