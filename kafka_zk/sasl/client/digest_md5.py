"""DIGEST-MD5 (RFC 2831), as ZooKeeper's servers speak it: authentication alone, no protection of what follows.

Role        Pure. The client's half; ZooKeeper is the only server that is spoken to.
Invariants  The server must prove that it knows the password, too, before the login counts as complete.
Source      com.sun.security.sasl.digest.DigestMD5Client and DigestMD5Base in OpenJDK 17; SecurityUtils and
            ZooKeeperSaslClient in ZooKeeper 3.8, which have fixed the service and the host.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

from kafka_zk.sasl.client.exchange import ExchangeFailed

SERVICE = "zookeeper"
HOST = "zk-sasl-md5"
"""In place of the server's name, as in every client of ZooKeeper."""

_NONCE_BYTES = 30
_NONCE_COUNT = "00000001"
_DIRECTIVE = re.compile(r'\s*([A-Za-z-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^,"\s]*))\s*(?:,|$)')


class DigestMd5Client:
    """Logs in as `username`. It has nothing to say before the server's challenge: `first` is empty."""

    mechanism = "DIGEST-MD5"

    def __init__(
        self, username: str, password: str, *, uri: str = f"{SERVICE}/{HOST}", cnonce: str | None = None
    ) -> None:
        self._username = username
        self._password = password
        self._uri = uri
        self._cnonce = cnonce or secrets.token_urlsafe(_NONCE_BYTES)
        self._expected: str | None = None
        self._is_complete = False

    def first(self) -> bytes:
        return b""

    def next(self, challenge: bytes) -> bytes | None:
        directives = _directives(challenge)
        if self._expected is None:
            return self._answer(directives)
        if not hmac.compare_digest(directives.get("rspauth", "").encode(), self._expected.encode()):
            raise ExchangeFailed("The server does not know the password of DIGEST-MD5")
        self._is_complete = True
        return None

    @property
    def is_complete(self) -> bool:
        return self._is_complete

    def _answer(self, challenge: dict[str, str]) -> bytes:
        if challenge.get("algorithm") != "md5-sess" or not challenge.get("nonce"):
            raise ExchangeFailed("The server's challenge is not one of DIGEST-MD5")
        offered = {each.strip() for each in challenge.get("qop", "auth").split(",")}
        if "auth" not in offered:
            raise ExchangeFailed("The server of DIGEST-MD5 wants to protect the connection, which is not supported")
        realm, nonce = challenge.get("realm", ""), challenge["nonce"]
        uri = self._uri
        secret = hashlib.md5(b":".join(map(_hashed, (self._username, realm, self._password)))).digest()
        a1 = _hex(secret + f":{nonce}:{self._cnonce}".encode())

        def proof(a2: str) -> str:
            return _hex(f"{a1}:{nonce}:{_NONCE_COUNT}:{self._cnonce}:auth:{_hex(a2.encode())}".encode())

        self._expected = proof(f":{uri}")
        quoted = {"username": self._username, "realm": realm, "nonce": nonce, "cnonce": self._cnonce}
        texts = [f'{name}="{_escaped(value)}"' for name, value in quoted.items()]
        texts += [f"nc={_NONCE_COUNT}", "qop=auth", f'digest-uri="{uri}"', f"response={proof(f'AUTHENTICATE:{uri}')}"]
        return ",".join(["charset=utf-8", *texts]).encode()


def _directives(challenge: bytes) -> dict[str, str]:
    """`name=value` pairs; of a name that comes twice (realms) the first counts. Raises ExchangeFailed."""
    found: dict[str, str] = {}
    try:
        text = challenge.decode()
    except UnicodeDecodeError:
        raise ExchangeFailed("The server's challenge is not one of DIGEST-MD5") from None
    at = 0
    while at < len(text):
        pair = _DIRECTIVE.match(text, at)
        if pair is None:
            raise ExchangeFailed("The server's challenge is not one of DIGEST-MD5")
        quoted = pair[2]
        found.setdefault(pair[1].lower(), pair[3] if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        at = pair.end()
    return found


def _hashed(text: str) -> bytes:
    """What goes into the hash: ISO-8859-1 where it suffices, although UTF-8 is on the wire."""
    try:
        return text.encode("iso-8859-1")
    except UnicodeEncodeError:
        return text.encode()


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _hex(data: bytes) -> str:
    return hashlib.md5(data).hexdigest()
