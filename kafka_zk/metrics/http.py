"""The Prometheus endpoint: GET /metrics on kafka_zk.metrics.port.

Role        Acts: a small gevent WSGI server of its own, apart from Kafka's listeners. Off unless the port is set.
            With a context it speaks TLS, with an access it asks each request for a name and a password.
Invariants  At most MAX_CONNECTIONS are open, each for a request that ends within REQUEST_S, as does a TLS handshake;
            later ones wait in the kernel's backlog. However slow the readers, at most MAX_PAGES pages are in memory.
            Who is not let in learns nothing: not which paths there are.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from socket import SHUT_RDWR
from typing import Any

import gevent
from gevent import get_hub
from gevent import ssl as gevent_ssl
from gevent.lock import Semaphore
from gevent.pool import Pool
from gevent.pywsgi import WSGIHandler, WSGIServer

from kafka_zk.giving_way import let_others_in
from kafka_zk.metrics.access import CHALLENGE, BasicAccess
from kafka_zk.metrics.registry import MetricsRegistry

SLICE_NS = 1_000_000
"""How long a scrape may hold the loop before other greenlets get a turn."""

MAX_CONNECTIONS = 8
"""Descriptors that are taken from clients and segments; the listening socket takes one more."""

REQUEST_S = 20.0
"""Limit of a request, from the wait for its first byte until its answer is read: twice Prometheus's timeout."""

MAX_PAGES = 2
"""While this many pages are being read, further clients get the newest of them, however old it is."""

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_WORDS = "text/plain; charset=utf-8"


