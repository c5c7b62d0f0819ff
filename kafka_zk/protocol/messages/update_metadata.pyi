# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from uuid import UUID

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import Struct
from kafka_zk.protocol.value import Value

UPDATE_METADATA_PARTITION_STATE: Struct
UPDATE_METADATA_REQUEST: Message[UpdateMetadataRequest]
UPDATE_METADATA_RESPONSE: Message[UpdateMetadataResponse]

class UpdateMetadataRequest(Value):
    controller_id: int
    is_k_raft_controller: bool
    type: int
    controller_epoch: int
    broker_epoch: int
    ungrouped_partition_states: list[UpdateMetadataPartitionState]
    topic_states: list[UpdateMetadataTopicState]
    live_brokers: list[UpdateMetadataBroker]
    def __init__(
        self,
        *,
        controller_id: int = ...,
        is_k_raft_controller: bool = ...,
        type: int = ...,
        controller_epoch: int = ...,
        broker_epoch: int = ...,
        ungrouped_partition_states: list[UpdateMetadataPartitionState] = ...,
        topic_states: list[UpdateMetadataTopicState] = ...,
        live_brokers: list[UpdateMetadataBroker] = ...,
    ) -> None: ...

class UpdateMetadataPartitionState(Value):
    topic_name: str
    partition_index: int
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: list[int]
    zk_version: int
    replicas: list[int]
    offline_replicas: list[int]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partition_index: int = ...,
        controller_epoch: int = ...,
        leader: int = ...,
        leader_epoch: int = ...,
        isr: list[int] = ...,
        zk_version: int = ...,
        replicas: list[int] = ...,
        offline_replicas: list[int] = ...,
    ) -> None: ...

class UpdateMetadataTopicState(Value):
    topic_name: str
    topic_id: UUID
    partition_states: list[UpdateMetadataPartitionState]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        topic_id: UUID = ...,
        partition_states: list[UpdateMetadataPartitionState] = ...,
    ) -> None: ...

class UpdateMetadataBroker(Value):
    id: int
    v0_host: str
    v0_port: int
    endpoints: list[UpdateMetadataEndpoint]
    rack: str | None
    def __init__(
        self,
        *,
        id: int = ...,
        v0_host: str = ...,
        v0_port: int = ...,
        endpoints: list[UpdateMetadataEndpoint] = ...,
        rack: str | None = ...,
    ) -> None: ...

class UpdateMetadataEndpoint(Value):
    port: int
    host: str
    listener: str
    security_protocol: int
    def __init__(
        self,
        *,
        port: int = ...,
        host: str = ...,
        listener: str = ...,
        security_protocol: int = ...,
    ) -> None: ...

class UpdateMetadataResponse(Value):
    error_code: int
    def __init__(
        self,
        *,
        error_code: int = ...,
    ) -> None: ...

