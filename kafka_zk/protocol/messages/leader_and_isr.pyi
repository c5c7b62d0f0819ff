# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from uuid import UUID

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import Struct
from kafka_zk.protocol.value import Value

LEADER_AND_ISR_PARTITION_STATE: Struct
LEADER_AND_ISR_PARTITION_ERROR: Struct
LEADER_AND_ISR_REQUEST: Message[LeaderAndIsrRequest]
LEADER_AND_ISR_RESPONSE: Message[LeaderAndIsrResponse]

class LeaderAndIsrRequest(Value):
    controller_id: int
    is_k_raft_controller: bool
    controller_epoch: int
    broker_epoch: int
    type: int
    ungrouped_partition_states: list[LeaderAndIsrPartitionState]
    topic_states: list[LeaderAndIsrTopicState]
    live_leaders: list[LeaderAndIsrLiveLeader]
    def __init__(
        self,
        *,
        controller_id: int = ...,
        is_k_raft_controller: bool = ...,
        controller_epoch: int = ...,
        broker_epoch: int = ...,
        type: int = ...,
        ungrouped_partition_states: list[LeaderAndIsrPartitionState] = ...,
        topic_states: list[LeaderAndIsrTopicState] = ...,
        live_leaders: list[LeaderAndIsrLiveLeader] = ...,
    ) -> None: ...

class LeaderAndIsrPartitionState(Value):
    topic_name: str
    partition_index: int
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: list[int]
    partition_epoch: int
    replicas: list[int]
    adding_replicas: list[int]
    removing_replicas: list[int]
    is_new: bool
    leader_recovery_state: int
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partition_index: int = ...,
        controller_epoch: int = ...,
        leader: int = ...,
        leader_epoch: int = ...,
        isr: list[int] = ...,
        partition_epoch: int = ...,
        replicas: list[int] = ...,
        adding_replicas: list[int] = ...,
        removing_replicas: list[int] = ...,
        is_new: bool = ...,
        leader_recovery_state: int = ...,
    ) -> None: ...

class LeaderAndIsrTopicState(Value):
    topic_name: str
    topic_id: UUID
    partition_states: list[LeaderAndIsrPartitionState]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        topic_id: UUID = ...,
        partition_states: list[LeaderAndIsrPartitionState] = ...,
    ) -> None: ...

class LeaderAndIsrLiveLeader(Value):
    broker_id: int
    host_name: str
    port: int
    def __init__(
        self,
        *,
        broker_id: int = ...,
        host_name: str = ...,
        port: int = ...,
    ) -> None: ...

class LeaderAndIsrResponse(Value):
    error_code: int
    partition_errors: list[LeaderAndIsrPartitionError]
    topics: list[LeaderAndIsrTopicError]
    def __init__(
        self,
        *,
        error_code: int = ...,
        partition_errors: list[LeaderAndIsrPartitionError] = ...,
        topics: list[LeaderAndIsrTopicError] = ...,
    ) -> None: ...

class LeaderAndIsrPartitionError(Value):
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

class LeaderAndIsrTopicError(Value):
    topic_id: UUID
    partition_errors: list[LeaderAndIsrPartitionError]
    def __init__(
        self,
        *,
        topic_id: UUID = ...,
        partition_errors: list[LeaderAndIsrPartitionError] = ...,
    ) -> None: ...

