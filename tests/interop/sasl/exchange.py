"""Frames of a login sent to a broker one by one, and what was seen: answers, the end, and when."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kafka_zk.protocol.header import encode_request_header
from kafka_zk.protocol.messages.api_versions import API_VERSIONS_REQUEST, ApiVersionsRequest
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest
from kafka_zk.protocol.messages.sasl_authenticate import SASL_AUTHENTICATE_REQUEST, SaslAuthenticateRequest
from kafka_zk.protocol.messages.sasl_handshake import SASL_HANDSHAKE_REQUEST, SaslHandshakeRequest

DELAY_MS = 600
"""Of a failed login where ends are compared: at once and late must differ on a busy machine, too."""

QUIET_S = 5.0
"""So long without an answer: there is none."""

LINGER_S = 1.0
"""So long without an end after the last answer: the connection stays open."""

SOON_S = 0.58
"""An end before that is one at once: a late one comes later, however fast the machine is."""

MOST_TIMES_ASKED = 4
"""A broker that waits for its turn ends a connection late that it ends at once. By itself it does so each time."""

Frame = bytes | float | Callable[[list[bytes]], bytes]
"""Without its length; a function makes it of the answers so far. A number is a pause in seconds."""


@dataclass
class Seen:
    """`answers` without their lengths; `end`: open, or closed at once or late; `was_late` tells the last answer's.

    `port`: the client's, by which a broker's log names the connection.
    """

    answers: list[bytes] = field(default_factory=list)
    end: str = "open"
    was_late: bool = False
    port: int = 0


def exchange(bootstrap: str, frames: list[Frame]) -> Seen:
    """Send each frame when the one before is answered, or stays without an answer."""
    host, _, port = bootstrap.rpartition(":")
    seen = Seen()
    with socket.create_connection((host, int(port)), timeout=10) as sock:
        seen.port = sock.getsockname()[1]
        for each in frames:
            if isinstance(each, float):
                time.sleep(each)
                continue
            frame = each if isinstance(each, bytes) else each(seen.answers)
            sent_s = time.monotonic()
            try:
                sock.sendall(frame if frame[:4] == RAW else struct.pack(">i", len(frame)) + frame)
                answer = _receive(sock)
            except (ConnectionError, EOFError):
                seen.end = "closed at once" if time.monotonic() - sent_s < SOON_S else "closed late"
                return seen
            except TimeoutError:
                continue
            seen.was_late = time.monotonic() - sent_s >= SOON_S
            seen.answers.append(answer)
        try:
            sock.settimeout(LINGER_S)
            more = sock.recv(1)
            seen.end = "more bytes" if more else "closed after the answer"
        except TimeoutError:
            pass
        except ConnectionError:
            seen.end = "closed after the answer"
    return seen


RAW = struct.pack(">i", -1)[:4]
"""A frame that begins like this is sent as it is: its length is wrong on purpose."""


def _receive(sock: socket.socket) -> bytes:
    sock.settimeout(QUIET_S)
    head = _exactly(sock, 4)
    sock.settimeout(5)
    return _exactly(sock, struct.unpack(">i", head)[0])


def _exactly(sock: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = sock.recv(size - len(found))
        if not more:
            raise EOFError
        found += more
    return found


# --- frames ------------------------------------------------------------------------------------------------------


def header(key: int, version: int, correlation_id: int = 7) -> bytes:
    return encode_request_header(key, version, correlation_id, "raw")


def handshake(mechanism: str, version: int = 1) -> bytes:
    body = SASL_HANDSHAKE_REQUEST.encode(SaslHandshakeRequest(mechanism=mechanism), min(version, 1))
    return header(17, version) + bytes(body)


def authenticate(token: bytes, version: int = 2) -> bytes:
    body = SASL_AUTHENTICATE_REQUEST.encode(SaslAuthenticateRequest(auth_bytes=token), version)
    return header(36, version) + bytes(body)


def versions(version: int = 3, name: str = "raw", software: str = "1.0") -> bytes:
    request = ApiVersionsRequest(client_software_name=name, client_software_version=software)
    return header(18, version) + bytes(API_VERSIONS_REQUEST.encode(request, min(version, 3)))


def metadata(version: int = 1) -> bytes:
    return header(3, version) + bytes(METADATA_REQUEST.encode(MetadataRequest(topics=[]), version))


def plain(user: str, password: str, authorization_id: str = "") -> bytes:
    return f"{authorization_id}\0{user}\0{password}".encode()


def token_text(answer: bytes) -> bytes:
    """The AuthBytes of a SaslAuthenticate answer of version 2 that is no error."""
    size = answer[8] - 1
    if answer[8] & 0x80:
        size = (answer[8] & 0x7F | answer[9] << 7) - 1
        return answer[10 : 10 + size]
    return answer[9 : 9 + size]


@dataclass
class Scram:
    """A client of SCRAM that can be told to err."""

    user: str = "alice"
    password: str = "alice-secret"
    hash_name: str = "sha256"
    nonce: str = "clientnonce"
    gs2: str = "n,,"
    extensions: str = ""
    reserved: str = ""
    iterations_of_the_broker: bool = True
    in_front_of_the_nonce: str = ""
    final_extensions: str = ""
    channel: str = ""
    proof_bytes: int = -1
    wrong_nonce: bool = False

    @property
    def first_bare(self) -> str:
        return f"{self.reserved}n={self.user},r={self.nonce}{self.extensions}"

    def first(self) -> bytes:
        return (self.gs2 + self.first_bare).encode()

    def final(self, server_first: bytes) -> bytes:
        values = dict(pair.split("=", 1) for pair in server_first.decode().split(","))
        salted = hashlib.pbkdf2_hmac(
            self.hash_name, self.password.encode(), base64.b64decode(values["s"]), int(values["i"])
        )
        channel = self.channel or base64.b64encode(self.gs2.encode()).decode()
        nonce = "made-up" if self.wrong_nonce else self.in_front_of_the_nonce + values["r"]
        without_proof = f"c={channel},r={nonce}{self.final_extensions}"
        signed = ",".join([self.first_bare, server_first.decode(), without_proof]).encode()
        client_key = hmac.digest(salted, b"Client Key", self.hash_name)
        signature = hmac.digest(hashlib.new(self.hash_name, client_key).digest(), signed, self.hash_name)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        if self.proof_bytes >= 0:
            proof = proof[: self.proof_bytes]
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def frames(self, mechanism: str = "SCRAM-SHA-256") -> list[Frame]:
        return [
            handshake(mechanism),
            authenticate(self.first()),
            lambda answers: authenticate(self.final(token_text(answers[-1]))),
        ]

    def raw_frames(self, mechanism: str = "SCRAM-SHA-256") -> list[Frame]:
        return [handshake(mechanism, 0), self.first(), lambda answers: self.final(answers[-1])]


def unsecured_token(now_s: float, **claims: object) -> str:
    """A token without a signature; `exp` and `iat` are seconds from now."""
    # Whole milliseconds: what becomes of a part of one is nobody's business, and decides about a session's last.
    now_s = round(now_s, 3)
    body = {"sub": "alice", "iat": -1, "exp": 3600, **claims}
    for name in ("exp", "iat", "nbf"):
        if isinstance(body.get(name), int | float):
            body[name] += now_s  # type: ignore[operator]
    sections = [{"alg": "none"}, {name: value for name, value in body.items() if value is not None}]
    encoded = [base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in sections]
    return ".".join([*encoded, ""])


def bearer(token: str, authorization_id: str = "", more: str = "", scheme: str = "Bearer") -> bytes:
    gs2 = f"n,a={authorization_id}," if authorization_id else "n,,"
    return f"{gs2}\x01auth={scheme} {token}\x01{more}\x01".encode()


# --- comparing -----------------------------------------------------------------------------------------------------

_NONCE = re.compile(rb".?r=clientnonce[0-9a-z]+,s=[A-Za-z0-9+/=]+", re.DOTALL)
_SIGNATURE = re.compile(rb"v=[A-Za-z0-9+/=]{40,}")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


def comparable(answer: bytes) -> bytes:
    """Without what differs from run to run: nonces, salts, signatures, ports, the order of mechanisms, the APIs."""
    if b"127.0.0.1" in answer:
        return b"METADATA"
    if answer[4:9] == b"\0\0\0\1\1" and 0 < int.from_bytes(answer[-9:-1], "big") <= 1000:
        answer = answer[:-9] + b"A SECOND"
    if answer[-1:] == b"\0" and 3_500_000 < int.from_bytes(answer[-9:-1], "big") <= 3_600_000:
        answer = answer[:-9] + b"AN HOUR"
    # Its length differs, too: a leading zero is not written.
    answer = _NONCE.sub(b"r=NONCE", answer)
    answer = _SIGNATURE.sub(b"v=SIGNATURE", answer)
    for name in MECHANISMS:
        answer = answer.replace(struct.pack(">h", len(name)) + name.encode(), b"MECHANISM")
    return answer[:6] if len(answer) > 300 else answer
