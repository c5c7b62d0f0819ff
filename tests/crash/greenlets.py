"""The greenlets of one life of the broker: all of them end with it.

One that is left waiting would end when Python's collector finds it. Then what it has to tidy up happens in the middle
of a later life, at a moment that no seed decides, and draws from the same chance.
"""

from __future__ import annotations

import gevent
from gevent import Greenlet

from kafka_zk.protocol.errors import KafkaStorageError


class Greenlets:
    def __init__(self) -> None:
        self._begun: list[Greenlet[..., object]] = []
        self._note = self._begun.append
        Greenlet.add_spawn_callback(self._note)

    def end(self) -> None:
        """Kill those that are left; the disk is off by then. Raises the error of one that ended by a fault of ours."""
        Greenlet.remove_spawn_callback(self._note)
        begun = list(self._begun)
        self._begun.clear()
        gevent.killall(begun)
        for each in begun:
            if each.exception is not None and not isinstance(each.exception, KafkaStorageError):
                raise each.exception
