"""Waits for the first UpdateMetadata after a start.

Role        Until it has come this broker knows of no broker, not even of itself. Clients must not be told so:
            librdkafka then parts from all its brokers, and one that waits for a commit meanwhile never comes back.
            Apache serves such an empty picture for a few milliseconds after its start, too.
Invariants  Waits once: requests after the first wait in vain are answered with what is known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

import gevent
from gevent.event import Event

from kafka_zk.giving_way import InTurns
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.types import TopicPartition

T = TypeVar("T")

WAIT_S = 5.0


class FirstUpdate:
    """`wait_s`: how long to wait for the controller, counted from the first caller."""

    def __init__(self, metadata_cache: MetadataCache, wait_s: float = WAIT_S) -> None:
        self._cache = metadata_cache
        self._wait_s = wait_s
        self._over = Event()
        metadata_cache.on_change(self._look)

    def wait(self) -> None:
        """Blocks. Until a broker is known, or the controller's time is over."""
        if not self._over.is_set() and not self._over.wait(self._wait_s):
            self._over.set()

    def answer(self, answer: Callable[[], T]) -> T | Pending[T]:
        """What `answer` returns, at once or, in a greenlet of its own, when there is something to tell.

        Waiting requests must give up their place in the request channel: the UpdateMetadata needs one.
        """
        if self._over.is_set():
            return answer()
        later: Pending[T] = Pending()
        gevent.spawn(self._answer_later, answer, later)
        return later

    def _answer_later(self, answer: Callable[[], T], later: Pending[T]) -> None:
        self.wait()
        try:
            # They all wait for the same moment, and each may be told of every topic.
            with InTurns(large=False):
                value = answer()
        except Exception as error:
            # The dispatcher knows what becomes of it, as if the handler had raised it.
            later.fail(error)
        else:
            later.complete(value)

    def _look(self, topics: Collection[str], deleted: Collection[TopicPartition]) -> None:
        if self._cache.snapshot.brokers:
            self._over.set()
