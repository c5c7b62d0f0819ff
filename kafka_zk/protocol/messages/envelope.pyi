# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.types import Buffer
from kafka_zk.protocol.value import Value

ENVELOPE_REQUEST: Message[EnvelopeRequest]
ENVELOPE_RESPONSE: Message[EnvelopeResponse]

class EnvelopeRequest(Value):
    request_data: Buffer
    request_principal: Buffer | None
    client_host_address: Buffer
    def __init__(
        self,
        *,
        request_data: Buffer = ...,
        request_principal: Buffer | None = ...,
        client_host_address: Buffer = ...,
    ) -> None: ...

class EnvelopeResponse(Value):
    response_data: Buffer | None
    error_code: int
    def __init__(
        self,
        *,
        response_data: Buffer | None = ...,
        error_code: int = ...,
    ) -> None: ...

