"""Prefetches records, one request per broker at a time, and returns them poll by poll.

Role        Acts, through the NetworkClient. Called by the thread that polls.
Invariants  A partition is fetched while at most one of its responses is buffered: there is always data to decode,
            and memory stays within two answers of max.partition.fetch.bytes for each partition.
            Data fetched for a position that has changed since is discarded.
            A position moves only when its records are returned, and back if the program did not receive them.
Source      Fetcher, AbstractFetch, FetchCollector, FetchBuffer.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from kafka_zk.client.consumer.errors import OffsetOutOfRange
from kafka_zk.client.consumer.fetch_answers import FetchAnswer, fetch_request, partitions_of
from kafka_zk.client.consumer.fetch_metrics import FetchMetrics
from kafka_zk.client.consumer.fetch_session import FetchSession, Wanted
from kafka_zk.client.consumer.fetched_partition import FetchedPartition
from kafka_zk.client.consumer.records import ConsumerRecord
from kafka_zk.client.consumer.settings import FetchSettings
from kafka_zk.client.consumer.subscription_state import (
    FetchPosition,
    PartitionState,
    ResetStrategy,
    SubscriptionState,
)
from kafka_zk.client.errors import KafkaException
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.client.refusals import error_about_topics
from kafka_zk.clock import Clock
from kafka_zk.protocol.errors import CorruptMessage, ErrorCode, RecordListTooLarge, code_of, error_class_for
from kafka_zk.protocol.messages.fetch import FETCH_REQUEST, FETCH_RESPONSE, FetchRequest, FetchResponse
from kafka_zk.protocol.types import NULL_UUID, TopicPartition

PREFERRED_REPLICA_MS = 5 * 60 * 1000
"""How long to read from the replica that the leader names, as long as metadata lives by default."""

_OLD_METADATA = frozenset(
    {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REPLICA_NOT_AVAILABLE, ErrorCode.KAFKA_STORAGE_ERROR,
     ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.OFFSET_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
     ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
     ErrorCode.UNKNOWN_LEADER_EPOCH}
)  # fmt: skip

log = logging.getLogger("org.apache.kafka.clients.consumer.internals.Fetcher")


class Fetcher:
    """Of one consumer."""

    def __init__(
        self,
        network: NetworkClient,
        subscriptions: SubscriptionState,
        settings: FetchSettings,
        metrics: FetchMetrics,
        clock: Clock,
    ) -> None:
        self._network = network
        self._subscriptions = subscriptions
        self._settings = settings
        self._metrics = metrics
        self._clock = clock
        self._sessions: dict[int, FetchSession] = {}
        self._in_flight: set[int] = set()
        self._buffered: deque[FetchedPartition] = deque()
        self._failures: dict[TopicPartition, tuple[int, Exception]] = {}
        """Responses, with the requested offset."""
        self._left: dict[TopicPartition, FetchPosition] = {}
        """The positions of partitions before the records that were collected last."""

    # --- asking ------------------------------------------------------------------------------------------------------

    def send_fetches(self) -> None:
        """Send a fetch to every broker that has none in flight."""
        for node_id, wanted in self._wanted_by_node().items():
            session = self._sessions.setdefault(node_id, FetchSession())
            self._in_flight.add(node_id)
            self._send(node_id, session, wanted)

    def _wanted_by_node(self) -> dict[int, dict[TopicPartition, Wanted]]:
        snapshot = self._network.metadata.snapshot
        now_ms = self._clock.monotonic_ms()
        waiting: dict[TopicPartition, list[FetchedPartition]] = {}
        for fetched in self._buffered:
            waiting.setdefault(fetched.partition, []).append(fetched)
        by_node: dict[int, dict[TopicPartition, Wanted]] = {}
        full: set[int] = set()
        for partition in self._subscriptions.where(lambda state: state.may_be_fetched):
            state = self._subscriptions.of(partition)
            ahead = waiting.get(partition, [])
            known = snapshot.partition(partition)
            if state.position is None or state.retry_at_ms > now_ms:
                continue
            if known is None or known.leader_id is None:
                self._network.metadata.request_update()
                continue
            node_id = self._read_replica(state, known.leader_id, now_ms)
            if len(ahead) > 1:
                full.add(node_id)
            if node_id in self._in_flight or not self._network.ready(node_id):
                continue
            offset = ahead[-1].end_offset if ahead else state.position.offset
            epoch = -1 if known.leader_epoch is None else known.leader_epoch
            topic_id = snapshot.topics[partition.topic].topic_id
            wanted = Wanted(topic_id, offset, self._settings.partition_max_bytes, epoch)
            by_node.setdefault(node_id, {})[partition] = wanted
        # Without the partition that has enough buffered, the request could wait at the broker for empty partitions,
        # and delay the next fetch of that one.
        return {node_id: wanted for node_id, wanted in by_node.items() if node_id not in full}

    def _read_replica(self, state: PartitionState, leader_id: int, now_ms: int) -> int:
        preferred = state.preferred_replica
        if preferred is None:
            return leader_id
        if now_ms >= state.preferred_until_ms or preferred not in self._network.metadata.snapshot.nodes:
            state.preferred_replica = None
            return leader_id
        return preferred

    def _send(self, node_id: int, session: FetchSession, wanted: Mapping[TopicPartition, Wanted]) -> None:
        plan = session.plan(wanted)
        sent_ms = self._clock.monotonic_ms()
        has_ids = all(want.topic_id != NULL_UUID for want in wanted.values())
        names = {want.topic_id: partition.topic for partition, want in wanted.items()}

        def build(version: int) -> FetchRequest:
            return fetch_request(plan, self._settings, version)

        def on_answer(answer: FetchResponse) -> None:
            self._in_flight.discard(node_id)
            self._metrics.note_fetch(self._clock.monotonic_ms() - sent_ms, answer.throttle_time_ms)
            answers = list(partitions_of(answer, {**session.topic_names, **names}))
            if session.on_answer(answer.error_code, answer.session_id, [each.partition for each in answers]):
                self._take(answers, wanted, node_id)
            else:
                log.info("Node %s was unable to process the fetch request with %s", node_id, session)
                if answer.error_code in _OLD_METADATA:
                    self._network.metadata.request_update()

        def on_error(error: Exception) -> None:
            self._in_flight.discard(node_id)
            session.on_error()
            log.info("Error sending fetch request to node %s: %s", node_id, error)
            for partition in wanted:
                state = self._subscriptions.get(partition)
                if state is not None and state.preferred_replica == node_id:
                    state.preferred_replica = None
            self._back_off(wanted)

        self._network.send(
            node_id, FETCH_REQUEST, FETCH_RESPONSE, build, on_answer, on_error, max_version=None if has_ids else 12
        )

    def _back_off(self, partitions: Iterable[TopicPartition]) -> None:
        self._network.metadata.request_update()
        retry_at_ms = self._clock.monotonic_ms() + self._settings.retry_backoff_ms
        self._subscriptions.retry_later(list(partitions), retry_at_ms)

    # --- answers -----------------------------------------------------------------------------------------------------

    def _take(self, answers: list[FetchAnswer], wanted: Mapping[TopicPartition, Wanted], node_id: int) -> None:
        size_bytes = 0
        for answer in answers:
            state = self._subscriptions.get(answer.partition)
            want = wanted.get(answer.partition)
            if state is None or want is None or (not state.may_be_fetched and not state.paused):
                continue
            if answer.error_code != ErrorCode.NONE:
                self._take_error(answer, state, want, node_id)
                continue
            state.high_watermark = answer.high_watermark
            state.last_stable_offset = answer.last_stable_offset
            if answer.log_start_offset >= 0:
                state.log_start_offset = answer.log_start_offset
            if answer.preferred_replica >= 0:
                state.preferred_replica = answer.preferred_replica
                state.preferred_until_ms = self._clock.monotonic_ms() + PREFERRED_REPLICA_MS
            size_bytes += len(answer.records)
            if len(answer.records):
                self._buffer(answer, want)
        self._metrics.note_size(size_bytes)

    def _buffer(self, answer: FetchAnswer, want: Wanted) -> None:
        try:
            fetched = FetchedPartition(
                answer.partition,
                answer.records,
                want.fetch_offset,
                check_crcs=self._settings.check_crcs,
                aborted=answer.aborted if self._settings.read_committed else None,
            )
        except CorruptMessage as error:
            failure = KafkaException(f"Encountered corrupt message when fetching {answer.partition}: {error}")
            self._failures[answer.partition] = want.fetch_offset, failure
            return
        if fetched.holds_a_batch:
            self._buffered.append(fetched)
        else:
            too_large = RecordListTooLarge(
                f"There are some messages at [Partition=Offset]: {answer.partition}={want.fetch_offset} whose size "
                f"is larger than the fetch size {self._settings.partition_max_bytes} and hence cannot be returned."
            )
            self._failures[answer.partition] = want.fetch_offset, too_large

    def _take_error(self, answer: FetchAnswer, state: PartitionState, want: Wanted, node_id: int) -> None:
        partition, code = answer.partition, code_of(answer.error_code)
        if code in _OLD_METADATA:
            log.debug("Error in fetch for partition %s: %s", partition, code.name)
            # Next ask the leader, which names a follower if there is one.
            state.preferred_replica = None
            self._back_off([partition])
        elif code == ErrorCode.OFFSET_OUT_OF_RANGE:
            if state.preferred_replica == node_id or self._network.metadata.snapshot.leader_of(partition) != node_id:
                # It may lack what the leader has, so ask the leader next. The same for a follower that has become
                # leader.
                state.preferred_replica = None
            elif state.position is None or state.position.offset != want.fetch_offset:
                log.debug("Discarding stale fetch response for partition %s", partition)
            elif self._subscriptions.default_strategy is ResetStrategy.NONE:
                self._failures[partition] = want.fetch_offset, OffsetOutOfRange({partition: want.fetch_offset})
            else:
                log.info("Fetch offset %s is out of range for partition %s, resetting", want.fetch_offset, partition)
                self._subscriptions.request_reset(partition)
        elif code == ErrorCode.UNKNOWN_SERVER_ERROR:
            log.warning("Unknown server error while fetching offset %s for %s", want.fetch_offset, partition)
            self._back_off([partition])
        else:
            failure = error_class_for(code)(f"Error while fetching {partition}: {code.name}")
            if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                failure = error_about_topics(code, [partition.topic])
            self._failures[partition] = want.fetch_offset, failure

    # --- handing out -------------------------------------------------------------------------------------------------

    @property
    def is_asking(self) -> bool:
        """Whether a response is outstanding."""
        return bool(self._in_flight)

    @contextmanager
    def handing_out(self) -> Iterator[None]:
        """Restore the positions if the block fails: the program did not get what was collected."""
        self._left.clear()
        try:
            yield
        except BaseException:
            # KeyboardInterrupt and gevent.Timeout, too: a commit of positions would skip the records for good.
            for partition, position in self._left.items():
                state = self._subscriptions.get(partition)
                if state is not None and state.position is not None:
                    state.position = position
            raise

    def collect(self) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Returns up to max.poll.records records. Raises a response's error, once no records come before it."""
        collected: dict[TopicPartition, list[ConsumerRecord]] = {}
        left = self._settings.max_poll_records
        set_aside: deque[FetchedPartition] = deque()
        try:
            while left and self._buffered:
                fetched = self._buffered[0]
                state = self._subscriptions.get(fetched.partition)
                if state is not None and (state.paused or state.pending_revocation):
                    set_aside.append(self._buffered.popleft())
                    continue
                if state is None or not self._is_wanted(fetched):
                    self._buffered.popleft()
                    continue
                records = self._take_from(fetched, state, left, bool(collected))
                if records:
                    left -= len(records)
                    collected.setdefault(fetched.partition, []).extend(records)
                if not fetched.holds_a_batch:
                    self._buffered.popleft()
                elif not records:
                    break
        finally:
            self._buffered.extendleft(reversed(set_aside))
        if not collected:
            self._raise_failure()
        return collected

    def _raise_failure(self) -> None:
        """Raise the first error that still applies: its partition is still read at that position."""
        while self._failures:
            partition = next(iter(self._failures))
            offset, failure = self._failures.pop(partition)
            state = self._subscriptions.get(partition)
            if state is not None and state.may_be_fetched and state.position and state.position.offset == offset:
                raise failure

    def _take_from(
        self, fetched: FetchedPartition, state: PartitionState, count: int, may_wait: bool
    ) -> list[ConsumerRecord]:
        try:
            records = fetched.take(count)
        except KafkaException:
            if may_wait:
                return []
            raise
        position = state.position
        assert position is not None, "what is wanted has a position"
        if fetched.next_offset != position.offset:
            epoch = position.leader_epoch if fetched.last_leader_epoch is None else fetched.last_leader_epoch
            if records:
                # Skip data without records, mostly control batches: it may take longer than one poll.
                self._left.setdefault(fetched.partition, position)
            state.position = FetchPosition(fetched.next_offset, epoch)
        if records:
            self._metrics.note_records(fetched, len(records))
        self._metrics.note_lag(fetched.partition, state, read_committed=self._settings.read_committed)
        return records

    def _is_wanted(self, fetched: FetchedPartition) -> bool:
        state = self._subscriptions.get(fetched.partition)
        return (
            state is not None
            and state.may_be_fetched
            and state.position is not None
            and state.position.offset == fetched.next_offset
        )

    def close(self) -> None:
        """Close the brokers' fetch sessions without waiting for responses."""
        for node_id, session in self._sessions.items():
            plan = session.close()
            if plan is not None and self._network.ready(node_id) and node_id not in self._in_flight:
                self._network.send(
                    node_id,
                    FETCH_REQUEST,
                    FETCH_RESPONSE,
                    lambda version, plan=plan: fetch_request(plan, self._settings, version),  # type: ignore[misc]
                    lambda _: None,
                    lambda _: None,
                )
