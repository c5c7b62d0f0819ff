# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

DESCRIBE_ACLS_REQUEST: Message[DescribeAclsRequest]
DESCRIBE_ACLS_RESPONSE: Message[DescribeAclsResponse]

class DescribeAclsRequest(Value):
    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int
    def __init__(
        self,
        *,
        resource_type_filter: int = ...,
        resource_name_filter: str | None = ...,
        pattern_type_filter: int = ...,
        principal_filter: str | None = ...,
        host_filter: str | None = ...,
        operation: int = ...,
        permission_type: int = ...,
    ) -> None: ...

class DescribeAclsResponse(Value):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    resources: list[DescribeAclsResource]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        resources: list[DescribeAclsResource] = ...,
    ) -> None: ...

class DescribeAclsResource(Value):
    resource_type: int
    resource_name: str
    pattern_type: int
    acls: list[AclDescription]
    def __init__(
        self,
        *,
        resource_type: int = ...,
        resource_name: str = ...,
        pattern_type: int = ...,
        acls: list[AclDescription] = ...,
    ) -> None: ...

class AclDescription(Value):
    principal: str
    host: str
    operation: int
    permission_type: int
    def __init__(
        self,
        *,
        principal: str = ...,
        host: str = ...,
        operation: int = ...,
        permission_type: int = ...,
    ) -> None: ...

