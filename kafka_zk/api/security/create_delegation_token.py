"""CreateDelegationToken (key 38, v0-3): a new token, for the client or for somebody else.

v3 owner other than the requester
Source      KafkaApis.handleCreateTokenRequestZk.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.api.error_form import Form
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.security.token_requests import check_allowed, split, tokens_of
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.errors import (
    BrokerError,
    DelegationTokenAuthorizationFailed,
    InvalidPrincipalType,
    UnknownServerError,
)
from kafka_zk.protocol.messages.create_delegation_token import (
    CREATE_DELEGATION_TOKEN_REQUEST,
    CREATE_DELEGATION_TOKEN_RESPONSE,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from kafka_zk.protocol.schema import Versions

USER_TYPE = "User"
FIRST_WITH_REQUESTER = 3
NO_TIME = -1
"""Where there is no token."""


ERRORS = Form(
    constants={
        "principal_type": "User",
        "principal_name": "ANONYMOUS",
        "issue_timestamp_ms": NO_TIME,
        "expiry_timestamp_ms": NO_TIME,
        "max_timestamp_ms": NO_TIME,
    },
    versioned_constants=(
        ("token_requester_principal_type", Versions.parse("3+"), "User"),
        ("token_requester_principal_name", Versions.parse("3+"), "ANONYMOUS"),
    ),
)
"""Of a request that fails as a whole."""


@api(CREATE_DELEGATION_TOKEN_REQUEST, CREATE_DELEGATION_TOKEN_RESPONSE, errors=ERRORS)
def create_delegation_token(
    request: CreateDelegationTokenRequest, ctx: RequestContext
) -> CreateDelegationTokenResponse:
    """Blocks. Create a token; every error is in the answer, with owner and requester.

    Raises UnknownServerError, as Kafka does before anything else, for an owner without a type.
    """
    owner = ctx.principal
    if request.owner_principal_name:
        if request.owner_principal_type is None:
            raise UnknownServerError
        owner = f"{request.owner_principal_type}:{request.owner_principal_name}"
    try:
        return _created(request, ctx, owner)
    except BrokerError as error:
        answer = _answer(ctx, owner)
        answer.error_code = error.code
        return answer


def _created(request: CreateDelegationTokenRequest, ctx: RequestContext, owner: str) -> CreateDelegationTokenResponse:
    check_allowed(ctx)
    if owner != ctx.principal and not ctx.may(Operation.CREATE_TOKENS, ResourceType.USER, owner):
        raise DelegationTokenAuthorizationFailed
    renewers = []
    for renewer in in_turns(request.renewers):
        if renewer.principal_type != USER_TYPE:
            raise InvalidPrincipalType
        renewers.append(f"{renewer.principal_type}:{renewer.principal_name}")
    token, hmac = tokens_of(ctx).create(owner, ctx.principal, renewers, request.max_lifetime_ms)
    answer = _answer(ctx, owner)
    answer.issue_timestamp_ms = token.issue_timestamp
    answer.expiry_timestamp_ms = token.expiry_timestamp
    answer.max_timestamp_ms = token.max_timestamp
    answer.token_id = token.token_id
    answer.hmac = hmac
    return answer


def _answer(ctx: RequestContext, owner: str) -> CreateDelegationTokenResponse:
    """Without a token."""
    owner_type, owner_name = split(owner)
    requester_type, requester_name = split(ctx.principal) if ctx.api_version >= FIRST_WITH_REQUESTER else ("", "")
    return CreateDelegationTokenResponse(
        principal_type=owner_type,
        principal_name=owner_name,
        token_requester_principal_type=requester_type,
        token_requester_principal_name=requester_name,
        issue_timestamp_ms=NO_TIME,
        expiry_timestamp_ms=NO_TIME,
        max_timestamp_ms=NO_TIME,
    )
