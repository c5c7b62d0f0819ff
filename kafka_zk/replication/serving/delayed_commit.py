"""Waits until what a led partition has is committed, without appending anything: for a coordinator that loads.

Role        Watched on its partition; asked again on every new high watermark, ISR change and leadership change.
Invariants  The code is settled once, for the leadership that the wait began in: its high watermark never goes back.
Source      None in Kafka 3.9, whose coordinators serve what they have read of a log, committed or not.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import BrokerError, ErrorCode, NotLeaderOrFollower
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.hosted import HostedPartitions
from kafka_zk.replication.purgatory import DelayedOperation, Purgatory


class DelayedCommit(DelayedOperation):
    """`check` returns the code once that is settled, None before. `answer` completes with it."""

    __slots__ = ("_check", "_code", "answer")

    def __init__(self, timeout_ms: int, check: Callable[[], ErrorCode | None]) -> None:
        super().__init__(timeout_ms)
        self._check = check
        self._code = ErrorCode.REQUEST_TIMED_OUT
        self.answer: Pending[ErrorCode] = Pending()

    def try_complete(self) -> bool:
        code = self._check()
        if code is None:
            return False
        self._code = code
        return True

    def on_complete(self) -> None:
        self.answer.complete(self._code)


class Commits:
    """Of led partitions; who waits is in `purgatory`."""

    def __init__(self, hosted: HostedPartitions, purgatory: Purgatory) -> None:
        self._hosted = hosted
        self._purgatory = purgatory

    def await_committed(self, topic_partition: TopicPartition, offset: int, *, timeout_ms: int) -> Pending[ErrorCode]:
        """NONE once the high watermark has reached `offset`; the error if this leadership ends first.

        REQUEST_TIMED_OUT after `timeout_ms`. Does not switch.
        """
        partition = self._hosted.find(*topic_partition)
        leadership = None if partition is None else partition.leadership

        def check() -> ErrorCode | None:
            try:
                if partition is None or leadership is None:
                    raise NotLeaderOrFollower
                self._hosted.check_leadership(partition, leadership)
                log = partition.leader_log()
            except BrokerError as error:
                return error.code
            return ErrorCode.NONE if log.high_watermark >= offset else None

        operation = DelayedCommit(timeout_ms, check)
        self._purgatory.complete_or_watch(operation, [topic_partition])
        return operation.answer
