"""The Prometheus end point: GET /metrics on kafka_zk.metrics.port.

Role        Acts: a small gevent WSGI server of its own, apart from Kafka's listeners. Off unless the port is set.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import gevent
from gevent.pywsgi import WSGIServer

from kafka_zk.metrics.registry import MetricsRegistry

SLICE_NS = 1_000_000
"""How long a scrape may hold the loop before others get a turn."""

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_WORDS = "text/plain; charset=utf-8"


class MetricsServer:
    """Serves one registry; port 0 takes any free port, `port` tells which after `start`."""

    def __init__(self, registry: MetricsRegistry, *, host: str, port: int) -> None:
        self._registry = registry
        self._server = WSGIServer((host, port), self._answer, log=None, error_log=None)

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
        if environ["PATH_INFO"] not in ("/metrics", "/"):
            return _reply(start_response, "404 Not Found", _WORDS, [b"The metrics are at /metrics.\n"])
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _reply(start_response, "405 Method Not Allowed", _WORDS, [b"Only GET is served.\n"])
        # Imported late: the library costs start-up time that a broker without this port need not pay.
        from kafka_zk.metrics.prometheus import exposition

        return _reply(start_response, "200 OK", _TEXT, exposition(self._registry, _slices()))


def _slices() -> Callable[[], None]:
    """Gives way to everybody else whenever a slice's time is over."""
    slice_ends_ns = time.monotonic_ns() + SLICE_NS

    def pause() -> None:
        nonlocal slice_ends_ns
        if time.monotonic_ns() >= slice_ends_ns:
            gevent.sleep(0)
            slice_ends_ns = time.monotonic_ns() + SLICE_NS

    return pause


def _reply(start_response: Callable[..., object], status: str, content_type: str, body: list[bytes]) -> Iterable[bytes]:
    size_bytes = sum(map(len, body))
    start_response(status, [("Content-Type", content_type), ("Content-Length", str(size_bytes))])
    return body
