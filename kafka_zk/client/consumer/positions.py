"""Finds and checks positions: resets by time, validation after a change of leader.

Role        Acts, through `LeaderQuestions`; the rules are in subscription_state and validation.
Invariants  A transient failure is retried after retry.backoff.ms; any other is raised by the next `poll`.
            A topic's metadata error is raised once per response: otherwise the other topics would be stuck.
Source      OffsetFetcher (resetPositionsIfNeeded, validatePositionsIfNeeded).
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from kafka_zk.client.consumer.errors import LogTruncation, NoOffsetForPartition
from kafka_zk.client.consumer.leader_questions import FoundOffset, LeaderQuestions
from kafka_zk.client.consumer.subscription_state import (
    FetchPosition,
    FetchState,
    PartitionState,
    ResetStrategy,
    SubscriptionState,
)
from kafka_zk.client.consumer.validation import EpochEnd, Verdict, judge
from kafka_zk.client.errors import AuthenticationException
from kafka_zk.client.network.metadata import ClusterMetadata
from kafka_zk.clock import Clock
from kafka_zk.protocol.errors import BrokerError, ErrorCode, UnsupportedVersion, is_retriable
from kafka_zk.protocol.types import TopicPartition

log = logging.getLogger("org.apache.kafka.clients.consumer.internals.OffsetFetcher")


class Positions:
    """Of one consumer's assigned partitions."""

    def __init__(
        self,
        subscriptions: SubscriptionState,
        questions: LeaderQuestions,
        metadata: ClusterMetadata,
        clock: Clock,
        *,
        retry_backoff_ms: int,
        request_timeout_ms: int,
    ) -> None:
        self._subscriptions = subscriptions
        self._questions = questions
        self._metadata = metadata
        self._clock = clock
        self._retry_backoff_ms = retry_backoff_ms
        self._request_timeout_ms = request_timeout_ms
        self._failure: Exception | None = None
        self._told_update = self._checked_update = -1
        self._checked_version = -1

    def advance(self) -> None:
        """Send what is due. Raises errors of responses: a forbidden reset, a truncated log."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        self._tell_refused_topics()
        self._notice_leaders()
        now_ms = self._clock.monotonic_ms()
        self._reset(now_ms)
        self._validate(now_ms)

    @property
    def next_due_ms(self) -> int | None:
        """When the next request is due; None: every position is valid, or no broker is known."""
        if not self._metadata.has_answer:
            return None
        doubtful = (FetchState.AWAIT_RESET, FetchState.AWAIT_VALIDATION)
        due = [
            state.retry_at_ms
            for partition in self._subscriptions.where(lambda state: state.state in doubtful)
            if (state := self._subscriptions.get(partition)) is not None
        ]
        return min(due, default=None)

    def reset_missing(self) -> None:
        """Look up what has no position and no committed offset. Raises NoOffsetForPartition."""
        without = self._subscriptions.reset_missing()
        if without:
            raise NoOffsetForPartition(without)

    def _tell_refused_topics(self) -> None:
        if self._metadata.update_count != self._told_update:
            self._told_update = self._metadata.update_count
            read = self._subscriptions.topics | {partition.topic for partition in self._subscriptions.assigned}
            self._metadata.snapshot.raise_for_refused(read)

    def _notice_leaders(self) -> None:
        """Validate positions again if the metadata names newer leaders, and only then."""
        update, version = self._metadata.update_count, self._subscriptions.version
        if update == self._checked_update and version == self._checked_version:
            return
        self._checked_update, self._checked_version = update, version
        snapshot = self._metadata.snapshot
        for partition in self._subscriptions.in_state(FetchState.FETCHING):
            known = snapshot.partition(partition)
            if known is not None and known.leader_id is not None:
                self._subscriptions.check_leader(partition, known.leader_epoch)

    def _due(self, wanted: FetchState, now_ms: int) -> dict[TopicPartition, PartitionState]:
        found = {}
        for partition in self._subscriptions.in_state(wanted):
            state = self._subscriptions.of(partition)
            if state.retry_at_ms <= now_ms:
                state.retry_at_ms = now_ms + self._request_timeout_ms
                found[partition] = state
        return found

    # --- resets ------------------------------------------------------------------------------------------------------

    def _reset(self, now_ms: int) -> None:
        due = self._due(FetchState.AWAIT_RESET, now_ms)
        if not due:
            return
        without = [partition for partition, state in due.items() if state.strategy is ResetStrategy.NONE]
        if without:
            for state in due.values():
                # Nothing was requested: the next call raises it again.
                state.retry_at_ms = 0
            raise NoOffsetForPartition(without)
        if not self._metadata.has_answer:
            # No broker is known yet, and an attempt would start a backoff. The first response ends the waiting poll.
            for state in due.values():
                state.retry_at_ms = 0
            return
        strategies = {partition: state.strategy for partition, state in due.items() if state.strategy is not None}

        def found(partition: TopicPartition, offset: FoundOffset) -> None:
            position = FetchPosition(offset.offset, offset.leader_epoch)
            log.info("Resetting offset for partition %s to position %s.", partition, offset.offset)
            self._subscriptions.complete_reset(partition, strategies[partition], position)

        timestamps = {partition: int(strategy.value) for partition, strategy in strategies.items()}
        self._questions.ask_offsets(timestamps, found, self._failed)

    def _failed(self, partitions: Collection[TopicPartition], error: Exception) -> None:
        if isinstance(error, BrokerError) and not may_pass(error):
            self._failure = error
        self._metadata.request_update()
        self._subscriptions.retry_later(partitions, self._clock.monotonic_ms() + self._retry_backoff_ms)

    # --- validation --------------------------------------------------------------------------------------------------

    def _validate(self, now_ms: int) -> None:
        due = self._due(FetchState.AWAIT_VALIDATION, now_ms)
        asked: dict[TopicPartition, FetchPosition] = {}
        for partition, state in due.items():
            if state.position is None or state.position.leader_epoch is None:
                self._subscriptions.complete_validation(partition, None)
            else:
                asked[partition] = state.position
        if not asked:
            return
        epochs = {partition: self._leader_epoch(partition) for partition in asked}
        self._questions.ask_epoch_ends(
            {partition: position.leader_epoch or 0 for partition, position in asked.items()},
            lambda partition, end: self._judge(partition, asked[partition], end, epochs[partition]),
            self._validation_failed,
        )

    def _leader_epoch(self, partition: TopicPartition) -> int | None:
        known = self._metadata.snapshot.partition(partition)
        return None if known is None else known.leader_epoch

    def _judge(self, partition: TopicPartition, asked: FetchPosition, end: EpochEnd, leader_epoch: int | None) -> None:
        state = self._subscriptions.get(partition)
        if state is None or state.state is not FetchState.AWAIT_VALIDATION or state.position != asked:
            return
        verdict = judge(asked, end)
        if verdict is Verdict.VALID:
            self._subscriptions.complete_validation(partition, leader_epoch)
            return
        log.info("Truncation detected for partition %s at offset %s: %s", partition, asked.offset, end)
        if self._subscriptions.default_strategy is ResetStrategy.NONE:
            diverging = {partition: end.end_offset} if verdict is Verdict.DIVERGED else {}
            state.retry_at_ms = 0
            self._failure = LogTruncation({partition: asked.offset}, diverging)
        elif verdict is Verdict.LOST:
            self._subscriptions.request_reset(partition)
        else:
            self._subscriptions.seek(partition, FetchPosition(end.end_offset, end.leader_epoch))
            self._subscriptions.complete_validation(partition, leader_epoch)

    def _validation_failed(self, partitions: Collection[TopicPartition], error: Exception) -> None:
        if isinstance(error, UnsupportedVersion):
            # An old broker: accept positions unchecked, as before KIP-320.
            for partition in partitions:
                if self._subscriptions.is_assigned(partition):
                    self._subscriptions.complete_validation(partition, self._leader_epoch(partition))
        else:
            self._failed(partitions, error)


def may_pass(error: Exception) -> bool:
    """Whether trying again may help."""
    if isinstance(error, AuthenticationException):
        return False
    return (
        not isinstance(error, BrokerError) or is_retriable(error.code) or error.code == ErrorCode.UNKNOWN_SERVER_ERROR
    )
