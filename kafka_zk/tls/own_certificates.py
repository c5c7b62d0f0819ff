"""What of the certificates of a key store is compared when another store shall replace it.

Role        Pure.
Source      SslFactory.CertificateEntries in Kafka 3.9.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafka_zk.tls.names import subject_of
from kafka_zk.tls.replacement import OwnCertificate
from kafka_zk.tls.stores import KeyEntry

if TYPE_CHECKING:
    from cryptography import x509

_DNS, _ADDRESS, _MAIL, _URI = 2, 7, 1, 6


def own_certificates(entries: Iterable[KeyEntry]) -> tuple[OwnCertificate, ...]:
    """In the order of the store."""
    return tuple(_own_certificate(entry) for entry in entries)


def _own_certificate(entry: KeyEntry) -> OwnCertificate:
    # Late, as in stores.
    from cryptography import x509

    certificate = x509.load_der_x509_certificate(entry.chain[0])
    name = subject_of(entry.chain[0])
    return OwnCertificate(entry.alias, name, name.replace(",", ", "), _alternatives(certificate))


def _alternatives(certificate: x509.Certificate) -> frozenset[tuple[int, str]]:
    from cryptography import x509

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    found = set()
    for name in names:
        if isinstance(name, x509.DNSName):
            found.add((_DNS, name.value))
        elif isinstance(name, x509.IPAddress):
            found.add((_ADDRESS, _shown_address(str(name.value))))
        elif isinstance(name, x509.RFC822Name):
            found.add((_MAIL, name.value))
        elif isinstance(name, x509.UniformResourceIdentifier):
            found.add((_URI, name.value))
    return frozenset(found)


def _shown_address(text: str) -> str:
    """Java prints IPv6 addresses uncompressed."""
    address = ipaddress.ip_address(text)
    if address.version == 4:
        return text
    return ":".join(f"{int(part, 16):x}" for part in address.exploded.split(":"))
