"""Reads the batches of a partition of __consumer_offsets from its local log.

Source      Kafka 3.9 GroupMetadataManager.doLoadGroupsAndOffsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kafka_zk.log.copying import read_bytes
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import Batch, batches

if TYPE_CHECKING:
    from kafka_zk.replication.manager import ReplicaManager

READ_BYTES = 256 * 1024
"""Read at a time while loading: others run in between."""


def stored_batches(
    replica_manager: ReplicaManager, partition: TopicPartition, is_wanted: Callable[[], bool]
) -> Iterator[Batch]:
    """Blocks between batches. All batches in order, while `is_wanted`.

    Up to the log end offset, beyond the high watermark: what this leader has will be committed. What is deleted before
    it is read (DeleteRecords, retention) is left out; Apache's load ends there, without what follows.
    Raises BrokerError.
    """
    offset = -1
    while is_wanted():
        # Another one each time, if the partition was moved into another log directory meanwhile.
        log = replica_manager.get_partition(partition).log
        if log is None:
            raise KafkaStorageError(f"The log of {partition} is offline")
        before = offset = max(offset, log.log_start_offset)
        if offset >= log.log_end_offset:
            return
        for batch in batches(read_bytes(log, offset, READ_BYTES)):
            offset = batch.header.next_offset
            yield batch
        if offset == before:
            return  # Nothing but the end of what the cleaner left.
