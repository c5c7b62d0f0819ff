"""Certificates for tests and bench: an authority that signs, and the stores that brokers and clients read.

Keys are ECDSA on P-256, which are made in no time; `key_bits` asks for RSA.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PASSWORD = "changeit-Pw"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
DAY = datetime.timedelta(days=1)
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True)
class Stores:
    """One identity's files. PKCS12 stores and `encrypted_pem` have the password PASSWORD.

    `keystore_pem` holds key and chain, as Kafka's type PEM wants it; `key_pem` and `chain_pem` hold one of them.
    """

    keystore_pem: Path
    key_pem: Path
    chain_pem: Path
    encrypted_pem: Path
    keystore_p12: Path
    ca_pem: Path
    truststore_p12: Path


class CertificateAuthority:
    """A root that signs, or with `parent` an intermediate below another one."""

    def __init__(self, name: str = "Test CA", parent: CertificateAuthority | None = None) -> None:
        self.key: PrivateKey = ec.generate_private_key(ec.SECP256R1())
        self._parent = parent
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer = subject if parent is None else parent.certificate.subject
        builder = _builder(subject, issuer, self.key, 365 * DAY, -DAY)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.certificate = builder.sign(self.key if parent is None else parent.key, hashes.SHA256())

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def above(self) -> tuple[CertificateAuthority, ...]:
        """The authorities from this one up to the root, which is left out: clients have it."""
        return () if self._parent is None else (self, *self._parent.above)

    @property
    def root(self) -> CertificateAuthority:
        return self if self._parent is None else self._parent.root

    def issue(
        self,
        subject: str | x509.Name,
        folder: Path,
        *,
        sans: Sequence[str] = LOOPBACK,
        lasts: datetime.timedelta = 365 * DAY,
        begins: datetime.timedelta = -DAY,
        key_bits: int | None = None,
        usages: Sequence[x509.ObjectIdentifier] = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH),
    ) -> Stores:
        """Sign a certificate for `subject` (a common name, or a whole name) and write its stores into `folder`.

        `begins` and `lasts` count from now: a negative `lasts` makes an expired one.
        """
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]) if isinstance(subject, str) else subject
        key: PrivateKey
        key = rsa.generate_private_key(65537, key_bits) if key_bits else ec.generate_private_key(ec.SECP256R1())
        builder = _builder(name, self.certificate.subject, key, lasts, min(begins, lasts - DAY))
        if sans:
            builder = builder.add_extension(x509.SubjectAlternativeName([_san(san) for san in sans]), critical=False)
        if usages:
            builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        return self._write(folder, key, builder.sign(self.key, hashes.SHA256()))

    def _write(self, folder: Path, key: PrivateKey, certificate: x509.Certificate) -> Stores:
        folder.mkdir(parents=True, exist_ok=True)
        chain = [authority.certificate for authority in self.above]
        chain_pem = b"".join(each.public_bytes(Encoding.PEM) for each in (certificate, *chain))
        encryption = BestAvailableEncryption(PASSWORD.encode())
        root = self.root.certificate
        return Stores(
            keystore_pem=_file(folder / "keystore.pem", _pkcs8(key, NoEncryption()) + chain_pem),
            key_pem=_file(folder / "key.pem", _pkcs8(key, NoEncryption())),
            chain_pem=_file(folder / "chain.pem", chain_pem),
            encrypted_pem=_file(folder / "encrypted.pem", _pkcs8(key, encryption) + chain_pem),
            keystore_p12=_file(
                folder / "keystore.p12",
                pkcs12.serialize_key_and_certificates(b"key", key, certificate, chain, encryption),
            ),
            ca_pem=_file(folder / "ca.pem", root.public_bytes(Encoding.PEM)),
            truststore_p12=_file(
                folder / "truststore.p12",
                pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(root, b"ca")], encryption),
            ),
        )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: PrivateKey, lasts: datetime.timedelta, begins: datetime.timedelta
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + begins)
        .not_valid_after(now + lasts)
    )


def _pkcs8(key: PrivateKey, encryption: KeySerializationEncryption) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)


def _san(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _file(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    path.chmod(0o600)
    return path
