# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

DESCRIBE_USER_SCRAM_CREDENTIALS_REQUEST: Message[DescribeUserScramCredentialsRequest]
DESCRIBE_USER_SCRAM_CREDENTIALS_RESPONSE: Message[DescribeUserScramCredentialsResponse]

class DescribeUserScramCredentialsRequest(Value):
    users: list[UserName] | None
    def __init__(
        self,
        *,
        users: list[UserName] | None = ...,
    ) -> None: ...

class UserName(Value):
    name: str
    def __init__(
        self,
        *,
        name: str = ...,
    ) -> None: ...

class DescribeUserScramCredentialsResponse(Value):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: list[DescribeUserScramCredentialsResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        results: list[DescribeUserScramCredentialsResult] = ...,
    ) -> None: ...

class DescribeUserScramCredentialsResult(Value):
    user: str
    error_code: int
    error_message: str | None
    credential_infos: list[CredentialInfo]
    def __init__(
        self,
        *,
        user: str = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        credential_infos: list[CredentialInfo] = ...,
    ) -> None: ...

class CredentialInfo(Value):
    mechanism: int
    iterations: int
    def __init__(
        self,
        *,
        mechanism: int = ...,
        iterations: int = ...,
    ) -> None: ...

