"""Sends requests about partitions to their leaders, looking these up until the deadline.

Role        Acts, through `Calls`. Callers define the request that one leader gets about some of the partitions.
Invariants  A partition that fails does not affect the others.
Source      AdminApiDriver, PartitionLeaderStrategy.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kafka_zk.client.admin.calls import Calls
from kafka_zk.client.errors import DisconnectException, KafkaException, TimeoutException
from kafka_zk.protocol.errors import BrokerError, ErrorCode, error_class_for
from kafka_zk.protocol.messages.metadata import MetadataResponse
from kafka_zk.protocol.types import NO_LEADER, TopicPartition

MAY_PASS = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    }
)
_WORTH_WAITING = frozenset({ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.BROKER_NOT_AVAILABLE})
_REASONS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: (
        "unknown topic error for topic {topic}",
        "because metadata for topic `{topic}` could not be found",
    ),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: (
        "authorization failure for topic {topic} in `Metadata` response",
        "due to topic authorization failure",
    ),
    ErrorCode.INVALID_TOPIC_EXCEPTION: (
        "invalid topic error for topic {topic} in `Metadata` response",
        "due to invalid topic `{topic}`",
    ),
}
_OTHER_REASON = (
    "unexpected error for topic {topic} in `Metadata` response",
    "due to unexpected error for topic `{topic}`",
)

Value = TypeVar("Value")
LookUp = Callable[[Iterable[str], int], MetadataResponse]
"""Blocks. Metadata of topics, in so many ms at most."""


@dataclass(frozen=True, slots=True)
class LeaderCall(Generic[Value]):
    """One kind of request: `ask(leader_id, partitions, deadline_s)` blocks, and returns results by partition.

    Partitions it leaves out are asked again, also those with transient errors. With
    `waits_for_topics` an unknown topic may be a new one that not every broker knows yet.
    """

    name: str
    ask: Callable[[int, list[TopicPartition], float], Mapping[TopicPartition, Value | BrokerError | KafkaException]]
    waits_for_topics: bool


@dataclass(slots=True)
class _Driver(Generic[Value]):
    calls: Calls
    look_up: LookUp
    call: LeaderCall[Value]
    deadline_s: float
    pending: dict[TopicPartition, None]
    found: dict[TopicPartition, Value | BrokerError | KafkaException] = field(default_factory=dict)

    def _settle(self, partition: TopicPartition, outcome: Value | BrokerError | KafkaException) -> None:
        if partition in self.pending:
            del self.pending[partition]
            self.found[partition] = outcome

    def leaders(self) -> dict[int, list[TopicPartition]]:
        """Blocks. Returns the partitions that have a leader, by leader."""
        left_ms = max(0, int((self.deadline_s - time.monotonic()) * 1000))
        by_leader: dict[int, list[TopicPartition]] = {}
        try:
            metadata = self.look_up(dict.fromkeys(partition.topic for partition in self.pending), left_ms)
        except (BrokerError, KafkaException) as error:
            for partition in list(self.pending):
                self._settle(partition, error)
            return by_leader
        for topic in metadata.topics:
            name = topic.name or ""
            if self._is_final(topic.error_code):
                self._fail_topic(name, error_class_for(topic.error_code).code)
            for each in topic.partitions:
                partition = TopicPartition(name, each.partition_index)
                if partition in self.pending and each.leader_id != NO_LEADER:
                    by_leader.setdefault(each.leader_id, []).append(partition)
        return by_leader

    def _is_final(self, error_code: int) -> bool:
        if error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return not self.call.waits_for_topics
        return error_code != ErrorCode.NONE and error_code not in _WORTH_WAITING

    def _fail_topic(self, topic: str, code: ErrorCode) -> None:
        received, reason = (text.format(topic=topic) for text in _REASONS.get(code, _OTHER_REASON))
        logging.getLogger("org.apache.kafka.clients.admin.internals.PartitionLeaderStrategy").error(
            "%s", self.calls.log_text(f"Received {received}"), exc_info=error_class_for(code)()
        )
        for partition in [each for each in self.pending if each.topic == topic]:
            text = f"Failed to fetch metadata for partition {partition} {reason}"
            self._settle(partition, error_class_for(code)(text))

    def ask(self, leader_id: int, partitions: list[TopicPartition]) -> None:
        """Blocks. Ask one leader."""
        try:
            outcomes = self.call.ask(leader_id, partitions, self.deadline_s)
        except DisconnectException:
            return
        except (BrokerError, KafkaException) as error:
            outcomes = dict.fromkeys(partitions, error)
        for partition, outcome in outcomes.items():
            self._settle(partition, outcome)


def ask_leaders(
    calls: Calls, look_up: LookUp, partitions: Collection[TopicPartition], call: LeaderCall[Value]
) -> dict[TopicPartition, Value | BrokerError | KafkaException]:
    """Blocks. A value or an error for each of `partitions`, in their order."""
    driver = _Driver(calls, look_up, call, time.monotonic() + calls.timeout_ms / 1000, dict.fromkeys(partitions))
    tries = 0
    while driver.pending:
        for leader_id, led in driver.leaders().items():
            driver.ask(leader_id, led)
        if not driver.pending:
            break
        tries += 1
        left_s, wait_s = driver.deadline_s - time.monotonic(), calls.backoff.wait_ms(tries) / 1000
        if wait_s >= left_s:
            error = TimeoutException(f"Timed out waiting for a node assignment. Call: {call.name}(api=METADATA)")
            driver.found.update(dict.fromkeys(driver.pending, error))
            break
        time.sleep(wait_s)
    return {partition: driver.found[partition] for partition in partitions}
