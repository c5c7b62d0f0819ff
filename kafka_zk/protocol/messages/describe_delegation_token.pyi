# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.types import Buffer
from kafka_zk.protocol.value import Value

DESCRIBE_DELEGATION_TOKEN_REQUEST: Message[DescribeDelegationTokenRequest]
DESCRIBE_DELEGATION_TOKEN_RESPONSE: Message[DescribeDelegationTokenResponse]

class DescribeDelegationTokenRequest(Value):
    owners: list[DescribeDelegationTokenOwner] | None
    def __init__(
        self,
        *,
        owners: list[DescribeDelegationTokenOwner] | None = ...,
    ) -> None: ...

class DescribeDelegationTokenOwner(Value):
    principal_type: str
    principal_name: str
    def __init__(
        self,
        *,
        principal_type: str = ...,
        principal_name: str = ...,
    ) -> None: ...

class DescribeDelegationTokenResponse(Value):
    error_code: int
    tokens: list[DescribedDelegationToken]
    throttle_time_ms: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        tokens: list[DescribedDelegationToken] = ...,
        throttle_time_ms: int = ...,
    ) -> None: ...

class DescribedDelegationToken(Value):
    principal_type: str
    principal_name: str
    token_requester_principal_type: str
    token_requester_principal_name: str
    issue_timestamp: int
    expiry_timestamp: int
    max_timestamp: int
    token_id: str
    hmac: Buffer
    renewers: list[DescribedDelegationTokenRenewer]
    def __init__(
        self,
        *,
        principal_type: str = ...,
        principal_name: str = ...,
        token_requester_principal_type: str = ...,
        token_requester_principal_name: str = ...,
        issue_timestamp: int = ...,
        expiry_timestamp: int = ...,
        max_timestamp: int = ...,
        token_id: str = ...,
        hmac: Buffer = ...,
        renewers: list[DescribedDelegationTokenRenewer] = ...,
    ) -> None: ...

class DescribedDelegationTokenRenewer(Value):
    principal_type: str
    principal_name: str
    def __init__(
        self,
        *,
        principal_type: str = ...,
        principal_name: str = ...,
    ) -> None: ...

