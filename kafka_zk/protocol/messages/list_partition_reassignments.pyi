# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

LIST_PARTITION_REASSIGNMENTS_REQUEST: Message[ListPartitionReassignmentsRequest]
LIST_PARTITION_REASSIGNMENTS_RESPONSE: Message[ListPartitionReassignmentsResponse]

class ListPartitionReassignmentsRequest(Value):
    timeout_ms: int
    topics: list[ListPartitionReassignmentsTopics] | None
    def __init__(
        self,
        *,
        timeout_ms: int = ...,
        topics: list[ListPartitionReassignmentsTopics] | None = ...,
    ) -> None: ...

class ListPartitionReassignmentsTopics(Value):
    name: str
    partition_indexes: list[int]
    def __init__(
        self,
        *,
        name: str = ...,
        partition_indexes: list[int] = ...,
    ) -> None: ...

class ListPartitionReassignmentsResponse(Value):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    topics: list[OngoingTopicReassignment]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        topics: list[OngoingTopicReassignment] = ...,
    ) -> None: ...

class OngoingTopicReassignment(Value):
    name: str
    partitions: list[OngoingPartitionReassignment]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[OngoingPartitionReassignment] = ...,
    ) -> None: ...

class OngoingPartitionReassignment(Value):
    partition_index: int
    replicas: list[int]
    adding_replicas: list[int]
    removing_replicas: list[int]
    def __init__(
        self,
        *,
        partition_index: int = ...,
        replicas: list[int] = ...,
        adding_replicas: list[int] = ...,
        removing_replicas: list[int] = ...,
    ) -> None: ...

