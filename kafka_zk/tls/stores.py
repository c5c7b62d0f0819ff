"""Key and trust stores: PEM text, and files of PEM, PKCS12 and Java's own formats.

Role        Reads files, and keeps nothing open.
Invariants  A store is a regular file of at most 16 MiB. Its first bytes tell JKS from PKCS12, whatever the type says,
            as in Java; only PEM must be said.
            A key in a trust store adds its own certificate to what is trusted, and not those that signed it.
Source      DefaultSslEngineFactory in Kafka 3.9; TrustStoreUtil, KeyStore (keystore.type.compat) in OpenJDK 17.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field

from kafka_zk.tls import jks, pem
from kafka_zk.tls.errors import FAILED, TlsError
from kafka_zk.tls.settings import PEM, KeySource, TrustSource

MAX_STORE_BYTES = 16 * 1024 * 1024
NO_ANCHORS = "java.security.InvalidAlgorithmParameterException"
_TYPES = ("JKS", "PKCS12", "JCEKS")
_REASONS = (ValueError, TypeError, OSError, TlsError)


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A private key as PKCS#8 in DER, unencrypted, and its chain in DER, the own certificate first."""

    alias: str
    key: bytes = field(repr=False)
    chain: tuple[bytes, ...] = field(repr=False)


def load_keys(source: KeySource) -> list[KeyEntry]:
    """The keys of a store, in its order. Blocks on the disk. Raises TlsError with Kafka's texts."""
    if source.key is not None:
        try:
            return [_pem_entry(source.key, source.certificate_chain or "", source.key_password)]
        except _REASONS as error:
            raise TlsError("Invalid PEM keystore configs", _reason(error)) from None
    location = source.location or ""
    try:
        data = read_file(location)
        if source.store_type == PEM:
            text = data.decode("utf-8", "replace")
            return [_pem_entry(text, text, source.key_password)]
        return _store_keys(data, source)
    except _REASONS as error:
        raise _failed(location, source.store_type, error) from None


def load_trusted(source: TrustSource) -> list[bytes]:
    """The trusted certificates in DER; at least one. Blocks on the disk. Raises TlsError with Kafka's texts."""
    from kafka_zk.tls import pkcs

    if source.certificates is not None:
        try:
            return pkcs.checked(pem.certificates(source.certificates))
        except _REASONS as error:
            raise TlsError("Invalid PEM truststore configs", _reason(error)) from None
    location = source.location or ""
    try:
        data = read_file(location)
        if source.store_type == PEM:
            return pkcs.checked(pem.certificates(data.decode("utf-8", "replace")))
        trusted = _store_certificates(data, source)
    except _REASONS as error:
        raise _failed(location, source.store_type, error) from None
    if not trusted:
        # Java's reason why no certificate could ever be checked.
        raise TlsError("the trustAnchors parameter must be non-empty", java_class=NO_ANCHORS)
    return trusted


def read_file(location: str) -> bytes:
    """A store's bytes. Raises OSError, also for what is no regular file or too large for a store."""
    # A pipe would wait for its writer.
    descriptor = os.open(location, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{location} is no regular file")
        if status.st_size > MAX_STORE_BYTES:
            raise OSError(f"{location} has more than {MAX_STORE_BYTES} bytes")
        return file.read(MAX_STORE_BYTES)


def _failed(location: str, store_type: str, error: Exception) -> TlsError:
    if store_type == PEM:
        return TlsError(f"Failed to load PEM SSL keystore {location}", _reason(error))
    return TlsError(f"Failed to load SSL keystore {location} of type {store_type}", _reason(error), FAILED)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error) or "unreadable"


def _pem_entry(key_text: str, chain_text: str, password: str | None) -> KeyEntry:
    from kafka_zk.tls import pkcs

    key = pem.private_key(key_text)
    chain = pkcs.checked(pem.certificates(chain_text))
    try:
        return KeyEntry("kafka", pkcs.plain_key(key, password), tuple(chain))
    except (ValueError, TypeError):
        raise TlsError("Private key could not be loaded") from None


def _is_java_store(data: bytes, store_type: str) -> bool:
    if store_type.upper() not in _TYPES:
        raise TlsError(f"{store_type} not found")
    return data.startswith((jks.JKS_MAGIC, jks.JCEKS_MAGIC))


def _store_keys(data: bytes, source: KeySource) -> list[KeyEntry]:
    from kafka_zk.tls import pkcs

    assert source.password is not None, "checked by KeySource"
    key_password = source.password if source.key_password is None else source.key_password
    if _is_java_store(data, source.store_type):
        java_keys = jks.read_store(data, source.password).keys
        return [
            KeyEntry(alias, pkcs.plain_key(entry.unlocked(key_password), None), entry.chain)
            for alias, entry in java_keys.items()
        ]
    found = pkcs.read_pkcs12(data, source.password)
    if found.key is None:
        return []
    if key_password != source.password:
        # One password is all that this format has for tools; Java cannot recover the key, either.
        raise TlsError("Get Key failed: the password of the key is another one than that of the key store")
    return [KeyEntry(found.alias, found.key, found.chain)]


def _store_certificates(data: bytes, source: TrustSource) -> list[bytes]:
    from kafka_zk.tls import pkcs

    if _is_java_store(data, source.store_type):
        found = jks.read_store(data, source.password)
        return [*pkcs.checked(list(found.certificates.values())), *(key.chain[0] for key in found.keys.values())]
    store = pkcs.read_pkcs12(data, source.password)
    return [*store.chain[:1], *store.others]
