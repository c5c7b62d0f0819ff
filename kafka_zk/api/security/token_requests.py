"""What the four requests about delegation tokens have in common.

Source      KafkaApis.allowTokenRequests in Kafka 3.9.
"""

from __future__ import annotations

from kafka_zk.api.request_context import RequestContext
from kafka_zk.network.transport import ANONYMOUS
from kafka_zk.protocol.errors import DelegationTokenAuthDisabled, DelegationTokenRequestNotAllowed
from kafka_zk.security.tokens.store import TokenStore


def check_allowed(ctx: RequestContext) -> None:
    """Raise DelegationTokenRequestNotAllowed where nobody could trust the token: over plain text, for an anonymous
    client, and for one that has logged in with a token."""
    connection = ctx.connection
    protocol = connection.security_protocol
    if (
        connection.token_authenticated
        or protocol == "PLAINTEXT"
        or (protocol == "SSL" and connection.principal == ANONYMOUS)
    ):
        raise DelegationTokenRequestNotAllowed


def tokens_of(ctx: RequestContext) -> TokenStore:
    """Raises DelegationTokenAuthDisabled without delegation.token.secret.key."""
    if ctx.services.tokens is None:
        raise DelegationTokenAuthDisabled
    return ctx.services.tokens


def split(principal: str) -> tuple[str, str]:
    """Type and name."""
    kind, _, name = principal.partition(":")
    return kind, name
