"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802), without SASLprep, as Kafka has them.

Role        Pure, but `next` may compute for long: PBKDF2 over the server's iterations, up to some 10 ms with Kafka's
            16,384. Callers with an event loop run it in a thread.
Invariants  The server must repeat our nonce, ask for 4,096 to MAX_ITERATIONS iterations, and prove that it knows the
            credential. Otherwise nothing of the password can be told from what was sent.
Source      ScramSaslClient, ScramMessages and ScramFormatter in Kafka 3.9; RFC 5802.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping

from kafka_zk.sasl.client.exchange import ExchangeFailed
from kafka_zk.sasl.scram_credentials import BY_KEY, MIN_ITERATIONS, credential_of

MAX_ITERATIONS = 1_000_000
"""What a server may ask for: 0.3 s of one core. More would let it stop its clients."""

TOKEN_AUTH = "tokenauth"
"""The extension that says: the user name is a delegation token's id, and the password its HMAC."""

_NONCE_BYTES = 24
_GS2_HEADER = "n,,"
_SERVER_FIRST = re.compile(
    r"(?:m=[^,]*,)?r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+),s=(?P<salt>[A-Za-z0-9+/]+={0,2}),i=(?P<iterations>[0-9]{1,9})(?:,.*)?"
)
_SERVER_FINAL = re.compile(r"(?:e=(?P<error>[^,]*)|v=(?P<signature>[A-Za-z0-9+/]+={0,2}))(?:,.*)?")


class ScramClient:
    """Logs in as `username`; `extensions` go with the first message: `tokenauth=true` for delegation tokens."""

    def __init__(
        self,
        mechanism: str,
        username: str,
        password: str,
        extensions: Mapping[str, str] | None = None,
        *,
        nonce: str | None = None,
    ) -> None:
        self.mechanism = mechanism
        self._hash = BY_KEY[mechanism]
        self._password = password.encode()
        self._nonce = nonce or secrets.token_urlsafe(_NONCE_BYTES)
        saved = username.replace("=", "=3D").replace(",", "=2C")
        more = "".join(f",{key}={value}" for key, value in (extensions or {}).items())
        self._client_first_bare = f"n={saved},r={self._nonce}{more}"
        self._server_signature: bytes | None = None
        self._is_complete = False

    def first(self) -> bytes:
        return (_GS2_HEADER + self._client_first_bare).encode()

    def next(self, challenge: bytes) -> bytes | None:
        try:
            text = challenge.decode()
        except UnicodeDecodeError as error:
            raise ExchangeFailed("Invalid SCRAM message: not UTF-8") from error
        if self._server_signature is None:
            return self._final(text)
        self._verify(text, self._server_signature)
        return None

    @property
    def is_complete(self) -> bool:
        return self._is_complete

    def _final(self, server_first: str) -> bytes:
        found = _SERVER_FIRST.fullmatch(server_first)
        if found is None:
            error = _SERVER_FINAL.fullmatch(server_first)
            if error is not None and error["error"] is not None:
                raise ExchangeFailed(f"Sasl authentication using {self.mechanism} failed with error: {error['error']}")
            raise ExchangeFailed("Invalid SCRAM server first message format")
        if not found["nonce"].startswith(self._nonce) or found["nonce"] == self._nonce:
            raise ExchangeFailed("Invalid server nonce: does not start with client nonce")
        iterations = int(found["iterations"])
        if iterations < MIN_ITERATIONS:
            raise ExchangeFailed(f"Requested iterations {iterations} is less than the minimum {MIN_ITERATIONS}.")
        if iterations > MAX_ITERATIONS:
            raise ExchangeFailed(f"Requested iterations {iterations} is more than the maximum {MAX_ITERATIONS}.")
        hash_name = self._hash.hash_name
        salted = hashlib.pbkdf2_hmac(hash_name, self._password, _decoded(found["salt"]), iterations)
        without_proof = f"c={_encoded(_GS2_HEADER.encode())},r={found['nonce']}"
        said = f"{self._client_first_bare},{server_first},{without_proof}".encode()
        client_key = hmac.digest(salted, b"Client Key", hash_name)
        credential = credential_of(self._hash, salt=b"", salted_password=salted, iterations=iterations)
        client_signature = hmac.digest(credential.stored_key, said, hash_name)
        self._server_signature = hmac.digest(credential.server_key, said, hash_name)
        proof = bytes(one ^ other for one, other in zip(client_key, client_signature, strict=True))
        return f"{without_proof},p={_encoded(proof)}".encode()

    def _verify(self, server_final: str, expected: bytes) -> None:
        found = _SERVER_FINAL.fullmatch(server_final)
        if found is None:
            raise ExchangeFailed("Invalid SCRAM server final message format")
        if found["error"] is not None:
            raise ExchangeFailed(f"Sasl authentication using {self.mechanism} failed with error: {found['error']}")
        if not hmac.compare_digest(_decoded(found["signature"]), expected):
            raise ExchangeFailed("Invalid server signature in server final message")
        self._is_complete = True


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ExchangeFailed("Invalid SCRAM message: not base64") from error


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
