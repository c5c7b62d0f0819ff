# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

TXN_OFFSET_COMMIT_REQUEST: Message[TxnOffsetCommitRequest]
TXN_OFFSET_COMMIT_RESPONSE: Message[TxnOffsetCommitResponse]

class TxnOffsetCommitRequest(Value):
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    generation_id: int
    member_id: str
    group_instance_id: str | None
    topics: list[TxnOffsetCommitRequestTopic]
    def __init__(
        self,
        *,
        transactional_id: str = ...,
        group_id: str = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        generation_id: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        topics: list[TxnOffsetCommitRequestTopic] = ...,
    ) -> None: ...

class TxnOffsetCommitRequestTopic(Value):
    name: str
    partitions: list[TxnOffsetCommitRequestPartition]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[TxnOffsetCommitRequestPartition] = ...,
    ) -> None: ...

class TxnOffsetCommitRequestPartition(Value):
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None
    def __init__(
        self,
        *,
        partition_index: int = ...,
        committed_offset: int = ...,
        committed_leader_epoch: int = ...,
        committed_metadata: str | None = ...,
    ) -> None: ...

class TxnOffsetCommitResponse(Value):
    throttle_time_ms: int
    topics: list[TxnOffsetCommitResponseTopic]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[TxnOffsetCommitResponseTopic] = ...,
    ) -> None: ...

class TxnOffsetCommitResponseTopic(Value):
    name: str
    partitions: list[TxnOffsetCommitResponsePartition]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[TxnOffsetCommitResponsePartition] = ...,
    ) -> None: ...

class TxnOffsetCommitResponsePartition(Value):
    partition_index: int
    error_code: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
    ) -> None: ...

