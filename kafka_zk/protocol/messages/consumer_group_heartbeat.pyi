# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from uuid import UUID

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import Struct
from kafka_zk.protocol.value import Value

TOPIC_PARTITIONS: Struct
CONSUMER_GROUP_HEARTBEAT_REQUEST: Message[ConsumerGroupHeartbeatRequest]
CONSUMER_GROUP_HEARTBEAT_RESPONSE: Message[ConsumerGroupHeartbeatResponse]

class ConsumerGroupHeartbeatRequest(Value):
    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    subscribed_topic_names: list[str] | None
    server_assignor: str | None
    topic_partitions: list[TopicPartitions] | None
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        member_epoch: int = ...,
        instance_id: str | None = ...,
        rack_id: str | None = ...,
        rebalance_timeout_ms: int = ...,
        subscribed_topic_names: list[str] | None = ...,
        server_assignor: str | None = ...,
        topic_partitions: list[TopicPartitions] | None = ...,
    ) -> None: ...

class TopicPartitions(Value):
    topic_id: UUID
    partitions: list[int]
    def __init__(
        self,
        *,
        topic_id: UUID = ...,
        partitions: list[int] = ...,
    ) -> None: ...

class ConsumerGroupHeartbeatResponse(Value):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    member_id: str | None
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: Assignment | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        member_id: str | None = ...,
        member_epoch: int = ...,
        heartbeat_interval_ms: int = ...,
        assignment: Assignment | None = ...,
    ) -> None: ...

class Assignment(Value):
    topic_partitions: list[TopicPartitions]
    def __init__(
        self,
        *,
        topic_partitions: list[TopicPartitions] = ...,
    ) -> None: ...

