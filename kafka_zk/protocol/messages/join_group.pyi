# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.types import Buffer
from kafka_zk.protocol.value import Value

JOIN_GROUP_REQUEST: Message[JoinGroupRequest]
JOIN_GROUP_RESPONSE: Message[JoinGroupResponse]

class JoinGroupRequest(Value):
    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str
    protocols: list[JoinGroupRequestProtocol]
    reason: str | None
    def __init__(
        self,
        *,
        group_id: str = ...,
        session_timeout_ms: int = ...,
        rebalance_timeout_ms: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        protocol_type: str = ...,
        protocols: list[JoinGroupRequestProtocol] = ...,
        reason: str | None = ...,
    ) -> None: ...

class JoinGroupRequestProtocol(Value):
    name: str
    metadata: Buffer
    def __init__(
        self,
        *,
        name: str = ...,
        metadata: Buffer = ...,
    ) -> None: ...

class JoinGroupResponse(Value):
    throttle_time_ms: int
    error_code: int
    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str
    skip_assignment: bool
    member_id: str
    members: list[JoinGroupResponseMember]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        generation_id: int = ...,
        protocol_type: str | None = ...,
        protocol_name: str | None = ...,
        leader: str = ...,
        skip_assignment: bool = ...,
        member_id: str = ...,
        members: list[JoinGroupResponseMember] = ...,
    ) -> None: ...

class JoinGroupResponseMember(Value):
    member_id: str
    group_instance_id: str | None
    metadata: Buffer
    def __init__(
        self,
        *,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        metadata: Buffer = ...,
    ) -> None: ...

