"""How long a client that has logged in may go on, and what becomes of its next request.

Role        Pure; times are given.
Source      SaslServerAuthenticator.ReauthInfo, KafkaChannel.maybeBeginServerReauthentication,
            Processor.processCompletedReceives in Kafka 3.9; KIP-368, KAFKA-9241.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

MIN_REAUTHENTICATION_INTERVAL_MS = 1000
"""A client that begins another one sooner is refused as one that need not authenticate again."""


class Session(NamedTuple):
    """`lifetime_ms` is what the client is told, 0 for no end; `ends_at_ms`: monotonic, None for never."""

    lifetime_ms: int
    ends_at_ms: int | None

    def has_ended(self, now_ms: int) -> bool:
        return self.ends_at_ms is not None and now_ms >= self.ends_at_ms


class NextRequest(Enum):
    """What becomes of a request of a client that has logged in."""

    SERVE = auto()
    LOG_IN_AGAIN = auto()
    DISCONNECT = auto()


def session_of(*, credential_expires_ms: int | None, max_reauth_ms: int, wall_ms: int, monotonic_ms: int) -> Session:
    """The session of a client that has just logged in: the shorter of the two lives.

    `credential_expires_ms`: wall clock; `max_reauth_ms`: connections.max.reauth.ms, 0 for no limit. A credential that
    has expired gives a session that ends now, of which the client is told 0.
    """
    lives = [max_reauth_ms] if max_reauth_ms > 0 else []
    if credential_expires_ms is not None:
        lives.append(max(0, credential_expires_ms - wall_ms))
    if not lives:
        return Session(0, None)
    return Session(min(lives), monotonic_ms + min(lives))


def next_request(session: Session, *, is_handshake: bool, began_again_ms: int | None, monotonic_ms: int) -> NextRequest:
    """Whether a request is served. `began_again_ms`: when the last re-authentication began, None if there was none."""
    if is_handshake and session.ends_at_ms is not None:
        may_begin = began_again_ms is None or monotonic_ms - began_again_ms >= MIN_REAUTHENTICATION_INTERVAL_MS
        if may_begin:
            return NextRequest.LOG_IN_AGAIN
    return NextRequest.DISCONNECT if session.has_ended(monotonic_ms) else NextRequest.SERVE
