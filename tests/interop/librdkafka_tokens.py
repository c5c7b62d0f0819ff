"""The issuer of tokens that librdkafka's case 0126 asks, and what its client needs to ask it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from tests.support.oauth_server import signed
from tests.unit.sasl.test_token_validators import RSA, jwk

USER, CLIENT_ID, CLIENT_SECRET, SCOPE, KEY_PASSWORD = "testuser", "123", "abc", "test", "of-the-key"
LIFETIME_S = 6
"""The case waits five seconds: clients must renew their tokens."""
METADATA = {"api-version", "resource", "client_id"}
"""What a query for Azure's tokens must name."""


class TokenIssuer:
    """Grants client credentials, signed assertions and Azure's metadata queries; one URL gives tokens that are over,
    one gives tokens that are none.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._key, self._encrypted_key = folder / "client.pem", folder / "client-encrypted.pem"
        form = Encoding.PEM, PrivateFormat.PKCS8
        self._key.write_bytes(RSA.private_bytes(*form, NoEncryption()))
        self._encrypted_key.write_bytes(RSA.private_bytes(*form, BestAvailableEncryption(KEY_PASSWORD.encode())))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._base = f"http://localhost:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    @property
    def keys_url(self) -> str:
        return f"{self._base}/keys"

    def client(self) -> dict[str, str]:
        """The configuration of the cases."""
        return {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": CLIENT_ID,
            "sasl.oauthbearer.client.secret": CLIENT_SECRET,
            "sasl.oauthbearer.scope": SCOPE,
            "sasl.oauthbearer.extensions": "workload=one,cluster=two",
            "sasl.oauthbearer.token.endpoint.url": f"{self._base}/token",
        }

    def environment(self) -> dict[str, str]:
        return {
            "VALID_OIDC_URL": f"{self._base}/token",
            "INVALID_OIDC_URL": f"{self._base}/none",
            "EXPIRED_TOKEN_OIDC_URL": f"{self._base}/over",
            "OAUTHBEARER_CLIENT_PRIVATE_KEY": str(self._key),
            "OAUTHBEARER_CLIENT_PRIVATE_KEY_ENCRYPTED": str(self._encrypted_key),
            "OAUTHBEARER_CLIENT_PRIVATE_KEY_PASSWORD": KEY_PASSWORD,
        }

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/keys":
            self._answer(200, {"keys": [jwk(RSA, "one")]})
        elif self.headers["Metadata"] == "true" and parse_qs(url.query).keys() >= METADATA:
            self._grant(USER)
        else:
            self._answer(400, {"error": "invalid_request"})

    def do_POST(self) -> None:
        sent = {key: values[0] for key, values in parse_qs(self._body()).items()}
        user = _user(sent)
        if user is None:
            self._answer(400, {"error": "invalid_request"})
        else:
            self._grant(user)

    def _body(self) -> str:
        return self.rfile.read(int(self.headers["Content-Length"])).decode()

    def _grant(self, user: str) -> None:
        lives_s = -60 if self.path.startswith("/over") else LIFETIME_S
        issued_s = min(0, lives_s - 60)
        token = signed(sub=user, client_id=CLIENT_ID, iat=issued_s, exp=lives_s, jti=str(time.time_ns()))
        self._answer(200, {"access_token": token + ("none" if self.path.startswith("/none") else "")})

    def _answer(self, status: int, said: Mapping[str, object]) -> None:
        text = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


def _user(sent: Mapping[str, str]) -> str | None:
    """Who gets a token; None for nobody."""
    if sent.get("scope", SCOPE) != SCOPE:
        return None
    if sent.get("grant_type") == "client_credentials":
        return USER
    try:
        claims = jwt.decode(sent["assertion"], RSA.public_key(), ["RS256"], options={"verify_aud": False})
    except (KeyError, jwt.InvalidTokenError):
        return None
    return str(claims["sub"])
