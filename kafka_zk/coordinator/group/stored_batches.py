"""The batches of a partition of __consumer_offsets, out of its local log again.

Source      Kafka 3.9 GroupMetadataManager.doLoadGroupsAndOffsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import Batch, batches

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import UnifiedLog
    from kafka_zk.replication.manager import ReplicaManager

READ_BYTES = 256 * 1024
"""Read at a time while loading: others run in between."""


def stored_batches(
    replica_manager: ReplicaManager, partition: TopicPartition, is_wanted: Callable[[], bool]
) -> Iterator[Batch]:
    """Blocks between batches. All batches in order, while `is_wanted`.

    Up to the log end offset, beyond the high watermark: what this leader has will be committed.
    Raises BrokerError.
    """
    log = replica_manager.get_partition(partition).leader_log()
    offset = log.log_start_offset
    while is_wanted() and offset < log.log_end_offset:
        # Another one, if the partition was moved into another log directory meanwhile.
        log = replica_manager.get_partition(partition).leader_log()
        found = batches(_read_some(log, offset))
        before = offset
        for batch in found:
            offset = batch.header.next_offset
            yield batch
        if offset == before:
            return  # Nothing but the end of what the cleaner left.


def _read_some(log: UnifiedLog, offset: int) -> bytes:
    """Blocks. At least one whole batch from `offset` on, where there is one."""
    result = log.read(offset, max_bytes=READ_BYTES, up_to=log.log_end_offset, min_one=True)
    pools = log.log_dir.pools
    data = bytearray()
    try:
        with log.log_dir.guard(f"Error while reading {log.topic_partition}"):
            for piece in result.slices:
                data += pools.run_to_end(pools.read, piece.read)
    finally:
        for piece in result.slices:
            piece.release()
    return bytes(data)
