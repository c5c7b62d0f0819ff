# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

STOP_REPLICA_REQUEST: Message[StopReplicaRequest]
STOP_REPLICA_RESPONSE: Message[StopReplicaResponse]

class StopReplicaRequest(Value):
    controller_id: int
    is_k_raft_controller: bool
    controller_epoch: int
    broker_epoch: int
    delete_partitions: bool
    ungrouped_partitions: list[StopReplicaPartitionV0]
    topics: list[StopReplicaTopicV1]
    topic_states: list[StopReplicaTopicState]
    def __init__(
        self,
        *,
        controller_id: int = ...,
        is_k_raft_controller: bool = ...,
        controller_epoch: int = ...,
        broker_epoch: int = ...,
        delete_partitions: bool = ...,
        ungrouped_partitions: list[StopReplicaPartitionV0] = ...,
        topics: list[StopReplicaTopicV1] = ...,
        topic_states: list[StopReplicaTopicState] = ...,
    ) -> None: ...

class StopReplicaPartitionV0(Value):
    topic_name: str
    partition_index: int
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partition_index: int = ...,
    ) -> None: ...

class StopReplicaTopicV1(Value):
    name: str
    partition_indexes: list[int]
    def __init__(
        self,
        *,
        name: str = ...,
        partition_indexes: list[int] = ...,
    ) -> None: ...

class StopReplicaTopicState(Value):
    topic_name: str
    partition_states: list[StopReplicaPartitionState]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partition_states: list[StopReplicaPartitionState] = ...,
    ) -> None: ...

class StopReplicaPartitionState(Value):
    partition_index: int
    leader_epoch: int
    delete_partition: bool
    def __init__(
        self,
        *,
        partition_index: int = ...,
        leader_epoch: int = ...,
        delete_partition: bool = ...,
    ) -> None: ...

class StopReplicaResponse(Value):
    error_code: int
    partition_errors: list[StopReplicaPartitionError]
    def __init__(
        self,
        *,
        error_code: int = ...,
        partition_errors: list[StopReplicaPartitionError] = ...,
    ) -> None: ...

class StopReplicaPartitionError(Value):
    topic_name: str
    partition_index: int
    error_code: int
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partition_index: int = ...,
        error_code: int = ...,
    ) -> None: ...

