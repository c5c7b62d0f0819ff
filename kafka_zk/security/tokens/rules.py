"""What may be done with a delegation token, by whom, and until when.

Role        Pure. Principals are texts (`User:alice`), times epoch ms.
Source      DelegationTokenManager, TokenInformation in Kafka 3.9.
"""

from __future__ import annotations

import base64
import hmac
import uuid
from collections.abc import Callable, Collection, Set
from dataclasses import dataclass, field, replace

from kafka_zk.protocol.errors import DelegationTokenExpired, DelegationTokenOwnerMismatch
from kafka_zk.zk.znodes.access import DelegationToken

_HASH = "sha512"
_LAST_MS = 2**63 - 1
"""The largest time that an answer holds."""


@dataclass(frozen=True, slots=True)
class TokenRules:
    """The secret of the cluster, and the configured times: of a token's life, and between two renewals."""

    secret: str = field(repr=False)
    max_lifetime_ms: int
    expiry_time_ms: int

    def hmac_of(self, token_id: str) -> bytes:
        """What the owner shows: 64 bytes. It is never stored."""
        return hmac.digest(self.secret.encode(), token_id.encode(), _HASH)

    def password_of(self, token_id: str) -> bytes:
        """The password of a SCRAM login with the token."""
        return base64.b64encode(self.hmac_of(token_id))

    def new_token(
        self, owner: str, requester: str, renewers: Collection[str], max_lifetime_ms: int, now_ms: int
    ) -> DelegationToken:
        """A token with a new id. `max_lifetime_ms` of 0 or less asks for the longest life."""
        life_ms = min(max_lifetime_ms, self.max_lifetime_ms) if max_lifetime_ms > 0 else self.max_lifetime_ms
        max_ms = min(_LAST_MS, now_ms + life_ms)
        return DelegationToken(
            token_id=base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode(),
            owner=owner,
            token_requester=requester,
            renewers=tuple(renewers),
            issue_timestamp=now_ms,
            max_timestamp=max_ms,
            expiry_timestamp=min(max_ms, now_ms + self.expiry_time_ms),
        )

    def renewed(self, token: DelegationToken, period_ms: int, now_ms: int) -> DelegationToken:
        """`token` with a later end; a negative period is the configured one. Raises DelegationTokenExpired."""
        check_alive(token, now_ms)
        period_ms = self.expiry_time_ms if period_ms < 0 else period_ms
        return replace(token, expiry_timestamp=min(token.max_timestamp, now_ms + period_ms))


def cut_short(token: DelegationToken, period_ms: int, now_ms: int) -> DelegationToken:
    """`token` with its end after `period_ms`. Raises DelegationTokenExpired."""
    check_alive(token, now_ms)
    return replace(token, expiry_timestamp=min(token.max_timestamp, now_ms + period_ms))


def is_over(token: DelegationToken, now_ms: int) -> bool:
    return token.max_timestamp < now_ms or token.expiry_timestamp < now_ms


def check_alive(token: DelegationToken, now_ms: int) -> None:
    """Raise DelegationTokenExpired for one whose time is over."""
    if is_over(token, now_ms):
        raise DelegationTokenExpired


def check_may_renew(token: DelegationToken, principal: str) -> None:
    """Raise DelegationTokenOwnerMismatch unless `principal` is the owner or a renewer; a requester is neither."""
    if principal != token.owner and principal not in token.renewers:
        raise DelegationTokenOwnerMismatch


def may_describe(
    token: DelegationToken,
    principal: str,
    wanted_owners: Set[str] | None,
    *,
    may_describe_token: Callable[[str], bool],
    may_describe_tokens_of: Callable[[str], bool],
) -> bool:
    """Whether `principal` gets to see a token that it asked for by `wanted_owners` (None: all)."""
    if wanted_owners is not None and wanted_owners.isdisjoint((token.owner, token.token_requester, *token.renewers)):
        return False
    return concerns(token, principal) or may_describe_token(token.token_id) or may_describe_tokens_of(token.owner)


def concerns(token: DelegationToken, principal: str) -> bool:
    """Whether `principal` owns the token, asked for it, or may renew it."""
    return principal in (token.owner, token.token_requester, *token.renewers)
