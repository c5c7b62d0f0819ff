# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.types import Buffer
from kafka_zk.protocol.value import Value

PRODUCE_REQUEST: Message[ProduceRequest]
PRODUCE_RESPONSE: Message[ProduceResponse]

class ProduceRequest(Value):
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topic_data: list[TopicProduceData]
    def __init__(
        self,
        *,
        transactional_id: str | None = ...,
        acks: int = ...,
        timeout_ms: int = ...,
        topic_data: list[TopicProduceData] = ...,
    ) -> None: ...

class TopicProduceData(Value):
    name: str
    partition_data: list[PartitionProduceData]
    def __init__(
        self,
        *,
        name: str = ...,
        partition_data: list[PartitionProduceData] = ...,
    ) -> None: ...

class PartitionProduceData(Value):
    index: int
    records: Buffer | None
    def __init__(
        self,
        *,
        index: int = ...,
        records: Buffer | None = ...,
    ) -> None: ...

class ProduceResponse(Value):
    responses: list[TopicProduceResponse]
    throttle_time_ms: int
    node_endpoints: list[NodeEndpoint]
    def __init__(
        self,
        *,
        responses: list[TopicProduceResponse] = ...,
        throttle_time_ms: int = ...,
        node_endpoints: list[NodeEndpoint] = ...,
    ) -> None: ...

class TopicProduceResponse(Value):
    name: str
    partition_responses: list[PartitionProduceResponse]
    def __init__(
        self,
        *,
        name: str = ...,
        partition_responses: list[PartitionProduceResponse] = ...,
    ) -> None: ...

class PartitionProduceResponse(Value):
    index: int
    error_code: int
    base_offset: int
    log_append_time_ms: int
    log_start_offset: int
    record_errors: list[BatchIndexAndErrorMessage]
    error_message: str | None
    current_leader: LeaderIdAndEpoch
    def __init__(
        self,
        *,
        index: int = ...,
        error_code: int = ...,
        base_offset: int = ...,
        log_append_time_ms: int = ...,
        log_start_offset: int = ...,
        record_errors: list[BatchIndexAndErrorMessage] = ...,
        error_message: str | None = ...,
        current_leader: LeaderIdAndEpoch = ...,
    ) -> None: ...

class BatchIndexAndErrorMessage(Value):
    batch_index: int
    batch_index_error_message: str | None
    def __init__(
        self,
        *,
        batch_index: int = ...,
        batch_index_error_message: str | None = ...,
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

