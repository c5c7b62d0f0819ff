"""The certificates of secure_cluster.py: an authority, one for the broker, one for the user app."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from secure_cluster_state import write

LIFE = datetime.timedelta(days=365)
RENEWED_BEFORE = datetime.timedelta(days=7)
AUTHORITY, BROKER, APP = "ca.pem", "broker.pem", "app.pem"
"""The authority's certificate; each of the others holds a key and its certificate."""
_NAMES = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]


def are_good(folder: Path) -> bool:
    """Whether all are there, and stay valid for a while."""
    try:
        found = [x509.load_pem_x509_certificate((folder / name).read_bytes()) for name in (AUTHORITY, BROKER, APP)]
    except (FileNotFoundError, ValueError):
        return False
    soon = datetime.datetime.now(datetime.UTC) + RENEWED_BEFORE
    return all(each.not_valid_after_utc > soon for each in found)


def make(folder: Path) -> None:
    """An authority, the broker's certificate, which is good as a client's among brokers, too, and one for app."""
    folder.mkdir(exist_ok=True)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate("Trial CA", "Trial CA", authority_key)
    authority = authority.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    # Nobody needs its key again: all are made together.
    write(folder / AUTHORITY, authority.sign(authority_key, hashes.SHA256()).public_bytes(Encoding.PEM).decode())
    for file, name, uses in (
        (APP, "app", [ExtendedKeyUsageOID.CLIENT_AUTH]),
        (BROKER, "localhost", [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
    ):
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _certificate(name, "Trial CA", key).add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        if file == BROKER:
            builder = builder.add_extension(x509.SubjectAlternativeName(_NAMES), critical=False)
        signed = builder.sign(authority_key, hashes.SHA256())
        write(folder / file, _pem(key) + signed.public_bytes(Encoding.PEM).decode())


def _certificate(subject: str, issuer: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + LIFE)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
