"""KerberosName: the parts of a principal.

Role        Pure.
Source      KerberosName in Kafka 3.9.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_NAME = re.compile(r"([^/@]*)(?:/([^/@]*))?@([^/@]*)")


class MalformedName(ValueError):
    """The text is no principal of one or two parts in a realm."""


class KerberosName(NamedTuple):
    """`service_name/host_name@realm`; the last two may be missing."""

    service_name: str
    host_name: str | None = None
    realm: str | None = None

    @classmethod
    def parse(cls, text: str) -> KerberosName:
        """Raises MalformedName."""
        found = _NAME.fullmatch(text)
        if found is not None:
            return cls(found[1], found[2], found[3])
        if "@" in text:
            raise MalformedName(f"Malformed Kerberos name: {text}")
        return cls(text)

    def __str__(self) -> str:
        host = "" if self.host_name is None else f"/{self.host_name}"
        realm = "" if self.realm is None else f"@{self.realm}"
        return f"{self.service_name}{host}{realm}"
