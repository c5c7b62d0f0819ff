"""Ends a TLS connection whose read does not end.

Role        Acts: a thread looks, some times a second, whether the loop is still in the read that it was in before.
            OpenSSL reads on for as long as records come that hold no data (TLS 1.3: KeyUpdate). A client can send those
            faster than they are read, and has to know nothing for it: nobody else would be served.
Invariants  Only the CPU time of the loop counts: a machine that stood still ends nobody's connection.
Source      SSL_MODE_AUTO_RETRY of OpenSSL 3, which Python's module ssl always sets.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from contextlib import suppress

LOOK_S = 0.02
LONGEST_READ_S = 0.02
"""Of CPU. A read of the usual size takes less than a millisecond."""

DRAINED_BYTES = 1024 * 1024

log = logging.getLogger("kafka.network.SocketServer")


class ReadWatch:
    """Of one loop. `start` in its thread; `begin` and `end` around each read."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._read_count = 0
        self._has_stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Look from now on. Idempotent."""
        if self._thread is None:
            clock = time.pthread_getcpuclockid(threading.get_ident())
            self._thread = threading.Thread(target=self._look, args=(clock,), name="tls-read-watch", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Blocks for at most LOOK_S."""
        self._has_stopped.set()
        if self._thread is not None:
            self._thread.join()

    def begin(self, sock: socket.socket) -> None:
        """The loop begins to read from `sock`."""
        self._read_count += 1
        self._socket = sock

    def end(self) -> None:
        self._socket = None

    def _look(self, clock: int) -> None:
        looked_at, begun_s = -1, 0.0
        while not self._has_stopped.wait(LOOK_S):
            sock, count = self._socket, self._read_count
            if sock is None:
                continue
            used_s = time.clock_gettime(clock)
            if count != looked_at:
                looked_at, begun_s = count, used_s
            elif used_s - begun_s >= LONGEST_READ_S:
                _end(sock)


def _end(sock: socket.socket) -> None:
    with suppress(OSError):
        log.warning("Closing the connection with %s: it sends only what TLS has no use for", sock.getpeername())
        # Methods of the class below: those of an SSLSocket would touch OpenSSL. Both ways, for after that, what still
        # comes resets the connection; and what is there already must not be read to its end, either.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
        while socket.socket.recv(sock, DRAINED_BYTES, socket.MSG_DONTWAIT):
            pass
