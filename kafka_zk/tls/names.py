"""The name of a certificate's subject as Java prints it: the principal of a TLS client.

Role        Pure.
Invariants  The text is that of X500Principal.getName() in Java 17, bugs included: ACLs compare it character by
            character. Every `=` and `#` inside a value is escaped, and a BMPString is read as if it were UTF-8.
Source      AVA.toRFC2253String, RDN.toRFC2253String, AVAKeyword in OpenJDK 17; RFC 2253.
"""

from __future__ import annotations

from kafka_zk.tls import der

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_STRINGS = frozenset((0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E))
"""UTF8, Printable, T61, IA5, General, BMP."""

_ESCAPED = frozenset(',=+<>#;"\\')


def subject_of(certificate: bytes) -> str:
    """The subject of a certificate in DER. Raises MalformedDer."""
    return name_text(subject_bytes(certificate))


def subject_bytes(certificate: bytes) -> bytes:
    """The subject of a certificate, in DER as the certificate is."""
    signed = der.element(der.element(certificate).content).content
    fields = [field for field in der.elements(signed) if field.tag != der.CONTEXT_0]
    # serialNumber, signature, issuer, validity, subject.
    if len(fields) < 5:
        raise der.MalformedDer("a certificate without a subject")
    return fields[4].encoded


def name_text(name: bytes) -> str:
    """A Name in DER as RFC 2253 text: the most specific part first, `,` without a space. Raises MalformedDer."""
    parts = [_rdn_text(part.content) for part in der.elements(der.element(name).content)]
    return ",".join(reversed(parts))


def _rdn_text(content: bytes) -> str:
    return "+".join(_attribute_text(attribute.content) for attribute in der.elements(content))


def _attribute_text(content: bytes) -> str:
    fields = list(der.elements(content))
    if len(fields) != 2 or fields[0].tag != der.OID:
        raise der.MalformedDer("an attribute that is no type and value")
    oid, value = der.dotted(fields[0].content), fields[1]
    keyword = _KEYWORDS.get(oid)
    if keyword is None or value.tag not in _STRINGS:
        return f"{keyword or oid}=#{value.encoded.hex()}"
    return f"{keyword}={_escaped(value.content.decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    shown = "".join(f"\\{char}" if char in _ESCAPED else "\\00" if char == "\0" else char for char in text)
    inner = shown.lstrip(" \r")
    lead = len(shown) - len(inner)
    inner = inner.rstrip(" \r")
    trail = shown[lead + len(inner) :]
    return "".join(f"\\{char}" for char in shown[:lead]) + inner + "".join(f"\\{char}" for char in trail)
