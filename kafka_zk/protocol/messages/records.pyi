# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import Struct
from kafka_zk.protocol.types import Buffer
from kafka_zk.protocol.value import Value

MEMBER_METADATA: Struct
OFFSET_COMMIT_KEY: Message[OffsetCommitKey]
OFFSET_COMMIT_VALUE: Message[OffsetCommitValue]
GROUP_METADATA_KEY: Message[GroupMetadataKey]
GROUP_METADATA_VALUE: Message[GroupMetadataValue]
TRANSACTION_LOG_KEY: Message[TransactionLogKey]
TRANSACTION_LOG_VALUE: Message[TransactionLogValue]

class OffsetCommitKey(Value):
    group: str
    topic: str
    partition: int
    def __init__(
        self,
        *,
        group: str = ...,
        topic: str = ...,
        partition: int = ...,
    ) -> None: ...

class OffsetCommitValue(Value):
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int
    def __init__(
        self,
        *,
        offset: int = ...,
        leader_epoch: int = ...,
        metadata: str = ...,
        commit_timestamp: int = ...,
        expire_timestamp: int = ...,
    ) -> None: ...

class GroupMetadataKey(Value):
    group: str
    def __init__(
        self,
        *,
        group: str = ...,
    ) -> None: ...

class GroupMetadataValue(Value):
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp: int
    members: list[MemberMetadata]
    def __init__(
        self,
        *,
        protocol_type: str = ...,
        generation: int = ...,
        protocol: str | None = ...,
        leader: str | None = ...,
        current_state_timestamp: int = ...,
        members: list[MemberMetadata] = ...,
    ) -> None: ...

class MemberMetadata(Value):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout: int
    session_timeout: int
    subscription: Buffer
    assignment: Buffer
    def __init__(
        self,
        *,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        client_id: str = ...,
        client_host: str = ...,
        rebalance_timeout: int = ...,
        session_timeout: int = ...,
        subscription: Buffer = ...,
        assignment: Buffer = ...,
    ) -> None: ...

class TransactionLogKey(Value):
    transactional_id: str
    def __init__(
        self,
        *,
        transactional_id: str = ...,
    ) -> None: ...

class TransactionLogValue(Value):
    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_status: int
    transaction_partitions: list[PartitionsSchema] | None
    transaction_last_update_timestamp_ms: int
    transaction_start_timestamp_ms: int
    def __init__(
        self,
        *,
        producer_id: int = ...,
        producer_epoch: int = ...,
        transaction_timeout_ms: int = ...,
        transaction_status: int = ...,
        transaction_partitions: list[PartitionsSchema] | None = ...,
        transaction_last_update_timestamp_ms: int = ...,
        transaction_start_timestamp_ms: int = ...,
    ) -> None: ...

class PartitionsSchema(Value):
    topic: str
    partition_ids: list[int]
    def __init__(
        self,
        *,
        topic: str = ...,
        partition_ids: list[int] = ...,
    ) -> None: ...

