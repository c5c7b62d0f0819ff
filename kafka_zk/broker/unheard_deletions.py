"""Finds topics that were deleted while this broker could not hear of it.

Role        Acts, in a greenlet of its own, through ZooKeeper. After a session expired, or a controller died with
            requests unsent, the metadata cache may have deleted topics, which no later UpdateMetadata will
            remove.
Invariants  A topic that may exist is kept. A topic is in ZooKeeper before a controller announces it, and the
            known topics are noted before ZooKeeper is read, whose server syncs first: a topic missing then was deleted.
            A topic announced again since is another one, or is left to the next check.
Source      None: Kafka shows such topics, and refuses to create them, until the broker restarts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

import gevent
from gevent.event import Event

from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metadata.snapshot import TopicState
from kafka_zk.supervision import spawn_for_life
from kafka_zk.zk.errors import ZkError
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.topics import topic_names

RETRY_S = 1.0
"""Delay before ZooKeeper is read again, after a failed check."""

log = logging.getLogger("kafka.server.KafkaServer")


class UnheardDeletions:
    """`forget(topics)` removes those that are unchanged since; returns whether all were."""

    def __init__(
        self, zk: ZkClient, metadata_cache: MetadataCache, forget: Callable[[Collection[TopicState]], bool]
    ) -> None:
        self._zk = zk
        self._metadata_cache = metadata_cache
        self._forget = forget
        self._is_due = Event()
        self._greenlet: gevent.Greenlet[..., None] | None = None

    def start(self) -> None:
        self._greenlet = spawn_for_life(
            "UnheardDeletions", self._run, on_error=lambda _: self._is_due.set(), pause_s=RETRY_S
        )

    def stop(self) -> None:
        """Blocks. Stop looking for deletions."""
        if self._greenlet is not None:
            self._greenlet.kill()
            self._greenlet = None

    def look_soon(self) -> None:
        """Check soon: a deletion may have been missed. Does not switch."""
        self._is_due.set()

    def _run(self) -> None:
        while True:
            self._is_due.wait()
            self._is_due.clear()
            try:
                self._look()
            except ZkError as error:
                log.warning("Could not check for topics deleted while this broker was away; retrying: %s", error)
                gevent.sleep(RETRY_S)
                self._is_due.set()

    def _look(self) -> None:
        """Blocks. Raises ZkError."""
        known = self._metadata_cache.snapshot.topics
        self._zk.sync()
        there = set(topic_names(self._zk))
        gone = [topic for name, topic in known.items() if name not in there]
        if not gone:
            return
        deleted = ", ".join(sorted(topic.name for topic in gone))
        log.info("Removing topics deleted while this broker was away: %s", deleted)
        if not self._forget(gone):
            self._is_due.set()
