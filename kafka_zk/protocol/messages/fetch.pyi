# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from uuid import UUID

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.types import Records
from kafka_zk.protocol.value import Value

FETCH_REQUEST: Message[FetchRequest]
FETCH_RESPONSE: Message[FetchResponse]

class FetchRequest(Value):
    cluster_id: str | None
    replica_id: int
    replica_state: ReplicaState
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten_topics_data: list[ForgottenTopic]
    rack_id: str
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        replica_id: int = ...,
        replica_state: ReplicaState = ...,
        max_wait_ms: int = ...,
        min_bytes: int = ...,
        max_bytes: int = ...,
        isolation_level: int = ...,
        session_id: int = ...,
        session_epoch: int = ...,
        topics: list[FetchTopic] = ...,
        forgotten_topics_data: list[ForgottenTopic] = ...,
        rack_id: str = ...,
    ) -> None: ...

class ReplicaState(Value):
    replica_id: int
    replica_epoch: int
    def __init__(
        self,
        *,
        replica_id: int = ...,
        replica_epoch: int = ...,
    ) -> None: ...

class FetchTopic(Value):
    topic: str
    topic_id: UUID
    partitions: list[FetchPartition]
    def __init__(
        self,
        *,
        topic: str = ...,
        topic_id: UUID = ...,
        partitions: list[FetchPartition] = ...,
    ) -> None: ...

class FetchPartition(Value):
    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    partition_max_bytes: int
    replica_directory_id: UUID
    def __init__(
        self,
        *,
        partition: int = ...,
        current_leader_epoch: int = ...,
        fetch_offset: int = ...,
        last_fetched_epoch: int = ...,
        log_start_offset: int = ...,
        partition_max_bytes: int = ...,
        replica_directory_id: UUID = ...,
    ) -> None: ...

class ForgottenTopic(Value):
    topic: str
    topic_id: UUID
    partitions: list[int]
    def __init__(
        self,
        *,
        topic: str = ...,
        topic_id: UUID = ...,
        partitions: list[int] = ...,
    ) -> None: ...

class FetchResponse(Value):
    throttle_time_ms: int
    error_code: int
    session_id: int
    responses: list[FetchableTopicResponse]
    node_endpoints: list[NodeEndpoint]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        session_id: int = ...,
        responses: list[FetchableTopicResponse] = ...,
        node_endpoints: list[NodeEndpoint] = ...,
    ) -> None: ...

class FetchableTopicResponse(Value):
    topic: str
    topic_id: UUID
    partitions: list[PartitionData]
    def __init__(
        self,
        *,
        topic: str = ...,
        topic_id: UUID = ...,
        partitions: list[PartitionData] = ...,
    ) -> None: ...

class PartitionData(Value):
    partition_index: int
    error_code: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    diverging_epoch: EpochEndOffset
    current_leader: LeaderIdAndEpoch
    snapshot_id: SnapshotId
    aborted_transactions: list[AbortedTransaction] | None
    preferred_read_replica: int
    records: Records | None
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        high_watermark: int = ...,
        last_stable_offset: int = ...,
        log_start_offset: int = ...,
        diverging_epoch: EpochEndOffset = ...,
        current_leader: LeaderIdAndEpoch = ...,
        snapshot_id: SnapshotId = ...,
        aborted_transactions: list[AbortedTransaction] | None = ...,
        preferred_read_replica: int = ...,
        records: Records | None = ...,
    ) -> None: ...

class EpochEndOffset(Value):
    epoch: int
    end_offset: int
    def __init__(
        self,
        *,
        epoch: int = ...,
        end_offset: int = ...,
    ) -> None: ...

class LeaderIdAndEpoch(Value):
    leader_id: int
    leader_epoch: int
    def __init__(
        self,
        *,
        leader_id: int = ...,
        leader_epoch: int = ...,
    ) -> None: ...

class SnapshotId(Value):
    end_offset: int
    epoch: int
    def __init__(
        self,
        *,
        end_offset: int = ...,
        epoch: int = ...,
    ) -> None: ...

class AbortedTransaction(Value):
    producer_id: int
    first_offset: int
    def __init__(
        self,
        *,
        producer_id: int = ...,
        first_offset: int = ...,
    ) -> None: ...

class NodeEndpoint(Value):
    node_id: int
    host: str
    port: int
    rack: str | None
    def __init__(
        self,
        *,
        node_id: int = ...,
        host: str = ...,
        port: int = ...,
        rack: str | None = ...,
    ) -> None: ...

