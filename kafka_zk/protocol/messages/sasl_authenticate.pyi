# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.types import Buffer
from kafka_zk.protocol.value import Value

SASL_AUTHENTICATE_REQUEST: Message[SaslAuthenticateRequest]
SASL_AUTHENTICATE_RESPONSE: Message[SaslAuthenticateResponse]

class SaslAuthenticateRequest(Value):
    auth_bytes: Buffer
    def __init__(
        self,
        *,
        auth_bytes: Buffer = ...,
    ) -> None: ...

class SaslAuthenticateResponse(Value):
    error_code: int
    error_message: str | None
    auth_bytes: Buffer
    session_lifetime_ms: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        auth_bytes: Buffer = ...,
        session_lifetime_ms: int = ...,
    ) -> None: ...

