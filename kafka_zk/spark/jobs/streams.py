"""Runs a streaming query to its end: progress, group commits, and one sentence on failure.

Role        Acts. The query's thread is Spark's; this one watches it and prints.
Invariants  A group's offsets are committed after the batch that they belong to is done, never before: a lag that tools
            show is never smaller than the true one. They are for monitoring only: queries continue from checkpoints.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.errors import StreamingQueryException

from kafka_zk.spark.jobs.progress import Progress, end_offsets

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from kafka_zk.spark.settings.declaration import Settings

WATCH_S = 1
TRIES = 5
NOT_STARTED = "Python worker failed to connect back"
"""Spark gives a Python process that plans a stream ten seconds to start, however busy the machine is."""
CommitOffsets = Callable[[Mapping[str, Mapping[str, int]]], None]


def triggered(writer: DataStreamWriter, settings: Settings) -> DataStreamWriter:
    trigger = settings.text("trigger")
    return writer.trigger(availableNow=True) if trigger == "once" else writer.trigger(processingTime=trigger)


def run_to_end(start: Callable[[], StreamingQuery], what: str, commit: CommitOffsets | None = None) -> Progress:
    """Run the query that `start` starts to its end; returns its progress. Raises its error.

    A query whose Python process did not start in Spark's time is restarted; it continues from its checkpoint.
    """
    progress = Progress(what)
    try:
        for left in reversed(range(TRIES)):
            try:
                _watch(start(), progress, commit)
                return progress
            except StreamingQueryException as error:
                if not left or NOT_STARTED not in str(error):
                    raise
    finally:
        progress.end(sys.stderr)
    raise AssertionError("the last try returns or raises")


def _watch(query: StreamingQuery, progress: Progress, commit: CommitOffsets | None) -> None:
    told = -1
    while True:
        ended = query.awaitTermination(WATCH_S)
        for batch in query.recentProgress:
            told = _tell(progress, batch, told, commit)
        if ended:
            return


def _tell(progress: Progress, batch: Any, told: int, commit: CommitOffsets | None) -> int:
    report: dict[str, Any] = batch if isinstance(batch, dict) else json.loads(batch.json)
    if report["batchId"] <= told:
        return told
    progress.note(report["batchId"], report.get("numInputRows", 0), report.get("inputRowsPerSecond") or 0.0)
    progress.show(sys.stderr)
    if commit is not None and (offsets := end_offsets(report)):
        commit(offsets)
    return int(report["batchId"])
