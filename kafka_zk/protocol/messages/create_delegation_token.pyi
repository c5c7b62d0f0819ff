# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.types import Buffer
from kafka_zk.protocol.value import Value

CREATE_DELEGATION_TOKEN_REQUEST: Message[CreateDelegationTokenRequest]
CREATE_DELEGATION_TOKEN_RESPONSE: Message[CreateDelegationTokenResponse]

class CreateDelegationTokenRequest(Value):
    owner_principal_type: str | None
    owner_principal_name: str | None
    renewers: list[CreatableRenewers]
    max_lifetime_ms: int
    def __init__(
        self,
        *,
        owner_principal_type: str | None = ...,
        owner_principal_name: str | None = ...,
        renewers: list[CreatableRenewers] = ...,
        max_lifetime_ms: int = ...,
    ) -> None: ...

class CreatableRenewers(Value):
    principal_type: str
    principal_name: str
    def __init__(
        self,
        *,
        principal_type: str = ...,
        principal_name: str = ...,
    ) -> None: ...

class CreateDelegationTokenResponse(Value):
    error_code: int
    principal_type: str
    principal_name: str
    token_requester_principal_type: str
    token_requester_principal_name: str
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int
    token_id: str
    hmac: Buffer
    throttle_time_ms: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        principal_type: str = ...,
        principal_name: str = ...,
        token_requester_principal_type: str = ...,
        token_requester_principal_name: str = ...,
        issue_timestamp_ms: int = ...,
        expiry_timestamp_ms: int = ...,
        max_timestamp_ms: int = ...,
        token_id: str = ...,
        hmac: Buffer = ...,
        throttle_time_ms: int = ...,
    ) -> None: ...

