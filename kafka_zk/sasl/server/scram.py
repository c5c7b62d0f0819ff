"""SCRAM-SHA-256 and SCRAM-SHA-512: the client proves that it knows the password without sending it.

Role        Pure: credentials, those of delegation tokens and the nonce come from outside.
Invariants  Nothing here derives a key from a password: the stored keys are enough.
            The signed text consists of the bytes that were received and sent, never of what was made of them.
Layout      client-first  n,[a=authzid],[m=..,]n=name,r=nonce(,ext=value)*
            server-first  r=<client nonce><server nonce>,s=<salt>,i=<iterations>
            client-final  c=<gs2 header>,r=<nonce>(,ext=value)*,p=<proof>
            server-final  v=<signature>
Source      ScramSaslServer, ScramMessages, ScramFormatter in Kafka 3.9; RFC 5802; CVE-2024-56128 (the nonce).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable
from typing import NamedTuple, Protocol

from kafka_zk.sasl.scram_credentials import MIN_ITERATIONS, Credential, Mechanism
from kafka_zk.sasl.server.mechanism import MAX_MESSAGE_BYTES, Identity, InvalidExchange, SaslRefused

MAX_EXTENSIONS = 100
"""Of one message: nobody has ten."""

_VALUE = rb"[\x01-\x2b\x2d-\x7f]+"
_NONCE = rb"[\x21-\x2b\x2d-\x7e]+"
_BASE64 = rb"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_ANYTHING_MORE = rb"(?:,[\x01-\x7f]+)?"

_CLIENT_FIRST = re.compile(
    rb"n,(?:a=(?P<authorization_id>" + _VALUE + rb"))?,"
    rb"(?P<bare>(?:m=" + _VALUE + rb",)?n=(?P<name>" + _VALUE + rb"),r=(?P<nonce>" + _NONCE + rb")"
    rb"(?P<extensions>" + _ANYTHING_MORE + rb"))"
)
_WITHOUT_PROOF = re.compile(
    rb"c=" + _BASE64 + rb",r=(?P<nonce>" + _NONCE + rb")(?P<extensions>" + _ANYTHING_MORE + rb")"
)
_PROOF = re.compile(_BASE64)
_EXTENSION = re.compile(rb"[A-Za-z]+=" + _VALUE)


class TokenLogin(NamedTuple):
    """A delegation token, as a login with it needs it. `owner`: a user's name; `expires_ms`: wall clock."""

    credential: Credential
    owner: str
    expires_ms: int


class TokenLogins(Protocol):
    """The delegation tokens of the cluster."""

    def scram_login(self, mechanism_key: str, token_id: str) -> TokenLogin | None:
        """Of the token with this id, for one mechanism ("SCRAM-SHA-256"); None if there is none. May block."""
        ...


CredentialOf = Callable[[str], Credential | None]
"""The credential of a user, if there is one."""


