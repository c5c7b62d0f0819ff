"""Writes and reads committed offsets, on request or automatically.

Role        Acts, through the CoordinatorLink; in the program's thread.
Invariants  Commits and their callbacks keep the order of the calls; a synchronous commit
            returns after those before it have completed.
            An automatic commit covers what the last `poll` returned: it is processed once `poll` is called again.
            Nothing is committed under an identity that the coordinator refused.
Source      ConsumerCoordinator (commitOffsetsAsync, commitOffsetsSync, maybeAutoCommitOffsetsAsync,
            OffsetCommitResponseHandler, fetchCommittedOffsets).
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from kafka_zk.client.consumer.errors import CommitFailed, RebalanceInProgress, RetriableCommitFailed
from kafka_zk.client.consumer.group.coordinator_link import CoordinatorLink
from kafka_zk.client.consumer.group.member_requests import fetched_offsets, offset_commit, offset_fetch
from kafka_zk.client.consumer.group.membership import Identity, Membership, MemberState
from kafka_zk.client.consumer.records import OffsetAndMetadata
from kafka_zk.client.consumer.sensors import Sensor
from kafka_zk.client.consumer.settings import GroupSettings
from kafka_zk.client.consumer.subscription_state import SubscriptionState
from kafka_zk.client.errors import DisconnectException, TimeoutException
from kafka_zk.client.refusals import error_about_group, error_about_topics
from kafka_zk.clock import Clock
from kafka_zk.protocol.errors import BrokerError, ErrorCode, code_of, is_retriable, message_of
from kafka_zk.protocol.messages.offset_commit import (
    OFFSET_COMMIT_REQUEST,
    OFFSET_COMMIT_RESPONSE,
    OffsetCommitResponse,
)
from kafka_zk.protocol.messages.offset_fetch import OFFSET_FETCH_REQUEST, OFFSET_FETCH_RESPONSE, OffsetFetchResponse
from kafka_zk.protocol.types import TopicPartition

Offsets = Mapping[TopicPartition, OffsetAndMetadata]
CommitCallback = Callable[[Offsets, Exception | None], None]

_MOVED = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, ErrorCode.REQUEST_TIMED_OUT})
_FENCED = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})

log = logging.getLogger("org.apache.kafka.clients.consumer.internals.ConsumerCoordinator")


class Commits:
    """The commits of one member, or of a consumer without group assignment."""

    def __init__(
        self,
        link: CoordinatorLink,
        membership: Membership,
        subscriptions: SubscriptionState,
        settings: GroupSettings,
        clock: Clock,
    ) -> None:
        self._link = link
        self._membership = membership
        self._subscriptions = subscriptions
        self._settings = settings
        self._clock = clock
        self._due_ms = clock.monotonic_ms() + (settings.auto_commit_interval_ms or 0)
        self._finished: deque[Callable[[], None]] = deque()
        self._pending = 0
        self.on_committed: Callable[[Offsets], None] = lambda _: None
        self.latency = Sensor(clock)

    @property
    def is_idle(self) -> bool:
        """Whether every commit has completed."""
        return not self._pending

    def run_callbacks(self) -> None:
        """Run the callbacks of completed commits."""
        while self._finished:
            self._finished.popleft()()

    def commit(self, offsets: Offsets, callback: CommitCallback, *, timeout_ms: int | None = None) -> None:
        """Send a commit; `callback` is called by `run_callbacks`."""
        identity = self._membership.identity if self._subscriptions.is_auto_assigned else Identity()
        if not offsets:
            self._finished.append(partial(callback, offsets, None))
            return
        if self._subscriptions.is_auto_assigned and not identity.has_generation:
            joining = self._membership.state.value in ("joining", "syncing") and not self._membership.lost
            error = _rebalancing() if joining else CommitFailed()
            self._finished.append(partial(callback, offsets, error))
            return
        sent_ms = self._clock.monotonic_ms()

        def finish(error: Exception | None) -> None:
            self._pending -= 1
            # Done first: an interceptor may end the call (a gevent.Timeout is no Exception), and a thread waits.
            self._finished.append(partial(callback, offsets, error))
            if error is None:
                self.latency.record(self._clock.monotonic_ms() - sent_ms)
                self.on_committed(offsets)

        self._pending += 1
        try:
            self._link.ask(
                OFFSET_COMMIT_REQUEST,
                OFFSET_COMMIT_RESPONSE,
                lambda version: offset_commit(self._settings, identity, offsets, version),
                lambda answer: finish(self._error_in(answer, offsets, identity)),
                finish,
                timeout_ms=timeout_ms,
            )
        except Exception:
            # What could not be asked is not waited for; what was asked when Ctrl-C came is.
            self._pending -= 1
            raise

    def _error_in(self, answer: OffsetCommitResponse, offsets: Offsets, identity: Identity) -> Exception | None:
        refused: set[str] = set()
        for topic in answer.topics:
            for each in topic.partitions:
                if each.error_code == ErrorCode.NONE:
                    continue
                code, partition = code_of(each.error_code), TopicPartition(topic.name, each.partition_index)
                offset = offsets[partition].offset if partition in offsets else None
                level = logging.WARNING if is_retriable(code) else logging.ERROR
                log.log(level, "Offset commit failed on partition %s at offset %s: %s",
                        partition, offset, message_of(code))  # fmt: skip
                if code != ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                    return self._error_of(code, identity)
                refused.add(topic.name)
        return error_about_topics(ErrorCode.TOPIC_AUTHORIZATION_FAILED, refused) if refused else None

    def _error_of(self, code: ErrorCode, identity: Identity) -> Exception:
        if code in _MOVED:
            self._link.lose_coordinator(code.name)
        elif code == ErrorCode.REBALANCE_IN_PROGRESS:
            # The group is waiting for assignments: the next poll gets them, and the commit can be retried.
            self._membership.request_rejoin("offset commit failed since group is already rebalancing")
            return _rebalancing()
        elif code in _FENCED and self._membership.state in (MemberState.JOINING, MemberState.SYNCING):
            # The next generation began between JoinGroup and its response. A cooperative member still
            # owns what it committed, and may retry.
            return _rebalancing()
        elif code in _FENCED:
            if identity == self._membership.identity and identity.has_generation:
                self._membership.forget(f"encountered {code.name} from OffsetCommit response", code)
                self._link.beat_as(None)
            return CommitFailed()
        return error_about_group(code, self._settings.group_id)

    # --- by the clock ------------------------------------------------------------------------------------------------

    @property
    def next_due_ms(self) -> int | None:
        return None if self._settings.auto_commit_interval_ms is None else self._due_ms

    def commit_if_due(self, now_ms: int) -> None:
        """Commit what was returned, if auto.commit.interval.ms has passed."""
        interval_ms = self._settings.auto_commit_interval_ms
        if interval_ms is None or now_ms < self._due_ms:
            return
        self._due_ms = now_ms + interval_ms
        self.commit(self.consumed(), self._note_auto_commit)

    def _note_auto_commit(self, offsets: Offsets, error: Exception | None) -> None:
        if error is None:
            return
        if may_be_retried(error):
            self._due_ms = min(self._clock.monotonic_ms() + self._settings.retry_backoff.wait_ms(1), self._due_ms)
        else:
            log.warning("Asynchronous auto-commit of offsets failed: %s", error)

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a commit without offsets commits: every position."""
        return {
            partition: OffsetAndMetadata(position.offset, "", position.leader_epoch)
            for partition, position in self._subscriptions.consumed().items()
        }

    # --- reading -----------------------------------------------------------------------------------------------------

    def fetch(
        self,
        partitions: Iterable[TopicPartition],
        on_done: Callable[[dict[TopicPartition, OffsetAndMetadata | None] | Exception], None],
        *,
        timeout_ms: int | None = None,
    ) -> None:
        """Fetch committed offsets; None for partitions without."""
        wanted = list(partitions)
        self._link.ask(
            OFFSET_FETCH_REQUEST,
            OFFSET_FETCH_RESPONSE,
            lambda version: offset_fetch(self._settings.group_id, wanted, version),
            lambda answer: on_done(self._committed_in(answer)),
            on_done,
            timeout_ms=timeout_ms,
        )

    def _committed_in(self, answer: OffsetFetchResponse) -> dict[TopicPartition, OffsetAndMetadata | None] | Exception:
        group_error, found = fetched_offsets(answer)
        if group_error != ErrorCode.NONE:
            if group_error in _MOVED:
                self._link.lose_coordinator(code_of(group_error).name)
            return error_about_group(group_error, self._settings.group_id)
        failed = {partition.topic: error_code for partition, (error_code, _) in found.items() if error_code}
        for error_code in failed.values():
            return error_about_topics(error_code, [topic for topic, code in failed.items() if code == error_code])
        return {partition: offset for partition, (_, offset) in found.items()}


def may_be_retried(error: Exception) -> bool:
    """Whether the same commit or fetch may succeed a little later."""
    if isinstance(error, DisconnectException | TimeoutException | RetriableCommitFailed):
        return True
    return isinstance(error, BrokerError) and (
        is_retriable(error.code) or error.code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    )


def is_worth_a_wait(error: Exception) -> bool:
    """Whether to retry a last commit while others wait: not for a deleted topic."""
    is_gone = isinstance(error, BrokerError) and error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return may_be_retried(error) and not is_gone


def _rebalancing() -> RebalanceInProgress:
    return RebalanceInProgress(
        "Offset commit cannot be completed since the consumer is undergoing a rebalance for auto partition assignment. "
        "You can try completing the rebalance by calling poll() and then retry the operation."
    )
