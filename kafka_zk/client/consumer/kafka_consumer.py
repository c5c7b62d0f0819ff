"""KafkaConsumer: reads records, alone or in a group.

Role        Acts. For one thread; only `wakeup` may be called from others and from signal handlers.
Source      KafkaConsumer, ClassicKafkaConsumer.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from kafka_zk.client.client_metrics import MetricName
from kafka_zk.client.consumer.errors import ConcurrentUse, IllegalState, InvalidGroupId
from kafka_zk.client.consumer.group.commits import CommitCallback, Offsets, is_worth_a_wait, may_be_retried
from kafka_zk.client.consumer.group.group_member import GroupMember
from kafka_zk.client.consumer.leader_questions import FoundOffset
from kafka_zk.client.consumer.listener import ConsumerRebalanceListener
from kafka_zk.client.consumer.parts import ConsumerParts, build_parts
from kafka_zk.client.consumer.records import (
    ConsumerRecords,
    OffsetAndMetadata,
    OffsetAndTimestamp,
)
from kafka_zk.client.consumer.sensors import MetricNames
from kafka_zk.client.consumer.subscription_state import FetchPosition, FetchState, ResetStrategy, SubscriptionType
from kafka_zk.client.errors import IllegalStateException, KafkaException, TimeoutException
from kafka_zk.client.group_offsets import ConsumerGroupMetadata
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import TopicPartition

CLOSE_TIMEOUT_S = 30.0

log = logging.getLogger("org.apache.kafka.clients.consumer.KafkaConsumer")


class KafkaConsumer:
    """Reads records. Close it: otherwise its group waits for session.timeout.ms before it reassigns the partitions.

        with KafkaConsumer({
            "bootstrap.servers": "localhost:9092",
            "key.deserializer": "StringDeserializer",
            "value.deserializer": "StringDeserializer",
            "group.id": "readers",
            "auto.offset.reset": "earliest",
        }) as consumer:
            consumer.subscribe(["hello"])
            for record in consumer.poll(10):
                print(record.topic, record.partition, record.offset, record.key, record.value)

    The first three configs are required, and group.id for `subscribe` and commits; the others are Java's, with its
    defaults. A deserializer is a name of Java's (ByteArrayDeserializer ...), or any function from bytes to a value.
    `assign` takes TopicPartition (kafka_zk.protocol.types) instead of a group's share.

    Errors of the cluster are `BrokerError`s, those of the consumer's own are in `client.errors` and `consumer.errors`.
    Methods with a `timeout_s` take default.api.timeout.ms without one, and raise TimeoutException at its end.
    """

    def __init__(self, config: Mapping[str, object]) -> None:
        """Keys of Kafka's ConsumerConfig; texts, or Python's values (a deserializer, a list). Opens no connection yet.

        Raises ConfigException. Unknown keys are named in a warning.
        """
        self._parts: ConsumerParts = build_parts(config)
        self._loop = self._parts.loop
        self._subscriptions = self._parts.subscriptions
        self._metadata = self._parts.network.metadata
        self._clock = self._parts.clock
        self._user: int | None = None
        self._depth = 0
        self._is_closing = self._is_closed = False

    def __enter__(self) -> KafkaConsumer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"KafkaConsumer {self._parts.client_id} {self._subscriptions}"

    # --- what to read ------------------------------------------------------------------------------------------------

    def subscribe(
        self, topics: Iterable[str] | re.Pattern[str], listener: ConsumerRebalanceListener | None = None
    ) -> None:
        """Subscribe to topics, by name or by a pattern that must match the whole name, as a member of the group.

        Replaces the previous subscription; without topics it is `unsubscribe`. Raises InvalidGroupId without group.id.
        """
        with self._use():
            member = self._member
            if isinstance(topics, re.Pattern):
                self._subscriptions.subscribe_to(topics)
            else:
                named = [topics] if isinstance(topics, str) else list(topics)
                if not named:
                    self.unsubscribe()
                    return
                if any(not name or not name.strip() for name in named):
                    raise ValueError("Topic collection to subscribe to cannot contain null or empty topic")
                self._subscriptions.subscribe(named)
            member.rebalance.listener = listener or ConsumerRebalanceListener()
            member.rebalance.want_topics()
            member.rebalance.match_after = self._metadata.request_update()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions, without group assignment. An empty list is `unsubscribe`."""
        with self._use():
            wanted = [TopicPartition(*partition) for partition in partitions]
            if not wanted:
                self.unsubscribe()
                return
            if self._parts.member is not None:
                # For removed partitions: no rebalance will make their last commit.
                self._parts.member.commits.commit_if_due(self._clock.monotonic_ms())
            self._subscriptions.assign(wanted)
            self._metadata.set_topics({partition.topic for partition in wanted}, self._clock.monotonic_ms())

    def unsubscribe(self) -> None:
        """Leave the group and stop reading."""
        with self._use():
            member = self._parts.member
            try:
                if member is not None and self._subscriptions.is_auto_assigned:
                    member.rebalance.leave("the consumer unsubscribed from all topics")
            finally:
                self._subscriptions.unsubscribe()
                # Nor ask for them any more: a request may create a topic that was deleted.
                self._metadata.set_topics((), self._clock.monotonic_ms())

    def subscription(self) -> frozenset[str]:
        """The subscribed topics, or those that match the pattern."""
        return self._subscriptions.topics

    def assignment(self) -> set[TopicPartition]:
        """The currently assigned partitions."""
        return set(self._subscriptions.assigned)

    # --- records -----------------------------------------------------------------------------------------------------

    def poll(self, timeout_s: float = 0.0) -> ConsumerRecords:
        """Blocks. Returns up to max.poll.records records, as soon as there are any; none after `timeout_s`.

        Call it at least every max.poll.interval.ms: that keeps this member in its group. Listeners and callbacks of
        commits are called here. Raises WakeupException, LogTruncation, NoOffsetForPartition, OffsetOutOfRange,
        RecordDeserializationFailed, BrokerError, KafkaException.
        """
        with self._use():
            if self._subscriptions.type is SubscriptionType.NONE:
                raise IllegalState("Consumer is not subscribed to any topics or assigned any partitions")
            self._parts.note_poll()
            with self._parts.fetcher.handing_out():
                found = self._loop.fetch(timeout_s)
                records = ConsumerRecords(self._parts.deserialize(found) if found else None)
                return self._parts.interceptors.on_consume(records) if records else records

    def wakeup(self) -> None:
        """Make the blocked call, or the next one, raise WakeupException. Callable from any thread or signal handler."""
        self._loop.wakeup()

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Return no records of these partitions; they stay assigned."""
        with self._use():
            self._subscriptions.pause(partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Return records of these partitions again."""
        with self._use():
            self._subscriptions.resume(partitions)

    def paused(self) -> set[TopicPartition]:
        """The paused partitions."""
        return set(self._subscriptions.where(lambda state: state.paused))

    # --- positions ---------------------------------------------------------------------------------------------------

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Continue from this offset. With a leader epoch, the log is first checked for truncation."""
        with self._use():
            wanted = OffsetAndMetadata(offset) if isinstance(offset, int) else offset
            if wanted.offset < 0:
                raise ValueError("seek offset must not be a negative number")
            self._subscriptions.seek(partition, FetchPosition(wanted.offset, wanted.leader_epoch))

    def seek_to_beginning(self, partitions: Iterable[TopicPartition] = ()) -> None:
        """Continue from the start of these partitions (none: all assigned). Evaluated lazily."""
        self._seek_to(ResetStrategy.EARLIEST, partitions)

    def seek_to_end(self, partitions: Iterable[TopicPartition] = ()) -> None:
        """Continue from the end of these partitions; with read_committed, from the last stable offset."""
        self._seek_to(ResetStrategy.LATEST, partitions)

    def _seek_to(self, strategy: ResetStrategy, partitions: Iterable[TopicPartition]) -> None:
        with self._use():
            for partition in list(partitions) or self._subscriptions.assigned:
                self._subscriptions.request_reset(partition, strategy)

    def position(self, partition: TopicPartition, timeout_s: float | None = None) -> int:
        """Blocks. Returns the offset of the next record."""
        with self._use():
            state = self._subscriptions.of(partition)
            # An unvalidated position (after a seek, say) does not count: its log may have been truncated below it.
            if not self._loop.wait_for_position(lambda: state.state is FetchState.FETCHING, self._timeout(timeout_s)):
                raise TimeoutException(
                    f"Timeout expired before the position for partition {partition} could be determined"
                )
            assert state.position is not None
            return state.position.offset

    def offsets_for_times(
        self, timestamps_ms: Mapping[TopicPartition, int], timeout_s: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Blocks. Returns the first record of each partition at or after a time; None if all are older."""
        if any(timestamp < 0 for timestamp in timestamps_ms.values()):
            raise ValueError("The target time cannot be negative.")
        found = self._look_up(timestamps_ms, timeout_s)
        return {
            partition: None if each.offset < 0 else OffsetAndTimestamp(each.offset, each.timestamp, each.leader_epoch)
            for partition, each in found.items()
        }

    def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_s: float | None = None
    ) -> dict[TopicPartition, int]:
        """Blocks. Returns the first offset of each log."""
        return self._ends(partitions, ResetStrategy.EARLIEST, timeout_s)

    def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_s: float | None = None
    ) -> dict[TopicPartition, int]:
        """Blocks. Returns the offset after the last record that may be read."""
        return self._ends(partitions, ResetStrategy.LATEST, timeout_s)

    def current_lag(self, partition: TopicPartition) -> int | None:
        """The records between position and log end, as of the last fetch."""
        return self._subscriptions.lag(partition, read_committed=self._parts.fetch_settings.read_committed)

    def _ends(
        self, partitions: Iterable[TopicPartition], strategy: ResetStrategy, timeout_s: float | None
    ) -> dict[TopicPartition, int]:
        found = self._look_up(dict.fromkeys(partitions, strategy.value), timeout_s)
        return {partition: each.offset for partition, each in found.items()}

    def _look_up(
        self, timestamps: Mapping[TopicPartition, int], timeout_s: float | None
    ) -> dict[TopicPartition, FoundOffset]:
        with self._use():
            return self._parts.offset_search.look_up(dict(timestamps), self._timeout(timeout_s))

    # --- the group ---------------------------------------------------------------------------------------------------

    def commit_sync(self, offsets: Offsets | None = None, timeout_s: float | None = None) -> None:
        """Blocks. Commit the given positions, or all; waits for earlier asynchronous commits first.

        Raises CommitFailed, RebalanceInProgress, TimeoutException, BrokerError.
        """
        with self._use():
            wanted = self._member.commits.consumed() if offsets is None else dict(offsets)
            self._commit(wanted, self._timeout(timeout_s), may_be_retried)

    def commit_async(self, offsets: Offsets | None = None, callback: CommitCallback | None = None) -> None:
        """Commit without waiting or retrying. A later call runs `callback(offsets, error or None)`, in commit order."""
        with self._use():
            commits = self._member.commits
            wanted = commits.consumed() if offsets is None else dict(offsets)
            commits.commit(wanted, callback or self._parts.log_failed_commit)

    def committed(
        self, partitions: Iterable[TopicPartition], timeout_s: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Blocks. Returns the committed offsets; None for partitions without one."""
        with self._use():
            commits = self._member.commits
            wanted, deadline_ms = list(partitions), self._clock.monotonic_ms() + int(self._timeout(timeout_s) * 1000)
            while wanted:
                found: list[Any] = []
                commits.fetch(wanted, found.append)
                left_s = (deadline_ms - self._clock.monotonic_ms()) / 1000
                if not self._loop.wait_for(partial(bool, found), left_s):
                    break
                if not isinstance(found[0], Exception):
                    return {partition: found[0].get(partition) for partition in wanted}
                if not may_be_retried(found[0]):
                    raise found[0]
                self._pause(deadline_ms)
            if not wanted:
                return {}
            raise TimeoutException("Timeout expired before the last committed offsets could be determined")

    def enforce_rebalance(self, reason: str = "rebalance enforced by user") -> None:
        """Join again at the next poll."""
        with self._use():
            self._member.membership.request_rejoin(reason)

    def group_metadata(self) -> ConsumerGroupMetadata:
        """This member as it is now, for a producer's `send_offsets_to_transaction`; generation -1 before it has joined.

        Raises InvalidGroupId without group.id.
        """
        member = self._member
        identity, settings = member.membership.identity, member.settings
        return ConsumerGroupMetadata(
            settings.group_id, identity.generation, identity.member_id, settings.group_instance_id
        )

    # --- the cluster -------------------------------------------------------------------------------------------------

    def partitions_for(self, topic: str, timeout_s: float | None = None) -> list[int]:
        """Blocks. Returns the partitions of a topic; none if it does not exist."""
        with self._use():
            topics = self._parts.topic_search.find([topic], self._timeout(timeout_s))
            return sorted(topics.get(topic, ()))

    def list_topics(self, timeout_s: float | None = None) -> dict[str, list[int]]:
        """Blocks. Returns every topic with its partitions."""
        with self._use():
            return self._parts.topic_search.find(None, self._timeout(timeout_s))

    def metrics(self) -> dict[MetricName, float]:
        """This consumer's metrics, by Java's names."""
        self._parts.fetch_metrics.forget_all_but(self._subscriptions.assigned)
        found = {**self._parts.fetch_metrics.values(), **self._parts.poll_metrics()}
        if self._parts.member is not None:
            found.update(self._parts.member.metrics(self._parts.client_id))
        found[MetricNames("kafka-metrics-count", {"client-id": self._parts.client_id})("count")] = float(len(found) + 1)
        return found

    # --- the end -----------------------------------------------------------------------------------------------------

    def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Blocks. Commit (with enable.auto.commit), revoke the partitions, leave the group, and release all resources.

        Waits for the coordinator no longer than `timeout_s`. Idempotent. The listener may use the consumer
        while it gives its partitions up, mainly to commit.
        """
        if self._is_closing:
            return
        with self._use():
            self._is_closing = True
            # As in Java: a late wakeup must not interrupt the listener's last commit.
            self._loop.disable_wakeups()
            try:
                member = self._parts.member
                if member is not None:
                    self._say_goodbye(member, self._clock.monotonic_ms() / 1000 + timeout_s)
                self._parts.fetcher.close()
                self._parts.network.poll(0)
            finally:
                self._is_closed = True
                self._parts.close()

    def _say_goodbye(self, member: GroupMember, deadline_s: float) -> None:
        try:
            commits_itself = member.settings.auto_commit_interval_ms is not None
            if commits_itself and self._subscriptions.type is not SubscriptionType.NONE:
                self._commit_last(deadline_s)
            self._loop.wait_for(lambda: member.commits.is_idle, self._left_s(deadline_s))
        finally:
            # Whatever a commit callback raises: the group must not have to wait for the session timeout.
            if self._subscriptions.is_auto_assigned:
                self._leave(member, deadline_s)

    def _commit_last(self, deadline_s: float) -> None:
        left_s = min(self._left_s(deadline_s), self._timeout(None))
        try:
            if left_s > 0:
                self._commit(self._member.commits.consumed(), left_s, is_worth_a_wait)
        except (KafkaException, BrokerError) as error:
            log.warning("Synchronous auto-commit of offsets failed: %s", error)

    def _leave(self, member: GroupMember, deadline_s: float) -> None:
        left: list[bool] = []
        try:
            member.rebalance.leave("the consumer is being closed", on_done=lambda: left.append(True))
        finally:
            # Includes what the listener sent asynchronously.
            self._loop.wait_for(lambda: bool(left) and member.commits.is_idle, self._left_s(deadline_s))

    # --- inside ------------------------------------------------------------------------------------------------------

    def _commit(self, wanted: Offsets, wait_s: float, is_retried: Callable[[Exception], bool]) -> None:
        """Blocks. As `commit_sync`; an error is raised unless it `is_retried`."""
        deadline_ms = self._clock.monotonic_ms() + int(wait_s * 1000)
        while True:
            outcomes: list[Exception | None] = []
            commits = self._member.commits
            commits.commit(wanted, lambda _, error, outcomes=outcomes: outcomes.append(error))  # type: ignore[misc]
            left_s = (deadline_ms - self._clock.monotonic_ms()) / 1000
            if not self._loop.wait_for(lambda outcomes=outcomes: bool(outcomes), left_s):  # type: ignore[misc]
                raise TimeoutException(
                    f"Timeout of {int(wait_s * 1000)}ms expired before successfully committing offsets {wanted}"
                )
            (error,) = outcomes
            if error is None:
                return
            if not is_retried(error):
                raise error
            self._pause(deadline_ms)

    @property
    def _member(self) -> GroupMember:
        if self._parts.member is None:
            raise InvalidGroupId(
                "To use the group management or offset commit APIs, you must provide a valid group.id in the consumer "
                "configuration."
            )
        return self._parts.member

    def _timeout(self, timeout_s: float | None) -> float:
        return self._parts.api_timeout_ms / 1000 if timeout_s is None else timeout_s

    def _left_s(self, deadline_s: float) -> float:
        return max(0.0, deadline_s - self._clock.monotonic_ms() / 1000)

    def _pause(self, deadline_ms: int) -> None:
        left_s = (deadline_ms - self._clock.monotonic_ms()) / 1000
        self._loop.wait_for(lambda: False, min(self._parts.fetch_settings.retry_backoff_ms / 1000, max(left_s, 0)))

    @contextmanager
    def _use(self) -> Iterator[None]:
        if self._is_closed:
            raise IllegalStateException("This consumer has already been closed.")
        me = threading.get_ident()
        if self._user not in (None, me):
            raise ConcurrentUse("KafkaConsumer is not safe for multi-threaded access.")
        self._user = me
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._user = None
