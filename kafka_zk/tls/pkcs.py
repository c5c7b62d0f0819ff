"""Private keys, certificates and PKCS12 files, as the library cryptography reads them.

Role        Pure. Imported late, by what reads a store: the library takes 9 MB and a quarter of a second, which a broker
            or client of plain text does without.
Source      PKCS #8, PKCS #12.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
    pkcs12,
)


@dataclass(frozen=True, slots=True)
class Pkcs12Store:
    """What a file holds, in DER."""

    alias: str
    key: bytes | None = field(repr=False)
    chain: tuple[bytes, ...] = field(repr=False)
    """The key's own certificate, then those that signed it; empty without a key."""
    others: tuple[bytes, ...] = field(repr=False)


def read_pkcs12(data: bytes, password: str | None) -> Pkcs12Store:
    """Raises ValueError, also for another password."""
    store = pkcs12.load_pkcs12(data, None if password is None else password.encode())
    others = [other.certificate for other in store.additional_certs]
    if store.key is None or store.cert is None:
        alone = [] if store.cert is None else [store.cert.certificate]
        return Pkcs12Store("", None, (), tuple(map(_der, (*alone, *others))))
    key = store.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    chain = _chain_of(store.cert.certificate, others)
    return Pkcs12Store(
        (store.cert.friendly_name or b"1").decode("utf-8", "replace"),
        key,
        tuple(map(_der, chain)),
        tuple(_der(other) for other in others if other not in chain),
    )


def plain_key(key: bytes, password: str | None) -> bytes:
    """A private key in DER as PKCS#8 without encryption. Raises ValueError, TypeError."""
    loaded = load_der_private_key(key, None if password is None else password.encode())
    return loaded.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


def checked(certificates: list[bytes]) -> list[bytes]:
    """`certificates` in DER. Raises ValueError for one that is none."""
    for certificate in certificates:
        x509.load_der_x509_certificate(certificate)
    return certificates


def _chain_of(leaf: x509.Certificate, others: list[x509.Certificate]) -> list[x509.Certificate]:
    """`leaf` and those that signed it, as far as they are there, in order."""
    chain = [leaf]
    while (last := chain[-1]).issuer != last.subject:
        signer = next((other for other in others if other.subject == last.issuer and other not in chain), None)
        if signer is None:
            break
        chain.append(signer)
    return chain


def _der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.DER)
