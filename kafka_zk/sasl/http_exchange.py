"""One request over HTTP and its answer, with a limit for all of it: the issuers of tokens are asked so.

Role        Acts: opens one connection, closes it. Blocks, so a broker calls it in a thread.
Invariants  The end comes after `timeout_s`, however slowly a handshake, a header or an answer trickles.
            No redirects, no proxies of the environment, no other protocols.
Source      The module http.client: its time-out is one of each read.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
import urllib.parse
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, NamedTuple

CHUNK_BYTES: Final = 64 * 1024

_PORTS: Final = {"http": 80, "https": 443}


class Answer(NamedTuple):
    """What the server said."""

    status: int
    body: bytes


class TooLarge(OSError):
    """The answer has more bytes than were allowed."""


class TooSlow(OSError):
    """The answer is not whole in time."""


def exchange(
    url: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    context: ssl.SSLContext | None = None,
    connect_timeout_s: float | None = None,
    timeout_s: float,
    max_bytes: int,
) -> Answer:
    """Blocks for `timeout_s` at most, without the time that resolving a name takes. `context`: of https, else Python's.

    With `connect_timeout_s` it counts from the moment when there is a connection, which may take that long.

    Raises OSError, http.client.HTTPException, ValueError, whose texts may quote what was received.
    """
    parts = urllib.parse.urlsplit(url)
    scheme = parts.scheme.lower()
    if scheme not in _PORTS or not parts.hostname:
        raise ValueError("no URL of http or https")
    tls = (context or ssl.create_default_context()) if scheme == "https" else None
    target = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
    connection = _Connection(parts.hostname, parts.port or _PORTS[scheme], tls, connect_timeout_s, timeout_s)
    try:
        connection.request(method, target, body, {"Connection": "close", **(headers or {})})
        with connection.getresponse() as response:
            answer = Answer(response.status, _read(response, max_bytes))
    except (OSError, http.client.HTTPException, ValueError) as error:
        # A step has the same time as all of them: either may notice first that it is over.
        if connection.is_late or (connection.is_open and isinstance(error, TimeoutError)):
            raise TooSlow("the answer takes too long") from None
        raise
    finally:
        connection.close()
        connection.end_watch()
    if connection.is_late:
        # What was cut off looks like an end.
        raise TooSlow("the answer takes too long")
    return answer


def _read(response: http.client.HTTPResponse, max_bytes: int) -> bytes:
    parts, size_bytes = [], 0
    while chunk := response.read1(CHUNK_BYTES):
        parts.append(chunk)
        size_bytes += len(chunk)
        if size_bytes > max_bytes:
            raise TooLarge(f"the answer is larger than {max_bytes} bytes")
    return b"".join(parts)


class _Connection(http.client.HTTPConnection):
    """A connection whose other end is gone, for whoever reads, when its time is over."""

    def __init__(
        self, host: str, port: int, tls: ssl.SSLContext | None, connect_timeout_s: float | None, timeout_s: float
    ) -> None:
        super().__init__(host, port, timeout=timeout_s)
        if tls is not None:
            self.default_port = _PORTS["https"]
        self.is_late = False
        self._tls = tls
        self._connect_timeout_s = connect_timeout_s
        self._timeout_s = timeout_s
        self._guard: socket.socket | None = None
        self._timer: threading.Timer | None = None

    def connect(self) -> None:
        begun_s = time.monotonic()
        wait_s = self._timeout_s if self._connect_timeout_s is None else self._connect_timeout_s
        plain = socket.create_connection((self.host, self.port), wait_s)
        plain.settimeout(self._timeout_s)
        end_s = (begun_s if self._connect_timeout_s is None else time.monotonic()) + self._timeout_s
        # One more descriptor of the connection: TLS takes the first one over, and is interrupted in its handshake, too.
        self._guard = plain.dup()
        self._timer = threading.Timer(max(0.0, end_s - time.monotonic()), self._end)
        self._timer.daemon = True
        self._timer.start()
        try:
            self.sock = plain if self._tls is None else self._tls.wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise

    @property
    def is_open(self) -> bool:
        """Whether there was a connection: its time counts."""
        return self._timer is not None

    def end_watch(self) -> None:
        """Its own method: HTTPConnection closes itself once a response has its socket."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        if self._guard is not None:
            self._guard.close()

    def _end(self) -> None:
        self.is_late = True
        assert self._guard is not None
        with suppress(OSError):
            self._guard.shutdown(socket.SHUT_RDWR)
