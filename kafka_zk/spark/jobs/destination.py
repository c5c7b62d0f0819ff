"""Binds a checkpoint to its transform's destination, and refuses topics that the job itself reads.

Role        Acts, on the driver, before the query starts.
Why         A checkpoint that continues at another destination leaves out what came before. A topic that is read by the
            query that writes it never ends. (For files, see also sink_owner.py.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_zk.spark.jobs.cluster import is_one_cluster
from kafka_zk.spark.jobs.outcome import JobError
from kafka_zk.spark.jobs.sink_owner import NONE, OFFSETS, last_batch
from kafka_zk.spark.sources.subscription import Subscription

if TYPE_CHECKING:
    from kafka_zk.spark.jobs.file_store import FileStore

NOTE = "_destination"
DIRECTORY = "a directory"
"""Which one, sink_owner.py sees to."""
OF_EARLIER_VERSIONS = "files"
"""What they noted for a directory and for any table."""


def destination_of(topic: str, table: str) -> str:
    """What is noted; empty for what it is not. Spark's names of tables have no case."""
    if topic:
        return f"topic {topic}"
    return f"table {table.lower()}" if table else DIRECTORY


def claim_destination(checkpoint: FileStore, destination: str) -> None:
    """Blocks. Note the destination. Raises JobError if the checkpoint has already written to another one."""
    noted = checkpoint.read(NOTE)
    if noted == OF_EARLIER_VERSIONS and not destination.startswith("topic "):
        noted = None
    if noted not in (None, destination) and last_batch(checkpoint.names(OFFSETS)) > NONE:
        raise JobError(
            f"the checkpoint {checkpoint.root} belongs to a transform to {noted}, and {destination} would miss what "
            "was written there; use another checkpoint"
        )
    if noted != destination:
        checkpoint.write(NOTE, destination)


def refuse_own_source(read: Subscription, source: Mapping[str, str], target: Mapping[str, str], *topics: str) -> None:
    """Blocks. Raise JobError if a query would read its own output from one of these topics."""
    own = sorted(filter(read.matches, topics))
    if own and is_one_cluster(source, target):
        raise JobError(f"topic {own[0]} is also a source of this job, which would read its own output forever")
