"""Certificates in memory, for tests of the package tls: an authority, what it signs, and both as PEM text.

`certificates` writes the stores that brokers and clients read.
"""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

PASSWORD = "store-secret"
_NOW = datetime.datetime.now(datetime.UTC)


def name(common_name: str, **more: str) -> x509.Name:
    """CN=common_name, then the given ones: name("a", O="b")."""
    given = {"CN": common_name, **more}
    oids = {"CN": NameOID.COMMON_NAME, "O": NameOID.ORGANIZATION_NAME, "OU": NameOID.ORGANIZATIONAL_UNIT_NAME}
    return x509.Name([x509.NameAttribute(oids[key], value) for key, value in reversed(given.items())])


@dataclass(frozen=True)
class Identity:
    """A certificate, its key, and those that signed it."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    issuers: tuple[x509.Certificate, ...] = ()

    def key_pem(self, password: str | None = None) -> str:
        how: KeySerializationEncryption = NoEncryption()
        if password is not None:
            how = BestAvailableEncryption(password.encode())
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how).decode()

    def chain_pem(self) -> str:
        return "".join(pem(each) for each in (self.certificate, *self.issuers))

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)

    def issue(
        self,
        common_name: str | x509.Name,
        *,
        hosts: tuple[str, ...] = ("localhost", "127.0.0.1"),
        is_authority: bool = False,
        days: int = 10,
    ) -> Identity:
        """What this authority signs."""
        subject = name(common_name) if isinstance(common_name, str) else common_name
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _signed(subject, key, self.certificate.subject, self.key, hosts, is_authority, days)
        # A root is known to the peer, and not sent.
        return Identity(
            key, certificate, (self.certificate, *self.issuers) if self.issuers or not _is_root(self) else ()
        )

    def key_store(self, path: Path, password: str = PASSWORD) -> Path:
        """Writes a PKCS12 file of key and chain."""
        data = pkcs12.serialize_key_and_certificates(
            b"own", self.key, self.certificate, list(self.issuers), BestAvailableEncryption(password.encode())
        )
        path.write_bytes(data)
        return path


def authority(common_name: str = "Test CA") -> Identity:
    """A root that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    return Identity(key, _signed(name(common_name), key, name(common_name), key, (), True, 10))


def pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def pem_settings(own: Identity | None, trusted: Identity | None) -> dict[str, str]:
    """The ssl.* values that give a broker or client this key and this authority, as PEM text."""
    values = {}
    if own is not None:
        values |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": own.key_pem(),
            "ssl.keystore.certificate.chain": own.chain_pem(),
        }
    if trusted is not None:
        values |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": pem(trusted.certificate)}
    return values


def _is_root(identity: Identity) -> bool:
    return identity.certificate.issuer == identity.certificate.subject


def _signed(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    hosts: tuple[str, ...],
    is_authority: bool,
    days: int,
) -> x509.Certificate:
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_NOW - datetime.timedelta(days=20))
        .not_valid_after(_NOW + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
    )
    if hosts and not is_authority:
        builder = builder.add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts]), False)
    return builder.sign(issuer_key, hashes.SHA256())


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