class ScramServer:
    """One exchange. `new_nonce()` gives the broker's part of the nonce; without `tokens` no token is known."""

    def __init__(
        self,
        mechanism: Mechanism,
        credential_of: CredentialOf,
        new_nonce: Callable[[], str],
        tokens: TokenLogins | None = None,
    ) -> None:
        self.identity: Identity | None = None
        self._hash_name = mechanism.hash_name
        self._mechanism = mechanism
        self._credential_of = credential_of
        self._new_nonce = new_nonce
        self._tokens = tokens
        self._credential: Credential | None = None
        self._claimed = Identity("")
        self._nonce = b""
        self._signed = b""

    def respond(self, token: bytes) -> bytes:
        """Server-first, then server-final. Raises SaslRefused, InvalidExchange. Blocks for a token's credential."""
        if self.identity is not None:
            raise InvalidExchange("The SCRAM exchange is over")
        if len(token) > MAX_MESSAGE_BYTES:
            raise InvalidExchange(f"A message of more than {MAX_MESSAGE_BYTES} bytes")
        credential = self._credential
        return self._begin(token) if credential is None else self._end(token, credential)

    def _begin(self, token: bytes) -> bytes:
        message = _CLIENT_FIRST.fullmatch(token)
        authorization_id = message and message["authorization_id"]
        if (
            message is None
            or not is_escaped(message["name"])
            or not is_escaped(authorization_id or b"")
            or not _are_extensions(message["extensions"])
        ):
            raise InvalidExchange("Invalid SCRAM client first message format")
        name = message["name"].decode().replace("=2C", ",").replace("=3D", "=")
        credential, self._claimed = self._look_up(name, message["extensions"])
        if authorization_id is not None and authorization_id.decode() != name:
            raise SaslRefused(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        if credential.iterations < MIN_ITERATIONS:
            raise InvalidExchange(
                f"Iterations {credential.iterations} is less than the minimum {MIN_ITERATIONS} for "
                f"{self._mechanism.key}"
            )
        self._nonce = message["nonce"] + self._new_nonce().encode()
        first = b"r=%b,s=%b,i=%d" % (self._nonce, base64.b64encode(credential.salt), credential.iterations)
        self._signed = message["bare"] + b"," + first
        self._credential = credential
        return first

    def _look_up(self, name: str, extensions: bytes) -> tuple[Credential, Identity]:
        if _asks_for_token(extensions):
            login = None if self._tokens is None else self._tokens.scram_login(self._mechanism.key, name)
            if login is None:
                raise InvalidExchange("Token Authentication failed: Invalid tokenId")
            return login.credential, Identity(login.owner, login.expires_ms, token_authenticated=True)
        credential = self._credential_of(name)
        if credential is None:
            raise InvalidExchange("Authentication failed: Invalid user credentials")
        return credential, Identity(name)

    def _end(self, token: bytes, credential: Credential) -> bytes:
        without_proof, _, proof = token.rpartition(b",p=")
        message = _WITHOUT_PROOF.fullmatch(without_proof)
        if message is None or not _are_extensions(message["extensions"]) or not _PROOF.fullmatch(proof):
            raise InvalidExchange("Invalid SCRAM client final message format")
        # librdkafka up to 2.6.0 puts its own nonce in front of the whole one.
        if not message["nonce"].endswith(self._nonce):
            raise InvalidExchange("Invalid client nonce in the final client message.")
        signed = self._signed + b"," + without_proof
        self._check_proof(proof, signed, credential)
        signature = hmac.digest(credential.server_key, signed, self._hash_name)
        self.identity = self._claimed
        return b"v=" + base64.b64encode(signature)

    def _check_proof(self, text: bytes, signed: bytes, credential: Credential) -> None:
        try:
            proof = base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise InvalidExchange("Invalid SCRAM client proof") from error
        signature = hmac.digest(credential.stored_key, signed, self._hash_name)
        if len(proof) != len(signature):
            raise InvalidExchange("Invalid client credentials: the proof has another length")
        client_key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
        computed = hashlib.new(self._hash_name, client_key).digest()
        if not hmac.compare_digest(computed, credential.stored_key):
            raise InvalidExchange("Invalid client credentials")


def is_escaped(name: bytes) -> bool:
    """Whether each `=` of a name stands for a comma or an equals sign. Also OAUTHBEARER writes names so."""
    return name.count(b"=") == name.count(b"=2C") + name.count(b"=3D")


def _are_extensions(text: bytes) -> bool:
    """Whether this is nothing, or `,name=value` a few times."""
    return text.count(b",") <= MAX_EXTENSIONS and all(_EXTENSION.fullmatch(each) for each in text.split(b",")[1:])


def _asks_for_token(extensions: bytes) -> bool:
    """Of several values of one extension the last counts, as in Kafka."""
    values = dict(pair.partition(b"=")[::2] for pair in extensions.split(b",") if pair)
    return values.get(b"tokenauth", b"").lower() == b"true"
