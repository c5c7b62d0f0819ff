# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

CREATE_ACLS_REQUEST: Message[CreateAclsRequest]
CREATE_ACLS_RESPONSE: Message[CreateAclsResponse]

class CreateAclsRequest(Value):
    creations: list[AclCreation]
    def __init__(
        self,
        *,
        creations: list[AclCreation] = ...,
    ) -> None: ...

class AclCreation(Value):
    resource_type: int
    resource_name: str
    resource_pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int
    def __init__(
        self,
        *,
        resource_type: int = ...,
        resource_name: str = ...,
        resource_pattern_type: int = ...,
        principal: str = ...,
        host: str = ...,
        operation: int = ...,
        permission_type: int = ...,
    ) -> None: ...

class CreateAclsResponse(Value):
    throttle_time_ms: int
    results: list[AclCreationResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[AclCreationResult] = ...,
    ) -> None: ...

class AclCreationResult(Value):
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
    ) -> None: ...

