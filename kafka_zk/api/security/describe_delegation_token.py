"""DescribeDelegationToken (key 41, v0-3): the tokens that the client may see, with their HMACs.

v3 requester
Source      KafkaApis.handleDescribeTokensRequest.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.security.create_delegation_token import FIRST_WITH_REQUESTER
from kafka_zk.api.security.token_requests import check_allowed, split, tokens_of
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.messages.describe_delegation_token import (
    DESCRIBE_DELEGATION_TOKEN_REQUEST,
    DESCRIBE_DELEGATION_TOKEN_RESPONSE,
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from kafka_zk.security.tokens.rules import may_describe
from kafka_zk.zk.znodes.access import DelegationToken


@api(DESCRIBE_DELEGATION_TOKEN_REQUEST, DESCRIBE_DELEGATION_TOKEN_RESPONSE)
def describe_delegation_token(
    request: DescribeDelegationTokenRequest, ctx: RequestContext
) -> DescribeDelegationTokenResponse:
    """No owners: all tokens; an empty list of owners: none."""
    check_allowed(ctx)
    store = tokens_of(ctx)
    wanted = None
    if request.owners is not None:
        wanted = {f"{owner.principal_type}:{owner.principal_name}" for owner in in_turns(request.owners)}

    def may_describe_token(token_id: str) -> bool:
        return ctx.may(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token_id)

    def may_describe_tokens_of(owner: str) -> bool:
        return ctx.may(Operation.DESCRIBE_TOKENS, ResourceType.USER, owner)

    seen = [
        token
        for token in in_turns(store.all() if wanted is None or wanted else [])
        if may_describe(
            token,
            ctx.principal,
            wanted,
            may_describe_token=may_describe_token,
            may_describe_tokens_of=may_describe_tokens_of,
        )
    ]
    return DescribeDelegationTokenResponse(
        tokens=[_shown(token, store.rules.hmac_of(token.token_id), ctx.api_version) for token in in_turns(seen)]
    )


def _shown(token: DelegationToken, hmac: bytes, api_version: int) -> DescribedDelegationToken:
    owner_type, owner_name = split(token.owner)
    requester_type, requester_name = split(token.token_requester) if api_version >= FIRST_WITH_REQUESTER else ("", "")
    renewers = [split(renewer) for renewer in token.renewers]
    return DescribedDelegationToken(
        principal_type=owner_type,
        principal_name=owner_name,
        token_requester_principal_type=requester_type,
        token_requester_principal_name=requester_name,
        issue_timestamp=token.issue_timestamp,
        expiry_timestamp=token.expiry_timestamp,
        max_timestamp=token.max_timestamp,
        token_id=token.token_id,
        hmac=hmac,
        renewers=[DescribedDelegationTokenRenewer(principal_type=kind, principal_name=name) for kind, name in renewers],
    )
