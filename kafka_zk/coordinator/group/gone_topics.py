"""Removes loaded offsets of topics that were deleted while their group had no coordinator.

Role        Acts, in a greenlet of its own: ZooKeeper may be unreachable, and loads do not wait for it.
Invariants  Offsets of a topic that may exist stay. The broker that accepted a commit knew the topic: it was
            in ZooKeeper before its record was in the log. ZooKeeper is read after the load, and its server catches up
            first. Offsets committed since stay.
Source      None: Kafka keeps such offsets until they expire, and uses them for the next topic of that name.
"""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import gevent
from gevent.event import Event

from kafka_zk.coordinator.group.decisions.group import Group
from kafka_zk.coordinator.group.decisions.offsets import Committed
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.supervision import spawn_for_life
from kafka_zk.zk.errors import ZkError

OFFSETS_PER_TURN = 1_000

log = logging.getLogger("kafka.coordinator.group.GroupMetadataManager")


class Loaded(NamedTuple):
    """One offset as found after a load."""

    group: Group
    partition: TopicPartition
    committed: Committed


class GoneTopics:
    """`is_known(topic)`: whether the metadata has it. `gone(topics)`: those that do not exist or are to be deleted;
    blocks, raises ZkError. `forget(offsets)` removes them."""

    def __init__(
        self,
        *,
        is_known: Callable[[str], bool],
        gone: Callable[[Collection[str]], Collection[str]],
        forget: Callable[[Sequence[Loaded]], None],
    ) -> None:
        self._is_known = is_known
        self._gone = gone
        self._forget = forget
        self._loads: deque[Sequence[Group]] = deque()
        self._has_load = Event()
        self._greenlet: gevent.Greenlet[..., None] | None = None

    def startup(self) -> None:
        self._greenlet = spawn_for_life("GoneTopics", self._run)

    def shutdown(self) -> None:
        """Blocks. Stop looking for deleted topics."""
        if self._greenlet is not None:
            self._greenlet.kill()
            self._greenlet = None

    def look_through(self, groups: Sequence[Group]) -> None:
        """Check groups that were just loaded. Does not switch."""
        self._loads.append(groups)
        self._has_load.set()

    def _run(self) -> None:
        while True:
            self._has_load.wait()
            while self._loads:
                self._look_through(self._loads.popleft())
            self._has_load.clear()

    def _look_through(self, groups: Sequence[Group]) -> None:
        """Blocks. Remove the offsets of these groups whose topics no longer exist."""
        doubtful: defaultdict[str, list[Loaded]] = defaultdict(list)
        looked_at = 0
        for group in groups:
            for partition, committed in group.offsets.committed.items():
                if not self._is_known(partition.topic):
                    doubtful[partition.topic].append(Loaded(group, partition, committed))
            looked_at += 1 + len(group.offsets.committed)
            if looked_at >= OFFSETS_PER_TURN:
                looked_at = 0
                gevent.sleep(0)
        if not doubtful:
            return
        try:
            gone = sorted(self._gone(sorted(doubtful)))
        except ZkError as error:
            log.warning("[GroupMetadataManager] Could not check which topics of the loaded offsets exist: %s", error)
            return
        for topic in gone:
            log.info("[GroupMetadataManager] Removing loaded offsets of deleted topic %s", topic)
            self._forget(doubtful[topic])
