"""PEM text: one private key, and certificates; what else is in it does not count.

Role        Pure.
Source      DefaultSslEngineFactory.PemParser and PemStore in Kafka 3.9.
"""

from __future__ import annotations

import base64
import binascii
import re

from kafka_zk.tls.errors import TlsError


def private_key(text: str) -> bytes:
    """The one key, in DER: PKCS#8, perhaps encrypted. Raises TlsError."""
    keys = _blocks("PRIVATE KEY", text)
    if len(keys) != 1:
        raise TlsError(f"Expected one private key, but found {len(keys)}")
    return keys[0]


def certificates(text: str) -> list[bytes]:
    """Certificates in DER, in the order of the text; at least one. Raises TlsError."""
    return _blocks("CERTIFICATE", text)


def _blocks(name: str, text: str) -> list[bytes]:
    label = name.replace(" ", r"\s+")
    pattern = (
        rf"-+BEGIN\s*.*{label}[^-]*-+\s+(?:\s*[^\r\n]*:[^\r\n]*[\r\n]+)*([a-zA-Z0-9/+=\s]*)"
        rf"-+END\s*.*{label}[^-]*-+\s+"
    )
    # The last newline may be missing.
    found = re.findall(pattern, text + "\n", re.ASCII)
    if not found:
        raise TlsError(f"No matching {name} entries in PEM file")
    try:
        return [base64.b64decode("".join(block.split()), validate=True) for block in found]
    except binascii.Error as error:
        raise TlsError(f"A {name} in PEM text is no base64: {error}") from None
