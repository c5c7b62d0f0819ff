# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

OFFSET_FOR_LEADER_EPOCH_REQUEST: Message[OffsetForLeaderEpochRequest]
OFFSET_FOR_LEADER_EPOCH_RESPONSE: Message[OffsetForLeaderEpochResponse]

class OffsetForLeaderEpochRequest(Value):
    replica_id: int
    topics: list[OffsetForLeaderTopic]
    def __init__(
        self,
        *,
        replica_id: int = ...,
        topics: list[OffsetForLeaderTopic] = ...,
    ) -> None: ...

class OffsetForLeaderTopic(Value):
    topic: str
    partitions: list[OffsetForLeaderPartition]
    def __init__(
        self,
        *,
        topic: str = ...,
        partitions: list[OffsetForLeaderPartition] = ...,
    ) -> None: ...

class OffsetForLeaderPartition(Value):
    partition: int
    current_leader_epoch: int
    leader_epoch: int
    def __init__(
        self,
        *,
        partition: int = ...,
        current_leader_epoch: int = ...,
        leader_epoch: int = ...,
    ) -> None: ...

class OffsetForLeaderEpochResponse(Value):
    throttle_time_ms: int
    topics: list[OffsetForLeaderTopicResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[OffsetForLeaderTopicResult] = ...,
    ) -> None: ...

class OffsetForLeaderTopicResult(Value):
    topic: str
    partitions: list[EpochEndOffset]
    def __init__(
        self,
        *,
        topic: str = ...,
        partitions: list[EpochEndOffset] = ...,
    ) -> None: ...

class EpochEndOffset(Value):
    error_code: int
    partition: int
    leader_epoch: int
    end_offset: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        partition: int = ...,
        leader_epoch: int = ...,
        end_offset: int = ...,
    ) -> None: ...

