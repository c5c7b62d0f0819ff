# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

ELECT_LEADERS_REQUEST: Message[ElectLeadersRequest]
ELECT_LEADERS_RESPONSE: Message[ElectLeadersResponse]

class ElectLeadersRequest(Value):
    election_type: int
    topic_partitions: list[TopicPartitions] | None
    timeout_ms: int
    def __init__(
        self,
        *,
        election_type: int = ...,
        topic_partitions: list[TopicPartitions] | None = ...,
        timeout_ms: int = ...,
    ) -> None: ...

class TopicPartitions(Value):
    topic: str
    partitions: list[int]
    def __init__(
        self,
        *,
        topic: str = ...,
        partitions: list[int] = ...,
    ) -> None: ...

class ElectLeadersResponse(Value):
    throttle_time_ms: int
    error_code: int
    replica_election_results: list[ReplicaElectionResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        replica_election_results: list[ReplicaElectionResult] = ...,
    ) -> None: ...

class ReplicaElectionResult(Value):
    topic: str
    partition_result: list[PartitionResult]
    def __init__(
        self,
        *,
        topic: str = ...,
        partition_result: list[PartitionResult] = ...,
    ) -> None: ...

class PartitionResult(Value):
    partition_id: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        partition_id: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
    ) -> None: ...

