# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.types import Buffer
from kafka_zk.protocol.value import Value

DESCRIBE_GROUPS_REQUEST: Message[DescribeGroupsRequest]
DESCRIBE_GROUPS_RESPONSE: Message[DescribeGroupsResponse]

class DescribeGroupsRequest(Value):
    groups: list[str]
    include_authorized_operations: bool
    def __init__(
        self,
        *,
        groups: list[str] = ...,
        include_authorized_operations: bool = ...,
    ) -> None: ...

class DescribeGroupsResponse(Value):
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
    group_id: str
    group_state: str
    protocol_type: str
    protocol_data: str
    members: list[DescribedGroupMember]
    authorized_operations: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        group_id: str = ...,
        group_state: str = ...,
        protocol_type: str = ...,
        protocol_data: str = ...,
        members: list[DescribedGroupMember] = ...,
        authorized_operations: int = ...,
    ) -> None: ...

class DescribedGroupMember(Value):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: Buffer
    member_assignment: Buffer
    def __init__(
        self,
        *,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        client_id: str = ...,
        client_host: str = ...,
        member_metadata: Buffer = ...,
        member_assignment: Buffer = ...,
    ) -> None: ...

