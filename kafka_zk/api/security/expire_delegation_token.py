"""ExpireDelegationToken (key 40, v0-2): end a token, now or later.

Source      KafkaApis.handleExpireTokenRequestZk.
"""

from __future__ import annotations

from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.security.token_requests import check_allowed, tokens_of
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.messages.expire_delegation_token import (
    EXPIRE_DELEGATION_TOKEN_REQUEST,
    EXPIRE_DELEGATION_TOKEN_RESPONSE,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)

NO_TIME = -1


@api(EXPIRE_DELEGATION_TOKEN_REQUEST, EXPIRE_DELEGATION_TOKEN_RESPONSE)
def expire_delegation_token(
    request: ExpireDelegationTokenRequest, ctx: RequestContext
) -> ExpireDelegationTokenResponse:
    """Blocks. Owner and renewers may do that."""
    try:
        check_allowed(ctx)
        end_ms = tokens_of(ctx).expire(ctx.principal, bytes(request.hmac), request.expiry_time_period_ms)
    except BrokerError as error:
        return ExpireDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=NO_TIME)
    return ExpireDelegationTokenResponse(expiry_timestamp_ms=end_ms)
