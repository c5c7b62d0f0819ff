"""Which query's checkpoint a directory of files belongs to.

Role        Acts, on the driver, before a query starts.
Why         Spark's file sink skips a batch whose number is in its log. Numbers are the checkpoint's: with
            another one, or with an older copy of it, batches are read and noted as done, and their records are dropped
            silently. Conversely, a checkpoint that continues at another directory leaves out what came
            before.
Layout      `_query.json` beside the files holds the id that the checkpoint's `metadata` has. A new checkpoint gets its
            id here, as Spark takes the one that it finds: so it is noted before a first file is.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafka_zk.spark.jobs.file_sink_log import COMPACT, FOLDER
from kafka_zk.spark.jobs.outcome import JobError

if TYPE_CHECKING:
    from kafka_zk.spark.jobs.file_store import FileStore

NOTE = "_query.json"
METADATA = "metadata"
OFFSETS, COMMITS = "offsets", "commits"
NONE = -1


def claim(files: FileStore, checkpoint: FileStore) -> None:
    """Blocks. Note that the query of this checkpoint writes these files. Raises JobError if it may not."""
    written = last_batch(files.names(FOLDER))
    begun, done = last_batch(checkpoint.names(OFFSETS)), last_batch(checkpoint.names(COMMITS))
    query_id, noted = _id_in(checkpoint, METADATA), _id_in(files, NOTE)
    if written > begun or (written > NONE and noted not in (None, query_id)):
        raise JobError(
            f"{files.root} was written with a checkpoint other than {checkpoint.root}, and Spark would drop the "
            "batches that both have; use that checkpoint, or an empty directory"
        )
    if done > written:
        raise JobError(
            f"the checkpoint {checkpoint.root} has completed {done + 1} batches, but {files.root} lacks the last: they "
            "were written to another directory; use that directory, or another checkpoint"
        )
    if query_id is None:
        query_id = str(uuid.uuid4())
        checkpoint.write(METADATA, json.dumps({"id": query_id}))
    if noted != query_id:
        files.write(NOTE, json.dumps({"id": query_id}))


def last_batch(names: Iterable[str]) -> int:
    """The highest number among a log's files; NONE without any."""
    numbers = [name.removesuffix(COMPACT) for name in names]
    return max((int(number) for number in numbers if number.isdecimal()), default=NONE)


def _id_in(store: FileStore, name: str) -> str | None:
    text = store.read(name)
    return None if text is None else str(json.loads(text)["id"])
