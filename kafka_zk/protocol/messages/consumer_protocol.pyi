# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.types import Buffer
from kafka_zk.protocol.value import Value

CONSUMER_PROTOCOL_SUBSCRIPTION: Message[ConsumerProtocolSubscription]
CONSUMER_PROTOCOL_ASSIGNMENT: Message[ConsumerProtocolAssignment]

class ConsumerProtocolSubscription(Value):
    topics: list[str]
    user_data: Buffer | None
    owned_partitions: list[TopicPartition]
    generation_id: int
    rack_id: str | None
    def __init__(
        self,
        *,
        topics: list[str] = ...,
        user_data: Buffer | None = ...,
        owned_partitions: list[TopicPartition] = ...,
        generation_id: int = ...,
        rack_id: str | None = ...,
    ) -> None: ...

class TopicPartition(Value):
    topic: str
    partitions: list[int]
    def __init__(
        self,
        *,
        topic: str = ...,
        partitions: list[int] = ...,
    ) -> None: ...

class ConsumerProtocolAssignment(Value):
    assigned_partitions: list[TopicPartition]
    user_data: Buffer | None
    def __init__(
        self,
        *,
        assigned_partitions: list[TopicPartition] = ...,
        user_data: Buffer | None = ...,
    ) -> None: ...

