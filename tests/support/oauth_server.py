"""An OAuth server for tests: its signing keys at /keys, tokens at /token, over http or https."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt

from tests.support.certificates import Stores
from tests.unit.sasl.test_token_validators import RSA, jwk

ISSUER = "https://issuer"


def signed(**claims: object) -> str:
    """A token of this server. `iat` and `exp` count from now, in seconds."""
    now_s = time.time()
    body: dict[str, Any] = {"sub": "broker", "iss": ISSUER, "iat": 0, "exp": 3600, **claims}
    for name in ("iat", "exp"):
        body[name] += now_s
    return jwt.encode(body, RSA, "RS256", headers={"kid": "one"})


class OAuthServer:
    """Tokens live for `lifetime_s`. While `status` is not 200 that is all it answers.

    `key_requests` and `token_requests` count. `before_answer` is called in the thread of each request, and may block.
    With `stores` it speaks https.
    """

    def __init__(self, stores: Stores | None = None) -> None:
        self.lifetime_s = 3600.0
        self.status = 200
        self.before_answer: Callable[[], object] = _at_once
        self.claims: dict[str, object] = {}
        self.key_requests = 0
        self.token_requests = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.key_requests += 1
                self._answer({"keys": [jwk(RSA, "one")]})

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                server.token_requests += 1
                token = signed(exp=server.lifetime_s, jti=str(server.token_requests), **server.claims)
                self._answer({"access_token": token})

            def _answer(self, said: dict[str, object]) -> None:
                server.before_answer()
                text = json.dumps(said if server.status == 200 else {"error": "no"}).encode()
                self.send_response(server.status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        if stores is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(stores.keystore_pem)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.base = f"http{'s' if stores else ''}://localhost:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def keys_url(self) -> str:
        return f"{self.base}/keys"

    @property
    def token_url(self) -> str:
        return f"{self.base}/token"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _at_once() -> None:
    """Nothing is waited for."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that leave are what tests are about."""
