# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from uuid import UUID

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import Struct
from kafka_zk.protocol.value import Value

TOPIC_PARTITIONS: Struct
ASSIGNMENT: Struct
CONSUMER_GROUP_DESCRIBE_REQUEST: Message[ConsumerGroupDescribeRequest]
CONSUMER_GROUP_DESCRIBE_RESPONSE: Message[ConsumerGroupDescribeResponse]

class ConsumerGroupDescribeRequest(Value):
    group_ids: list[str]
    include_authorized_operations: bool
    def __init__(
        self,
        *,
        group_ids: list[str] = ...,
        include_authorized_operations: bool = ...,
    ) -> None: ...

class ConsumerGroupDescribeResponse(Value):
    throttle_time_ms: int
    groups: list[DescribedGroup]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        groups: list[DescribedGroup] = ...,
    ) -> None: ...

class DescribedGroup(Value):
    error_code: int
    error_message: str | None
    group_id: str
    group_state: str
    group_epoch: int
    assignment_epoch: int
    assignor_name: str
    members: list[Member]
    authorized_operations: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        group_id: str = ...,
        group_state: str = ...,
        group_epoch: int = ...,
        assignment_epoch: int = ...,
        assignor_name: str = ...,
        members: list[Member] = ...,
        authorized_operations: int = ...,
    ) -> None: ...

class Member(Value):
    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None
    assignment: Assignment
    target_assignment: Assignment
    def __init__(
        self,
        *,
        member_id: str = ...,
        instance_id: str | None = ...,
        rack_id: str | None = ...,
        member_epoch: int = ...,
        client_id: str = ...,
        client_host: str = ...,
        subscribed_topic_names: list[str] = ...,
        subscribed_topic_regex: str | None = ...,
        assignment: Assignment = ...,
        target_assignment: Assignment = ...,
    ) -> None: ...

class Assignment(Value):
    topic_partitions: list[TopicPartitions]
    def __init__(
        self,
        *,
        topic_partitions: list[TopicPartitions] = ...,
    ) -> None: ...

class TopicPartitions(Value):
    topic_id: UUID
    topic_name: str
    partitions: list[int]
    def __init__(
        self,
        *,
        topic_id: UUID = ...,
        topic_name: str = ...,
        partitions: list[int] = ...,
    ) -> None: ...

