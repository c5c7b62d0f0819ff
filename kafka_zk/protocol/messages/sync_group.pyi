# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.types import Buffer
from kafka_zk.protocol.value import Value

SYNC_GROUP_REQUEST: Message[SyncGroupRequest]
SYNC_GROUP_RESPONSE: Message[SyncGroupResponse]

class SyncGroupRequest(Value):
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str | None
    protocol_name: str | None
    assignments: list[SyncGroupRequestAssignment]
    def __init__(
        self,
        *,
        group_id: str = ...,
        generation_id: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        protocol_type: str | None = ...,
        protocol_name: str | None = ...,
        assignments: list[SyncGroupRequestAssignment] = ...,
    ) -> None: ...

class SyncGroupRequestAssignment(Value):
    member_id: str
    assignment: Buffer
    def __init__(
        self,
        *,
        member_id: str = ...,
        assignment: Buffer = ...,
    ) -> None: ...

class SyncGroupResponse(Value):
    throttle_time_ms: int
    error_code: int
    protocol_type: str | None
    protocol_name: str | None
    assignment: Buffer
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        protocol_type: str | None = ...,
        protocol_name: str | None = ...,
        assignment: Buffer = ...,
    ) -> None: ...

