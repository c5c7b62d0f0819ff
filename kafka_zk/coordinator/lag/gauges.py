"""GroupLag: the lag of each group on each partition that this broker leads.

Role        Acts only when metrics are scraped.
Invariants  The leader reports the lag: only it knows its log end. A committed offset is read before the end it is
            compared with, or at the same instant where the group is coordinated here: no lag is negative because of a
            race, and none uses an outdated end.
            OffsetLag is what Apache's `--describe` prints, the high watermark less the committed offset; but never
            below zero, if a log was truncated. RecordsLeft counts the records that a consumer will get; it is NaN while
            they are being counted.
            One scrape returns MAX_SERIES pairs at most, and waits two seconds at most for other brokers. Concurrent
            scrapes wait for one another: they would count the same records twice.
Source      ConsumerGroupCommand: collectConsumerAssignment, getLag.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from gevent.lock import BoundedSemaphore

from kafka_zk.clock import Clock
from kafka_zk.coordinator.lag.other_coordinators import Connect, GroupOffsets, committed_elsewhere
from kafka_zk.coordinator.lag.record_counts import Pause, RecordCounts
from kafka_zk.metadata.snapshot import Node
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.registry import Row
from kafka_zk.protocol.types import TopicPartition

if TYPE_CHECKING:
    from kafka_zk.replication.hosted import HostedPartitions
    from kafka_zk.replication.partition import Partition

MAX_SERIES = 100_000
PAIRS_PER_TURN = 200

_TABLE = "kafka.coordinator.group:type=GroupLag"
_NAMES = ("OffsetLag", "RecordsLeft")

log_lines = logging.getLogger("kafka.coordinator.group.GroupLag")


class _Distance(NamedTuple):
    """A group's distance in one partition: from its committed offset to the log end at that time."""

    offset: int
    end: int
    group_id: str


class GroupLag:
    """`coordinated()` are the groups of this broker, each group's offsets of one instant; `others()` the other brokers.

    `connect(node)` opens a channel to one of them.
    """

    def __init__(
        self,
        *,
        hosted: HostedPartitions,
        coordinated: Callable[[], Iterable[GroupOffsets]],
        others: Callable[[], list[Node]],
        connect: Connect,
        pause: Pause,
        clock: Clock,
    ) -> None:
        self._hosted = hosted
        self._coordinated = coordinated
        self._others = others
        self._connect = connect
        self._pause = pause
        self._counts = RecordCounts(pause, clock)
        self._look = BoundedSemaphore(1)
        self._series_count = 0
        self._unanswered = 0

    def register(self, metrics: MetricsRegistry) -> None:
        metrics.gauge_table(_TABLE, _NAMES, self.rows, row_count=lambda: self._series_count)
        metrics.gauge(f"{_TABLE},name=UnansweredCoordinators", lambda: self._unanswered)

    def rows(self) -> Iterator[Row]:
        """Blocks. Yields rows by partition, the group farthest behind first."""
        with self._look:
            yield from self._rows()

    def _rows(self) -> Iterator[Row]:
        """Blocks. Yield the lag of each group on each led partition."""
        ways = self._ways()
        self._series_count = sum(map(len, ways.values()))
        self._counts.begin_look()
        for (topic, index), distances in ways.items():
            partition = self._hosted.find(topic, index)
            for offset, end, group_id in sorted(distances):
                left = None if partition is None else self._records_left(partition, offset, end)
                tags = (("group", group_id), ("topic", topic), ("partition", str(index)))
                yield tags, (max(end - offset, 0), math.nan if left is None else left)
            self._pause()
        self._counts.end_look()

    def _records_left(self, partition: Partition, offset: int, end: int) -> int | None:
        """Blocks. Count the records from `offset` to `end`; None unless this broker leads."""
        log = partition.log
        if log is None or not partition.is_leader:
            return None
        return self._counts.between(log, max(offset, log.log_start_offset), end)

    def _ways(self) -> dict[TopicPartition, list[_Distance]]:
        """Blocks. The distances in all partitions led here."""
        ways: dict[TopicPartition, list[_Distance]] = {}
        self._add(ways, self._coordinated())
        unanswered = 0
        for groups in committed_elsewhere(self._others(), self._connect):
            if groups is None:
                unanswered += 1
            else:
                self._add(ways, groups)
        self._unanswered = unanswered
        return ways

    def _add(self, ways: dict[TopicPartition, list[_Distance]], groups: Iterable[GroupOffsets]) -> None:
        """Log ends are read here, after the offsets, without a switch within a group."""
        left_count = MAX_SERIES - sum(map(len, ways.values()))
        count = looked_at = 0
        for group_id, offsets in groups:
            looked_at += len(offsets) + 1
            for topic_partition, offset in offsets:
                partition = self._hosted.find(*topic_partition)
                if partition is None or not partition.is_leader:
                    continue
                count += 1
                if count > left_count:
                    log_lines.warning("Too many group lags; reporting only the first %d", MAX_SERIES)
                    return
                way = _Distance(offset, partition.high_watermark, group_id)
                ways.setdefault(topic_partition, []).append(way)
            if looked_at >= PAIRS_PER_TURN:
                looked_at = 0
                self._pause()
