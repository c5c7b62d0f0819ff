"""RenewDelegationToken (key 39, v0-2): let a token live longer.

Source      KafkaApis.handleRenewTokenRequestZk.
"""

from __future__ import annotations

from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.security.token_requests import check_allowed, tokens_of
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.messages.renew_delegation_token import (
    RENEW_DELEGATION_TOKEN_REQUEST,
    RENEW_DELEGATION_TOKEN_RESPONSE,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)

NO_TIME = -1


@api(RENEW_DELEGATION_TOKEN_REQUEST, RENEW_DELEGATION_TOKEN_RESPONSE)
def renew_delegation_token(request: RenewDelegationTokenRequest, ctx: RequestContext) -> RenewDelegationTokenResponse:
    """Blocks. Owner and renewers may do that."""
    try:
        check_allowed(ctx)
        end_ms = tokens_of(ctx).renew(ctx.principal, bytes(request.hmac), request.renew_period_ms)
    except BrokerError as error:
        return RenewDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=NO_TIME)
    return RenewDelegationTokenResponse(expiry_timestamp_ms=end_ms)
