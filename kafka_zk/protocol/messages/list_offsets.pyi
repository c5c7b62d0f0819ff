# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

LIST_OFFSETS_REQUEST: Message[ListOffsetsRequest]
LIST_OFFSETS_RESPONSE: Message[ListOffsetsResponse]

class ListOffsetsRequest(Value):
    replica_id: int
    isolation_level: int
    topics: list[ListOffsetsTopic]
    def __init__(
        self,
        *,
        replica_id: int = ...,
        isolation_level: int = ...,
        topics: list[ListOffsetsTopic] = ...,
    ) -> None: ...

class ListOffsetsTopic(Value):
    name: str
    partitions: list[ListOffsetsPartition]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[ListOffsetsPartition] = ...,
    ) -> None: ...

class ListOffsetsPartition(Value):
    partition_index: int
    current_leader_epoch: int
    timestamp: int
    max_num_offsets: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        current_leader_epoch: int = ...,
        timestamp: int = ...,
        max_num_offsets: int = ...,
    ) -> None: ...

class ListOffsetsResponse(Value):
    throttle_time_ms: int
    topics: list[ListOffsetsTopicResponse]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[ListOffsetsTopicResponse] = ...,
    ) -> None: ...

class ListOffsetsTopicResponse(Value):
    name: str
    partitions: list[ListOffsetsPartitionResponse]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[ListOffsetsPartitionResponse] = ...,
    ) -> None: ...

class ListOffsetsPartitionResponse(Value):
    partition_index: int
    error_code: int
    old_style_offsets: list[int]
    timestamp: int
    offset: int
    leader_epoch: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        old_style_offsets: list[int] = ...,
        timestamp: int = ...,
        offset: int = ...,
        leader_epoch: int = ...,
    ) -> None: ...

