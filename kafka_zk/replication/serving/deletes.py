"""DeleteRecords on led partitions, waiting until every live replica has followed.

Role        Serves the DeleteRecords handler.
Invariants  The log start is raised at once, however the wait ends.
Source      Kafka 3.9 ReplicaManager.deleteRecords, deleteRecordsOnLocalLog.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import BrokerError, InvalidTopicException
from kafka_zk.protocol.internal_topics import INTERNAL_TOPICS
from kafka_zk.replication.hosted import HostedPartitions
from kafka_zk.replication.partition import Partition
from kafka_zk.replication.purgatory import Purgatory
from kafka_zk.replication.serving.delayed_delete_records import DelayedDeleteRecords, LowWatermark
from kafka_zk.replication.serving.reading import delete_before


class Deletes:
    def __init__(self, hosted: HostedPartitions, purgatory: Purgatory, wake: Callable[[Partition], None]) -> None:
        self._hosted = hosted
        self._purgatory = purgatory
        self._wake = wake

    def delete_records(
        self, entries: Sequence[tuple[str, int, int]], *, timeout_ms: int
    ) -> Pending[list[LowWatermark]]:
        """Raise the log starts of (topic, partition, offset; -1: the high watermark); low watermarks in that order."""
        results: list[LowWatermark] = []
        waiting: dict[int, tuple[int, Callable[[], LowWatermark]]] = {}
        pending: Pending[list[LowWatermark]] = Pending()
        for position, (topic, index, offset) in enumerate(entries):
            try:
                if topic in INTERNAL_TOPICS:
                    raise InvalidTopicException(f"Cannot delete records of internal topic {topic}")
                partition = self._hosted.get(topic, index)
                target = delete_before(partition, offset)
            except BrokerError as error:
                results.append(error)
                continue
            results.append(-1)
            waiting[position] = (target, self._low_watermark(partition))
            self._wake(partition)

        def answer(done: dict[int, LowWatermark]) -> None:
            for position, reached in done.items():
                results[position] = reached
            pending.complete(results)

        keys = [entries[position][:2] for position in waiting]
        operation = DelayedDeleteRecords(timeout_ms, waiting, answer)
        if not self._purgatory.complete_or_watch(operation, keys):
            pending.when_left(lambda gone: self._purgatory.cancel(operation) if gone else None)
        return pending

    def _low_watermark(self, partition: Partition) -> Callable[[], LowWatermark]:
        leadership = partition.leadership

        def low_watermark() -> LowWatermark:
            try:
                self._hosted.check_leadership(partition, leadership)
                return partition.low_watermark()
            except BrokerError as error:
                return error

        return low_watermark
