"""Reads the batches of a coordinator's partition from its local log.

Source      Kafka 3.9 GroupMetadataManager.doLoadGroupsAndOffsets, TransactionStateManager.loadTransactionMetadata.
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
"""Bytes per read while loading: other greenlets run in between."""


def stored_batches(
    replica_manager: ReplicaManager, partition: TopicPartition, is_wanted: Callable[[], bool]
) -> Iterator[Batch]:
    """Blocks between batches. Yields all batches in order, while `is_wanted`.

    Up to the log end offset, beyond the high watermark: this leader's records will be committed. Batches deleted before
    they are read (DeleteRecords, retention) are left out; Apache's load ends there, without the rest.
    Raises BrokerError.
    """
    offset = -1
    while is_wanted():
        # Looked up each time: the partition may have moved to another log directory meanwhile.
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
            return  # Only a gap that the cleaner left at the end.
