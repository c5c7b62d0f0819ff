"""A broker of a few lines, for tests of clients: answers each request with what the test wrote down for it."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.header import decode_request_header, encode_response_header, response_header_is_flexible
from kafka_zk.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse

API_VERSIONS_KEY = 18

Handler = Callable[[Any, int], Any]
"""(request, version) -> response; None closes the connection instead."""


class ScriptedBroker:
    """Listens on a free port of the loopback; `seen` are the (key, version) of all requests."""

    def __init__(
        self,
        handlers: dict[int, Handler],
        *,
        versions: dict[int, tuple[int, int]],
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
    ):
        self.handlers = handlers
        self.refused: list[str] = []
        """Why TLS handshakes failed."""
        self.said_goodbye = threading.Event()
        """A client ended its TLS connection as it should: with close_notify."""
        self._tls = tls
        self.seen: list[tuple[int, int]] = []
        self._versions = versions
        self._listener = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.host = host
        self.port = self._listener.getsockname()[1]
        self._connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def bootstrap(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __enter__(self) -> ScriptedBroker:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, *self._connections):
            with contextlib.suppress(OSError):
                # That of ssl.SSLSocket would have its reader take what comes next for plain text.
                socket.socket.shutdown(each, socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self._tls is not None:
                connection = self._shake_hands(connection, self._tls)
            for frame in _frames(connection):
                answer = self._answer(frame)
                if answer is None:
                    connection.close()
                    return
                connection.sendall(struct.pack(">i", len(answer)) + answer)
            # An end without close_notify raises.
            self.said_goodbye.set()

    def _shake_hands(self, connection: socket.socket, context: ssl.SSLContext) -> socket.socket:
        try:
            protected = context.wrap_socket(connection, server_side=True, suppress_ragged_eofs=False)
        except ssl.SSLError as error:
            self.refused.append(error.reason or str(error))
            connection.close()
            raise
        self._connections.append(protected)
        return protected

    def _answer(self, frame: bytes) -> bytes | None:
        header = decode_request_header(frame)
        key, version = header.api_key, header.api_version
        self.seen.append((key, version))
        if key == API_VERSIONS_KEY:
            response, version = self._api_versions(version)
        else:
            request = API_TABLE[key].request.decode(frame, version, header.body_position)
            response = self.handlers[key](request, version)
        if response is None:
            return None
        head = encode_response_header(header.correlation_id, response_header_is_flexible(key, version))
        return head + bytes(API_TABLE[key].response.encode(response, version))

    def _api_versions(self, version: int) -> tuple[ApiVersionsResponse, int]:
        offered = [
            ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in self._versions.items()
        ]
        low, high = self._versions[API_VERSIONS_KEY]
        if low <= version <= high:
            return ApiVersionsResponse(api_keys=offered), version
        return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=offered), 0


def _frames(connection: socket.socket) -> Iterator[bytes]:
    stream = connection.makefile("rb")
    while len(size := stream.read(4)) == 4:
        yield stream.read(struct.unpack(">i", size)[0])
