"""PEM text: one private key, and certificates; what else is in it does not count.

Role        Pure.
Invariants  Reading takes a time in proportion to the text, whatever is in it: Kafka's one pattern for a whole block
            takes hours for some, and would stop this broker.
Source      DefaultSslEngineFactory.PemParser and PemStore in Kafka 3.9.
"""

from __future__ import annotations

import base64
import binascii
import re

from kafka_zk.tls.errors import TlsError

_MARKER = re.compile(r"-(?P<kind>BEGIN|END)(?P<label>[^-]*)-", re.ASCII)
_BASE64 = re.compile(r"[a-zA-Z0-9/+=\s]*", re.ASCII)


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
    label = re.compile(name.replace(" ", r"\s+"), re.ASCII)
    found, begin = [], None
    for marker in _MARKER.finditer(text):
        if not label.search(marker["label"]):
            begin = None
        elif marker["kind"] == "BEGIN":
            begin = marker.end()
        elif begin is not None:
            block = text[begin : marker.start()].strip("-")
            begin = None
            if block[:1].isspace() and _BASE64.fullmatch(body := _without_headers(block)):
                found.append(body)
    if not found:
        raise TlsError(f"No matching {name} entries in PEM file")
    try:
        return [base64.b64decode("".join(block.split()), validate=True) for block in found]
    except binascii.Error as error:
        raise TlsError(f"A {name} in PEM text is no base64: {error}") from None


def _without_headers(block: str) -> str:
    """`block` behind the lines of `name: value` that it begins with."""
    lines = re.split(r"[\r\n]", block)
    begin = 0
    for number, line in enumerate(lines, 1):
        if ":" in line:
            begin = number
        elif line.strip():
            break
    return "\n".join(lines[begin:])