class MetricsServer:
    """Serves one registry. Port 0 takes any free port; after `start`, `port` is the actual one."""

    def __init__(
        self,
        registry: MetricsRegistry,
        *,
        host: str,
        port: int,
        tls: ssl.SSLContext | None = None,
        access: BasicAccess | None = None,
    ) -> None:
        """`tls` None: plain HTTP; `access` None: everybody who reaches the port may read."""
        self._registry = registry
        self._access = access
        self._making = Semaphore()
        self._pages: list[_Page] = []
        self._server = _Server(
            tls,
            (host, port),
            self._answer,
            log=None,
            error_log=None,
            spawn=Pool(MAX_CONNECTIONS),
            handler_class=_Handler,
        )

    @property
    def port(self) -> int:
        port = self._server.server_port
        assert port is not None, "the port is known once the server was started"
        return port

    def start(self) -> None:
        """Raises OSError when the port is taken."""
        self._server.start()

    def stop(self) -> None:
        """Blocks. Closes the listening socket and waits up to a second for answers under way."""
        self._server.stop(timeout=1)

    def _answer(self, environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        if self._access is not None and not self._access.allows(environ.get("HTTP_AUTHORIZATION")):
            body = [b"A name and a password are needed.\n"]
            return _reply(method, start_response, "401 Unauthorized", body, ("WWW-Authenticate", CHALLENGE))
        if environ["PATH_INFO"] not in ("/metrics", "/"):
            return _reply(method, start_response, "404 Not Found", [b"The metrics are at /metrics.\n"])
        if method not in ("GET", "HEAD"):
            return _reply(method, start_response, "405 Method Not Allowed", [b"Only GET is served.\n"])
        page = self._page()
        _start(start_response, "200 OK", _TEXT, page.parts)
        return _Reading(page, self._read, _told(method, page.parts))

    def _page(self) -> _Page:
        """Blocks while a page is made. Returns a page and counts one more reader of it."""
        # Imported late: the library costs start-up time that a broker without this port need not pay.
        from kafka_zk.metrics.prometheus import exposition

        with self._making:
            if len(self._pages) < MAX_PAGES:
                self._pages.append(_Page(exposition(self._registry, _slices())))
            page = self._pages[-1]
            page.reader_count += 1
            return page

    def _read(self, page: _Page) -> None:
        page.reader_count -= 1
        if not page.reader_count:
            self._pages.remove(page)


class _Server(WSGIServer):
    """Shakes hands in the greenlet of each connection."""

    def __init__(self, tls: ssl.SSLContext | None, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._tls = tls

    def handle(self, sock: Any, address: Any) -> None:
        """Blocks until the connection ends. A handshake that fails or lasts too long ends it silently."""
        if self._tls is None:
            super().handle(sock, address)
            return
        try:
            protected = gevent_ssl.SSLSocket(
                sock=sock, server_side=True, do_handshake_on_connect=False, _context=self._tls
            )
        except OSError:
            # The client has gone already.
            return
        try:
            if _shakes_hands(protected):
                super().handle(protected, address)
        finally:
            # The server closes the plain socket, which holds nothing any more.
            protected.close()


def _shakes_hands(protected: gevent_ssl.SSLSocket) -> bool:
    """Blocks for REQUEST_S at most. Whether the connection may be used."""
    timeout = gevent.Timeout.start_new(REQUEST_S)
    try:
        protected.do_handshake()
    except OSError:
        return False
    except gevent.Timeout as expired:
        if expired is not timeout:
            raise
        return False
    finally:
        timeout.close()
    return True


class _Handler(WSGIHandler):
    """Limits the time of each request, and closes the connection of a slower one.

    The Timeout ends a wait for a page. It does not end a wait for the client: pywsgi catches it, and then waits for the
    rest of a body, or for the client to read the error. So the socket is closed, too.
    """

    def handle(self) -> None:
        """Blocks. Serve all requests of a connection."""
        self._end: Any = get_hub().loop.timer(REQUEST_S, REQUEST_S)
        self._pause = _slices()
        try:
            super().handle()
        finally:
            self._end.close()

    def handle_one_request(self) -> Any:
        # Requests that arrived together do not wait for the socket.
        self._pause()
        self._end.again(self._end_socket)
        timeout = gevent.Timeout.start_new(REQUEST_S)
        try:
            return super().handle_one_request()
        except gevent.Timeout as expired:
            if expired is not timeout:
                raise
            return None
        finally:
            timeout.close()

    def _end_socket(self) -> None:
        with suppress(OSError):
            self.socket.shutdown(SHUT_RDWR)


class _Page:
    """What a scrape found, and how many clients read it."""

    def __init__(self, parts: list[bytes]) -> None:
        self.parts = parts
        self.reader_count = 0


class _Reading:
    """A page as one client reads it. The server calls `close` once, whatever happens."""

    def __init__(self, page: _Page, on_close: Callable[[_Page], None], told: list[bytes]) -> None:
        self._page = page
        self._on_close = on_close
        self._told = told

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._told)

    def close(self) -> None:
        self._on_close(self._page)


def _slices() -> Callable[[], None]:
    """Yields to other greenlets whenever a slice's time is over."""
    slice_ends_ns = time.monotonic_ns() + SLICE_NS

    def pause() -> None:
        nonlocal slice_ends_ns
        if time.monotonic_ns() >= slice_ends_ns:
            let_others_in()
            slice_ends_ns = time.monotonic_ns() + SLICE_NS

    return pause


def _reply(
    method: str, start_response: Callable[..., object], status: str, body: list[bytes], *more: tuple[str, str]
) -> Iterable[bytes]:
    _start(start_response, status, _WORDS, body, *more)
    return _told(method, body)


def _told(method: str, body: list[bytes]) -> list[bytes]:
    """What follows the head: nothing after a HEAD, whose client would take it for its next answer."""
    return [] if method == "HEAD" else body


def _start(
    start_response: Callable[..., object], status: str, content_type: str, body: list[bytes], *more: tuple[str, str]
) -> None:
    size_bytes = sum(map(len, body))
    start_response(status, [("Content-Type", content_type), ("Content-Length", str(size_bytes)), *more])
