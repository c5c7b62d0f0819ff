"""Java's own key stores: reads JKS, and the certificates of JCEKS.

Role        Pure.
Layout      int32 magic, int32 version (1, 2), int32 count; then entries; then SHA-1 over password, "Mighty Aphrodite"
            and all before. An entry: int32 tag, alias, int64 date; for a key (1) its encrypted bytes and its chain,
            for a certificate (2) that. Texts are uint16 length and UTF-8, bytes are int32 length and content; before
            a certificate stands its type, "X.509", in version 2. The password counts as UTF-16, big-endian.
            A key is XORed with a stream of SHA-1 sums (password + the last 20 bytes, a salt first), and followed by the
            SHA-1 of password and key.
Invariants  Nothing is believed before the digest is right, if there is a password.
Source      JavaKeyStore, KeyProtector in OpenJDK 17.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from struct import Struct

from kafka_zk.tls import der

JKS_MAGIC = b"\xfe\xed\xfe\xed"
JCEKS_MAGIC = b"\xce\xce\xce\xce"

_KEY, _CERTIFICATE = 1, 2
_PROTECTOR = "1.3.6.1.4.1.42.2.17.1.1"
_DIGEST_BYTES = 20
_INT, _SHORT = Struct(">i"), Struct(">H")


class UnreadableStore(ValueError):
    """The file is damaged, or the password is another one."""


@dataclass(frozen=True, slots=True)
class JavaKey:
    """A private key, still encrypted, and its chain in DER, the own certificate first."""

    encrypted: bytes = field(repr=False)
    chain: tuple[bytes, ...]

    def unlocked(self, password: str) -> bytes:
        """The key as PKCS#8 in DER. Raises UnreadableStore for another password."""
        try:
            algorithm, content = der.elements(der.element(self.encrypted).content)
            oid = der.dotted(der.element(algorithm.content).content)
        except ValueError as error:
            raise UnreadableStore(f"A private key is unreadable: {error}") from None
        if oid != _PROTECTOR:
            raise UnreadableStore(f"A private key is encrypted with an unsupported algorithm ({oid})")
        return _decrypted(content.content, password.encode("utf-16-be"))


@dataclass(frozen=True, slots=True)
class JavaStore:
    """Entries by alias, in the order of the file."""

    keys: dict[str, JavaKey]
    certificates: dict[str, bytes]


def read_store(data: bytes, password: str | None) -> JavaStore:
    """What is in the store. Without a password its integrity stays unchecked. Raises UnreadableStore."""
    if len(data) < 3 * 4 + _DIGEST_BYTES:
        raise UnreadableStore("The file is too short")
    content = data[:-_DIGEST_BYTES]
    if password is not None:
        digest = hashlib.sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + content).digest()
        if not hmac.compare_digest(digest, data[-_DIGEST_BYTES:]):
            raise UnreadableStore("Keystore was tampered with, or password was incorrect")
    reader = _Reader(content)
    if reader.taken(4) not in (JKS_MAGIC, JCEKS_MAGIC):
        raise UnreadableStore("Invalid keystore format")
    version = reader.integer()
    if version not in (1, 2):
        raise UnreadableStore("Invalid keystore format")
    store = JavaStore({}, {})
    for _ in range(reader.integer()):
        tag, alias = reader.integer(), reader.text()
        reader.taken(8)
        if tag == _KEY:
            encrypted = reader.block()
            chain = tuple(reader.certificate(version) for _ in range(reader.integer()))
            store.keys[alias] = JavaKey(encrypted, chain)
        elif tag == _CERTIFICATE:
            store.certificates[alias] = reader.certificate(version)
        else:
            raise UnreadableStore(f"Unrecognized keystore entry: {tag}")
    return store


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def taken(self, size_bytes: int) -> bytes:
        begin, end = self._position, self._position + size_bytes
        if size_bytes < 0 or end > len(self._data):
            raise UnreadableStore("The file is cut")
        self._position = end
        return self._data[begin:end]

    def integer(self) -> int:
        number: int = _INT.unpack(self.taken(4))[0]
        return number

    def text(self) -> str:
        return self.taken(_SHORT.unpack(self.taken(2))[0]).decode("utf-8", "replace")

    def block(self) -> bytes:
        return self.taken(self.integer())

    def certificate(self, version: int) -> bytes:
        if version == 2 and self.text() not in ("X.509", "X509"):
            raise UnreadableStore("A certificate is not of type X.509")
        return self.block()


def _decrypted(protected: bytes, password: bytes) -> bytes:
    salt, check = protected[:_DIGEST_BYTES], protected[-_DIGEST_BYTES:]
    encrypted = protected[_DIGEST_BYTES:-_DIGEST_BYTES]
    stream, last = bytearray(), salt
    while len(stream) < len(encrypted):
        last = hashlib.sha1(password + last).digest()
        stream += last
    key = bytes(left ^ right for left, right in zip(encrypted, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(password + key).digest(), check):
        raise UnreadableStore("Cannot recover key")
    return key
