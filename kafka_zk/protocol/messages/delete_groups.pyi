# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

DELETE_GROUPS_REQUEST: Message[DeleteGroupsRequest]
DELETE_GROUPS_RESPONSE: Message[DeleteGroupsResponse]

class DeleteGroupsRequest(Value):
    groups_names: list[str]
    def __init__(
        self,
        *,
        groups_names: list[str] = ...,
    ) -> None: ...

class DeleteGroupsResponse(Value):
    throttle_time_ms: int
    results: list[DeletableGroupResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[DeletableGroupResult] = ...,
    ) -> None: ...

class DeletableGroupResult(Value):
    group_id: str
    error_code: int
    def __init__(
        self,
        *,
        group_id: str = ...,
        error_code: int = ...,
    ) -> None: ...

