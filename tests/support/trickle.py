"""A proxy that passes bytes on slowly, in a thread of its own: a network that is nearly down."""

from __future__ import annotations

import contextlib
import socket
import threading
import time


class Trickle:
    """Passes on `size` bytes every `pause_s` from the server; what the client says goes on at once.

    `passed_bytes` counts the former.
    """

    def __init__(self, port: int, *, pause_s: float, size: int = 1) -> None:
        self.pause_s = pause_s
        self.size = size
        self.passed_bytes = 0
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def connect(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def stop(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._pass_on, args=(client, server, False), daemon=True).start()
                threading.Thread(target=self._pass_on, args=(server, client, True), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_slow: bool) -> None:
        with contextlib.suppress(OSError), source, target:
            while data := source.recv(self.size if is_slow else 65_536):
                if is_slow and self.pause_s:
                    time.sleep(self.pause_s)
                target.sendall(data)
                self.passed_bytes += len(data) if is_slow else 0
