"""Whether sockets have their turn while somebody gives way: callbacks of the loop run before it looks at any."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from gevent import get_hub

from kafka_zk.network.parking import READ


def looks_at_sockets(give_way: Callable[[], object]) -> bool:
    """Blocks as `give_way`, twice: what the loop finds with the end of a pause it may serve behind it. Whether a socket
    with something to read was looked at meanwhile."""
    seen: list[bool] = []
    here, there = socket.socketpair()
    with here, there, get_hub().loop.io(here.fileno(), READ) as watcher:
        readable: Any = watcher
        readable.start(seen.append, True)
        there.send(b"x")
        give_way()
        give_way()
    return bool(seen)
