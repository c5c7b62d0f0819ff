"""TLS contexts: what OpenSSL needs to accept or open connections with some settings.

Role        Makes contexts of the standard library. Reads the stores, and hands the private key to OpenSSL through a
            file in memory that is gone when the call returns: no unencrypted key is ever on a disk.
Invariants  Every certificate of the trust store is an anchor, an intermediate or a leaf just as well: as in Java.
            A context never changes once it is made: a new store is a new context.
            A server's certificate is compared with the host that was wanted, unless the settings say otherwise.
Source      DefaultSslEngineFactory in Kafka 3.9; JSSE's defaults in OpenJDK 17 (jdk.tls.disabledAlgorithms).
"""

from __future__ import annotations

import os
import ssl
from base64 import encodebytes
from collections.abc import Iterable
from functools import cache

from kafka_zk.tls.cipher_suites import NAMES, codes_of, is_of_tls13
from kafka_zk.tls.client_authorities import name_authorities
from kafka_zk.tls.errors import TlsError
from kafka_zk.tls.settings import ClientAuth, KeySource, TlsSettings
from kafka_zk.tls.stores import KeyEntry, load_keys, load_trusted

OP_ENABLE_KTLS = 8
"""ssl.OP_ENABLE_KTLS, which Python has a name for since 3.12. Where the kernel or OpenSSL cannot, it does nothing."""

_CIPHERS = "DEFAULT:!aNULL:!eNULL:!PSK:!SRP:!RC4:!3DES:!CAMELLIA:!ARIA"
_SECURITY_LEVEL = "@SECLEVEL=1"
"""RSA keys from 1,024 bits on, as in Java; OpenSSL's usual level would refuse them below 2,048."""

_VERSIONS = {
    "TLSv1": (ssl.TLSVersion.TLSv1, ssl.OP_NO_TLSv1),
    "TLSv1.1": (ssl.TLSVersion.TLSv1_1, ssl.OP_NO_TLSv1_1),
    "TLSv1.2": (ssl.TLSVersion.TLSv1_2, ssl.OP_NO_TLSv1_2),
    "TLSv1.3": (ssl.TLSVersion.TLSv1_3, ssl.OP_NO_TLSv1_3),
}
_CLIENT_AUTH = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """For a listener. Blocks on the disk for some milliseconds. Raises TlsError with Kafka's texts.

    Without a key store the context exists, and every handshake fails, as in Kafka.
    """
    context = _context(ssl.PROTOCOL_TLS_SERVER, settings)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE | OP_ENABLE_KTLS
    context.verify_mode = _CLIENT_AUTH[settings.client_auth]
    return context


def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """For a channel or client; `wrap_socket` takes the host that is compared with the certificate.

    Blocks on the disk for some milliseconds. Raises TlsError with Kafka's texts.
    """
    context = _context(ssl.PROTOCOL_TLS_CLIENT, settings)
    context.check_hostname = settings.checks_host_name
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def _context(protocol: int, settings: TlsSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    # Anchors as in Java; and no demands on the form of a certificate that Java does not make, either.
    context.verify_flags = ssl.VERIFY_X509_TRUSTED_FIRST | ssl.VERIFY_X509_PARTIAL_CHAIN
    _limit_versions(context, settings.protocols)
    _limit_ciphers(context, settings.cipher_suites)
    if settings.key is not None:
        _load_keys(context, settings.key)
    if settings.trust is not None:
        trusted = load_trusted(settings.trust)
        _trust(context, trusted)
        if protocol == ssl.PROTOCOL_TLS_SERVER:
            name_authorities(context, trusted)
    else:
        context.load_default_certs(
            ssl.Purpose.CLIENT_AUTH if protocol == ssl.PROTOCOL_TLS_SERVER else ssl.Purpose.SERVER_AUTH
        )
    return context


def _limit_versions(context: ssl.SSLContext, protocols: Iterable[str]) -> None:
    wanted = list(protocols)
    for name in wanted:
        if name not in _VERSIONS:
            raise TlsError(f"Unsupported protocol: {name}")
    versions = [_VERSIONS[name][0] for name in wanted]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    for name, (version, excluded) in _VERSIONS.items():
        if name not in wanted and min(versions) < version < max(versions):
            context.options |= excluded


def _limit_ciphers(context: ssl.SSLContext, names: tuple[str, ...]) -> None:
    """Allow these suites, all safe ones without names.

    Python 3.11 cannot choose among the three suites of TLS 1.3: all are allowed as soon as one of them is named.
    """
    context.set_ciphers(f"{_CIPHERS}:{_SECURITY_LEVEL}")
    if not names:
        return
    codes = codes_of(names)
    if not any(map(is_of_tls13, codes)):
        context.maximum_version = min(context.maximum_version, ssl.TLSVersion.TLSv1_2)
    context.set_ciphers(f"ALL:{_SECURITY_LEVEL}")
    known = [cipher["name"] for cipher in context.get_ciphers() if cipher["id"] & 0xFFFF in codes]
    older = [name for name in known if not name.startswith("TLS_")]
    if older:
        context.set_ciphers(":".join((*older, _SECURITY_LEVEL)))
        return
    if not known:
        raise TlsError(f"No supported CipherSuite in {','.join(names)}")
    context.minimum_version = ssl.TLSVersion.TLSv1_3


@cache
def _iana_names() -> dict[str, str]:
    """OpenSSL's names of suites to those of IANA."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:@SECLEVEL=0")
    return {cipher["name"]: NAMES.get(cipher["id"] & 0xFFFF, cipher["name"]) for cipher in context.get_ciphers()}


def iana_name(openssl_name: str) -> str:
    """The name of a cipher suite as Java has it."""
    return _iana_names().get(openssl_name, openssl_name)


def _load_keys(context: ssl.SSLContext, source: KeySource) -> None:
    """Give OpenSSL the first key of each kind (RSA, EC, ..); it chooses by what the peer can verify."""
    for entry in reversed(load_keys(source)):
        # A later call replaces the key of the same kind.
        descriptor = os.memfd_create("key", os.MFD_CLOEXEC)
        try:
            with open(descriptor, "wb", closefd=False) as file:
                file.write(_pem(entry))
            context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        except ssl.SSLError as error:
            place = source.location or "given as PEM text"
            raise TlsError(f"The key store {place} cannot be used: {error.reason or error}") from None
        finally:
            os.close(descriptor)


def _pem(entry: KeyEntry) -> bytes:
    blocks = [("PRIVATE KEY", entry.key), *(("CERTIFICATE", certificate) for certificate in entry.chain)]
    return b"".join(
        f"-----BEGIN {name}-----\n".encode() + encodebytes(block) + f"-----END {name}-----\n".encode()
        for name, block in blocks
    )


def _trust(context: ssl.SSLContext, certificates: list[bytes]) -> None:
    try:
        context.load_verify_locations(cadata=b"".join(certificates))
    except ssl.SSLError as error:
        raise TlsError(f"A trusted certificate cannot be used: {error.reason or error}") from None
