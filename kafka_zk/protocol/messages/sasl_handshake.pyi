# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

SASL_HANDSHAKE_REQUEST: Message[SaslHandshakeRequest]
SASL_HANDSHAKE_RESPONSE: Message[SaslHandshakeResponse]

class SaslHandshakeRequest(Value):
    mechanism: str
    def __init__(
        self,
        *,
        mechanism: str = ...,
    ) -> None: ...

class SaslHandshakeResponse(Value):
    error_code: int
    mechanisms: list[str]
    def __init__(
        self,
        *,
        error_code: int = ...,
        mechanisms: list[str] = ...,
    ) -> None: ...

