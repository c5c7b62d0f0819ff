"""What both halves of GSSAPI ask of a security context, and the few bytes about protection that follow it.

Role        Pure: the contexts themselves are made by library.py.
Layout      protections (1 byte), largest message that is received under them (3 bytes), then the authorization id
Source      RFC 4752, 3.1 and 3.2; GssKrb5Base in OpenJDK 17.
"""

from __future__ import annotations

from typing import Final, Protocol

NO_PROTECTION: Final = 1
"""Authentication alone: what follows the login is as it was. Kafka offers and accepts nothing else."""

PROTECTION_BYTES: Final = 4


class SecurityContext(Protocol):
    """One side of a context. Every call may raise GssError, and may block: for files, and the first one for the KDC."""

    @property
    def is_complete(self) -> bool: ...
    @property
    def peer(self) -> str:
        """The principal of the other side, once the context is complete."""
        ...

    @property
    def own(self) -> str:
        """The principal of this side, once the context is complete."""
        ...

    def step(self, token: bytes) -> bytes:
        """The answer to a token; empty where there is none."""
        ...

    def wrap(self, message: bytes) -> bytes:
        """Signed, not encrypted."""
        ...

    def unwrap(self, message: bytes) -> bytes: ...


def protection(authorization_id: str = "") -> bytes:
    """No protection, so that no message needs room, and who to be."""
    return bytes((NO_PROTECTION, 0, 0, 0)) + authorization_id.encode()
