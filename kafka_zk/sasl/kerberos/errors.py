"""What Kerberos can answer instead of a token or a ticket.

Role        Pure.
Source      KerberosError in Kafka 3.9; RFC 4120, 7.5.9 (the numbers).
"""

from __future__ import annotations

from typing import Final

CLIENT_NOT_YET_VALID: Final = 21
TICKET_EXPIRED: Final = 32
TICKET_NOT_YET_VALID: Final = 33
REPLAY: Final = 34
SERVER_NOT_FOUND: Final = 7

_PASSING: Final = frozenset((CLIENT_NOT_YET_VALID, TICKET_EXPIRED, TICKET_NOT_YET_VALID, REPLAY))


class KerberosUnavailable(Exception):
    """This installation has no Kerberos library. The text says what to install."""


class GssError(Exception):
    """The library refused a step. The message has no secret.

    `code` is the error's number in the Kerberos protocol, None for an error without one; `lacks_credential`: there was
    no ticket or key to use.
    """

    def __init__(self, why: str, *, code: int | None = None, lacks_credential: bool = False) -> None:
        super().__init__(why)
        self.code = code
        self.lacks_credential = lacks_credential

    @property
    def is_passing(self) -> bool:
        """Whether a client does well to try again: clocks differ for a moment, or the next ticket is on its way."""
        return self.code in _PASSING if self.code is not None else self.lacks_credential

    @property
    def is_passing_for_server(self) -> bool:
        """Of errors in a client's token: whether the same client may be accepted the next time."""
        return self.code in _PASSING and self.code != TICKET_EXPIRED
