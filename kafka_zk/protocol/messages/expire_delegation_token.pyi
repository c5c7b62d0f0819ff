# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.types import Buffer
from kafka_zk.protocol.value import Value

EXPIRE_DELEGATION_TOKEN_REQUEST: Message[ExpireDelegationTokenRequest]
EXPIRE_DELEGATION_TOKEN_RESPONSE: Message[ExpireDelegationTokenResponse]

class ExpireDelegationTokenRequest(Value):
    hmac: Buffer
    expiry_time_period_ms: int
    def __init__(
        self,
        *,
        hmac: Buffer = ...,
        expiry_time_period_ms: int = ...,
    ) -> None: ...

class ExpireDelegationTokenResponse(Value):
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

