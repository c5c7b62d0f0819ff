"""Creates, renews, ends and lists delegation tokens over the wire.

Role        Acts, through `Calls`.
Invariants  No repr shows an HMAC.
Source      KafkaAdminClient.createDelegationToken, renewDelegationToken, expireDelegationToken,
            describeDelegationToken; DelegationToken, TokenInformation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.protocol.messages import create_delegation_token as creating
from kafka_zk.protocol.messages import describe_delegation_token as describing
from kafka_zk.protocol.messages import expire_delegation_token as expiring
from kafka_zk.protocol.messages import renew_delegation_token as renewing

Principal = tuple[str, str]
"""Type and name."""


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A token and its HMAC, which is the password to log in with. Times are epoch ms."""

    token_id: str
    hmac: bytes = field(repr=False)
    owner: Principal
    requester: Principal
    renewers: Sequence[Principal]
    issue_ms: int
    expiry_ms: int
    max_ms: int


def create_delegation_token(
    calls: Calls, *, renewers: Sequence[Principal] = (), max_lifetime_ms: int = -1, owner: Principal | None = None
) -> DelegationToken:
    """Blocks. A new token, of this client or of `owner`. Raises DelegationTokenRequestNotAllowed ..."""

    def build(_: int) -> creating.CreateDelegationTokenRequest:
        # Older versions have no owner, and refuse one; empty is the client itself.
        owner_type, owner_name = owner or ("", "")
        return creating.CreateDelegationTokenRequest(
            owner_principal_type=owner_type,
            owner_principal_name=owner_name,
            renewers=[creating.CreatableRenewers(principal_type=kind, principal_name=name) for kind, name in renewers],
            max_lifetime_ms=max_lifetime_ms,
        )

    def check(answer: creating.CreateDelegationTokenResponse) -> None:
        raise_for(answer.error_code, None)

    request, response = creating.CREATE_DELEGATION_TOKEN_REQUEST, creating.CREATE_DELEGATION_TOKEN_RESPONSE
    made = calls.to_any_node(Call("createDelegationToken", request, response, build, check))
    made_for = made.principal_type, made.principal_name
    requester = made.token_requester_principal_type, made.token_requester_principal_name
    return DelegationToken(
        token_id=made.token_id,
        hmac=bytes(made.hmac),
        owner=made_for,
        requester=requester if requester[1] else made_for,
        renewers=list(renewers),
        issue_ms=made.issue_timestamp_ms,
        expiry_ms=made.expiry_timestamp_ms,
        max_ms=made.max_timestamp_ms,
    )


def renew_delegation_token(calls: Calls, hmac: bytes, period_ms: int = -1) -> int:
    """Blocks. The token's new end, epoch ms; -1: the cluster's usual period. Raises DelegationTokenNotFound ..."""

    def build(_: int) -> renewing.RenewDelegationTokenRequest:
        return renewing.RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=period_ms)

    def check(answer: renewing.RenewDelegationTokenResponse) -> None:
        raise_for(answer.error_code, None)

    request, response = renewing.RENEW_DELEGATION_TOKEN_REQUEST, renewing.RENEW_DELEGATION_TOKEN_RESPONSE
    return calls.to_any_node(Call("renewDelegationToken", request, response, build, check)).expiry_timestamp_ms


def expire_delegation_token(calls: Calls, hmac: bytes, period_ms: int = -1) -> int:
    """Blocks. The token's new end, epoch ms; -1: now. Raises DelegationTokenNotFound ..."""

    def build(_: int) -> expiring.ExpireDelegationTokenRequest:
        return expiring.ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=period_ms)

    def check(answer: expiring.ExpireDelegationTokenResponse) -> None:
        raise_for(answer.error_code, None)

    request, response = expiring.EXPIRE_DELEGATION_TOKEN_REQUEST, expiring.EXPIRE_DELEGATION_TOKEN_RESPONSE
    return calls.to_any_node(Call("expireDelegationToken", request, response, build, check)).expiry_timestamp_ms


def describe_delegation_tokens(calls: Calls, owners: Sequence[Principal] | None = None) -> list[DelegationToken]:
    """Blocks. The tokens that this client may see: of `owners`, or all. Raises DelegationTokenAuthDisabled ..."""

    def build(_: int) -> describing.DescribeDelegationTokenRequest:
        wanted = None
        if owners is not None:
            wanted = [
                describing.DescribeDelegationTokenOwner(principal_type=kind, principal_name=name)
                for kind, name in owners
            ]
        return describing.DescribeDelegationTokenRequest(owners=wanted)

    def check(answer: describing.DescribeDelegationTokenResponse) -> None:
        raise_for(answer.error_code, None)

    request, response = describing.DESCRIBE_DELEGATION_TOKEN_REQUEST, describing.DESCRIBE_DELEGATION_TOKEN_RESPONSE
    answer = calls.to_any_node(Call("describeDelegationToken", request, response, build, check))
    return [
        DelegationToken(
            token_id=token.token_id,
            hmac=bytes(token.hmac),
            owner=(token.principal_type, token.principal_name),
            requester=(token.token_requester_principal_type, token.token_requester_principal_name),
            renewers=[(each.principal_type, each.principal_name) for each in token.renewers],
            issue_ms=token.issue_timestamp,
            expiry_ms=token.expiry_timestamp,
            max_ms=token.max_timestamp,
        )
        for token in answer.tokens
    ]
