"""SaslHandshake (key 17, v0-1) of a client that has logged in, or need not: refused.

The handshake of a login never comes here (api/before_login.py).   Source: KafkaApis.handleSaslHandshakeRequest
"""

from __future__ import annotations

from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.sasl_handshake import (
    SASL_HANDSHAKE_REQUEST,
    SASL_HANDSHAKE_RESPONSE,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)


@api(SASL_HANDSHAKE_REQUEST, SASL_HANDSHAKE_RESPONSE)
def sasl_handshake(request: SaslHandshakeRequest, ctx: RequestContext) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
