"""SaslAuthenticate (key 36, v0-2) of a client that has logged in, or need not: refused.

That of a login never comes here (api/before_login.py).   Source: KafkaApis.handleSaslAuthenticateRequest
"""

from __future__ import annotations

from kafka_zk.api.error_form import Form, Text
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.sasl_authenticate import (
    SASL_AUTHENTICATE_REQUEST,
    SASL_AUTHENTICATE_RESPONSE,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)


@api(SASL_AUTHENTICATE_REQUEST, SASL_AUTHENTICATE_RESPONSE, errors=Form(text=Text.OWN))
def sasl_authenticate(request: SaslAuthenticateRequest, ctx: RequestContext) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
        auth_bytes=b"",
    )
