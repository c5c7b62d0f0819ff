"""What a client shows and checks when it connects: TLS or none, a login or none.

Role        Plain values, and the protocol of a login. Made once for each client from its configuration (`settings.py`);
            every connection of the client uses it.
Invariants  A connection carries requests only when the handshake (`tls`) and then the login are done.
            No repr shows a secret.
Source      ChannelBuilders, SslTransportLayer, SaslClientAuthenticator.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from kafka_zk.protocol.types import Buffer

PLAINTEXT: Final = "PLAINTEXT"


class Login(Protocol):
    """One connection's SASL exchange. Pure: bytes in, bytes out; the connection sends and receives.

    Frames to send come in pieces, sizes included, as `encode_request` makes them; frames received come without
    their sizes. Raises AuthenticationException (fatal to the caller) or KafkaException (the connection is lost).
    """

    def begin(self) -> Sequence[bytes]:
        """The first frame to send."""
        ...

    def take(self, frame: Buffer) -> Sequence[bytes]:
        """The broker's next frame; returns what to send next, nothing when complete."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether the broker accepted the login: requests may follow."""
        ...

    @property
    def renew_at_s(self) -> float:
        """When to stop sending and log in again on the same connection (time.monotonic), before the session ends;
        inf: never."""
        ...

    @property
    def renew_from_s(self) -> float:
        """Before this the broker refuses a renewal (time.monotonic)."""
        ...

    def again(self) -> Login:
        """The login that renews this one (KIP-368)."""
        ...


@dataclass(frozen=True, slots=True)
class ConnectionSecurity:
    """`tls` None: plain text. `login(host)` begins the login of one connection to the named host; None: anonymous.

    The context says whether the broker's certificate must name the host (`check_hostname`).
    """

    protocol: str = PLAINTEXT
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    login: Callable[[str], Login] | None = field(default=None, repr=False)


NO_SECURITY: Final = ConnectionSecurity()
