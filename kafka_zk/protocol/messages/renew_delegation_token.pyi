# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.types import Buffer
from kafka_zk.protocol.value import Value

RENEW_DELEGATION_TOKEN_REQUEST: Message[RenewDelegationTokenRequest]
RENEW_DELEGATION_TOKEN_RESPONSE: Message[RenewDelegationTokenResponse]

class RenewDelegationTokenRequest(Value):
    hmac: Buffer
    renew_period_ms: int
    def __init__(
        self,
        *,
        hmac: Buffer = ...,
        renew_period_ms: int = ...,
    ) -> None: ...

class RenewDelegationTokenResponse(Value):
    error_code: int
    expiry_timestamp_ms: int
    throttle_time_ms: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        expiry_timestamp_ms: int = ...,
        throttle_time_ms: int = ...,
    ) -> None: ...

