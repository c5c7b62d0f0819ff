"""A streaming read of topics: offsets from micro-batch to micro-batch.

Role        Acts, on the driver but for `read`. Spark keeps the offsets; no state is kept that a restart needs.
Invariants  A batch planned once is planned the same again: its bounds are Spark's.
Source      Spark 4.2 KafkaMicroBatchStream.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from kafka_zk.spark.sources.kafka.planner import NOWHERE, NotThere, Offsets, Planner
from kafka_zk.spark.sources.kafka.reading import KafkaInputPartition, input_partitions, read_piece
from kafka_zk.spark.sources.kafka.settings import ReadSettings
from kafka_zk.spark.sources.kafka.transaction_ends import whole_ends
from kafka_zk.spark.sources.ranges import left_of, limited, ranges_between
from kafka_zk.spark.sources.stream_offsets import StreamOffsets, decode


class KafkaStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Holds settings only until the driver uses it; what goes to the workers are those."""

    def __init__(self, settings: ReadSettings) -> None:
        self._settings = settings
        self._planner = Planner(settings)
        self._target: StreamOffsets | None = None
        self._seen = NOWHERE
        """The last result of `latestOffset`."""
        self._settled: Offsets = {}
        """Log ends at which no transaction was open."""
        self._last_trigger_s = time.monotonic()

    def __getstate__(self) -> ReadSettings:
        return self._settings

    def __setstate__(self, settings: ReadSettings) -> None:
        self.__init__(settings)  # type: ignore[misc]

    def initialOffset(self) -> dict[str, Any]:
        """Where a new query starts."""
        ends = self._planner.ends()
        latest = dict(ends.offsets)
        starts = self._planner.resolved(self._settings.start, list(latest), latest)
        starts, _ = self._planner.checked(starts, latest, latest)
        return StreamOffsets(
            {each: min(start, latest[each]) for each, start in starts.items()}, ends.topic_ids
        ).encode()

    def getDefaultReadLimit(self) -> ReadLimit:
        if self._settings.max_offsets is not None:
            return ReadMaxRows(self._settings.max_offsets)
        if self._settings.min_offsets is not None:
            return ReadMinRows(self._settings.min_offsets)
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Where the next micro-batch ends; `start` itself while there is too little to read."""
        since = decode(start)
        self._seen = found = self._ends(since)
        ends = dict(found.offsets)
        begins = self._with_new_partitions(self._still_there(since, found), ends)
        if self._target is None and not isinstance(limit, ReadAllAvailable) and self._is_too_little(begins, ends):
            return start
        if isinstance(limit, ReadMaxRows):
            ends = limited(begins, ends, limit.max_rows)
        if self._settings.whole_transactions:
            ends = self._whole(begins, ends, found)
        self._last_trigger_s = time.monotonic()
        return StreamOffsets(ends, found.topic_ids).encode()

    def prepareForTriggerAvailableNow(self) -> None:
        """Limit the query to what is available now."""
        try:
            self._target = self._looked_up()
        except NotThere:
            # A broker that has just started may lack what the query has read. It is looked up once that is known.
            self._target = NOWHERE

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return self._ends(self._seen).encode()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[KafkaInputPartition]:
        """The pieces of one micro-batch. Raises DataLossError, SourceError."""
        since, until = decode(start), decode(end)
        if since == until:
            return []
        starts = self._still_there(since, until)
        there, ids = self._planner.partitions_since(until)
        gone_since_planned = until.replaced(ids)
        for topic in gone_since_planned:
            self._planner.made_anew(topic)
        starts = {each: offset for each, offset in starts.items() if each.topic not in gone_since_planned}
        ends = dict(until.without(gone_since_planned).offsets)
        deleted = set(filter(self._settings.subscription.has, ends.keys() - there))
        ends = {each: end for each, end in ends.items() if each not in deleted}
        for gone in sorted((starts.keys() | deleted) - ends.keys()):
            self._planner.lost(f"Partition {gone} no longer exists; it was read up to offset {starts.get(gone, 0)}.")
        begins = {each: begin for each, begin in self._with_new_partitions(starts, ends).items() if each in ends}
        for each in sorted(begins):
            if each not in starts and begins[each] > 0:
                self._planner.lost(f"The new partition {each} starts at offset {begins[each]} instead of 0.")
            elif ends[each] < begins[each]:
                self._planner.lost(
                    f"The end of partition {each} moved back from offset {begins[each]} to {ends[each]}."
                )
        begins, ends = self._planner.checked(begins, ends, self._planner.latest(begins))
        # Divided by the batch's own bounds: a repeated batch gives each task what it had, less what is gone since. Else
        # its rows would come to others, which know nothing of what was written of them.
        bounds = {**dict.fromkeys(until.offsets, 0), **since.without(since.replaced(until.topic_ids)).offsets}
        planned = self._planner.plan(bounds, dict(until.offsets))
        return input_partitions([left_of(piece, begins, ends) for piece in planned], until.topic_ids)

    def read(self, partition: KafkaInputPartition) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        return read_piece(self._settings, partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Commit the progress to a group for lag tools. The query itself resumes from its checkpoint."""
        if self._settings.commit_group:
            self._planner.commit(self._settings.commit_group, dict(decode(end).offsets))

    def stop(self) -> None:
        self._planner.close()

    def _ends(self, since: StreamOffsets = NOWHERE) -> StreamOffsets:
        if self._target is None:
            return self._looked_up(since)
        if not self._target.offsets.keys() >= since.offsets.keys():
            # It was looked up before the query's position was known.
            self._target = self._looked_up(since)
        return self._target

    def _looked_up(self, since: StreamOffsets = NOWHERE) -> StreamOffsets:
        found = self._planner.ends(since)
        if self._settings.whole_transactions:
            self._settled = self._planner.settled(dict(found.offsets))
        return found

    def _whole(self, begins: Offsets, ends: Offsets, found: StreamOffsets) -> Offsets:
        """These ends, moved so that they cut no transaction."""
        cut = [each for each in ranges_between(begins, ends) if self._settled.get(each[0]) != each.end_offset]
        return ends | whole_ends(self._settings.client, cut, found.offsets, found.topic_ids)

    def _still_there(self, starts: StreamOffsets, ends: StreamOffsets) -> Offsets:
        """The query's offsets that are still valid. Raises DataLossError for a topic that was recreated."""
        replaced = starts.replaced(ends.topic_ids)
        for topic in replaced:
            self._planner.made_anew(topic)
        return dict(starts.without(replaced).offsets)

    def _with_new_partitions(self, starts: Offsets, ends: Offsets) -> Offsets:
        """Partitions added after the query began are read from their log start."""
        new = [each for each in ends if each not in starts]
        return {**starts, **self._planner.earliest(new)}

    def _is_too_little(self, begins: Offsets, ends: Offsets) -> bool:
        if self._settings.min_offsets is None:
            return False
        waited_ms = (time.monotonic() - self._last_trigger_s) * 1000
        there = sum(max(0, end - begins[each]) for each, end in ends.items())
        return there < self._settings.min_offsets and waited_ms < self._settings.max_delay_ms
