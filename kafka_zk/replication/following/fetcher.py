"""A replica fetcher: one greenlet, one leader, the partitions followed there.

Role        Acts on what fetch_state.py decides: fetches, truncates, appends what came as it is, moves the follower's
            high watermark and log start.
Invariants  While `_turn` is held one answer is being worked in; `forget` waits for it, so that nothing more is
            appended afterwards to the partitions that left.
            No greenlet holds it while it waits for the network; control requests need it.
            A diverging epoch is handled before the leader's high watermark is read (rule 36).
            An answer for a state that is not current any more is dropped.
Source      Kafka 3.9 AbstractFetcherThread, ReplicaFetcherThread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

import gevent
from gevent.event import Event
from gevent.lock import RLock

from kafka_zk.clock import Clock
from kafka_zk.metadata.snapshot import Node
from kafka_zk.network.errors import NetworkError
from kafka_zk.protocol.errors import BrokerError, CorruptMessage, ErrorCode, InvalidRecord, KafkaStorageError
from kafka_zk.protocol.messages.fetch import PartitionData
from kafka_zk.protocol.types import NULL_UUID, TopicPartition
from kafka_zk.replication.following.fetch_state import (
    FetchState,
    back_off_ms,
    initial_state,
    plan_for_range,
    reaction_to,
    truncation_for,
)
from kafka_zk.replication.following.fetcher_metrics import FetcherMetrics
from kafka_zk.replication.following.follower_session import Asked, FollowerSession, SessionRequest
from kafka_zk.replication.following.leader_endpoint import LeaderEndpoint, partitions_of
from kafka_zk.replication.partition import Partition
from kafka_zk.replication.serving.reading import SpecialTimestamp
from kafka_zk.replication.throttle import ReplicationQuota
from kafka_zk.supervision import caught, spawn_for_life

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import UnifiedLog

_SESSION_LOST = (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH)

# The records arrived damaged; another attempt may succeed.
_DAMAGED = (CorruptMessage, InvalidRecord)

log_lines = logging.getLogger("kafka.server.ReplicaFetcherThread")


class Followed:
    """A partition and its follower's state."""

    __slots__ = ("partition", "state")

    def __init__(self, partition: Partition, state: FetchState) -> None:
        self.partition = partition
        self.state = state


class Fetcher:
    """`metrics` counts what was fetched; `wake(partition)` tells consumers that read from this follower.

    `throttle`: partitions that it throttles and that lag are not fetched while it is exceeded (KIP-73).
    """

    def __init__(
        self,
        endpoint: LeaderEndpoint,
        *,
        name: str,
        clock: Clock,
        backoff_ms: int,
        metrics: FetcherMetrics,
        wake: Callable[[Partition], None],
        throttle: ReplicationQuota,
    ) -> None:
        self.name = name
        self._endpoint = endpoint
        self._clock = clock
        self._backoff_ms = backoff_ms
        self.metrics = metrics
        self._wake = wake
        self._throttle = throttle
        self._followed: dict[TopicPartition, Followed] = {}
        self.failed: set[TopicPartition] = set()
        self._out_of_range: list[tuple[Followed, FetchState]] = []
        self._session = FollowerSession()
        self._turn = RLock()
        self._stirred = Event()
        self._stopped = False
        self._greenlet: gevent.Greenlet[..., None] | None = None

    def start(self) -> None:
        self._greenlet = spawn_for_life(self.name, self._run)

    def stop(self) -> None:
        """Blocks. End the greenlet; the answer it may be waiting for is dropped."""
        self._stopped = True
        self._stirred.set()
        self._endpoint.stop()
        if self._greenlet is not None and self._greenlet is not gevent.getcurrent():
            self._greenlet.join()

    def follow(self, partition: Partition) -> None:
        """Blocks. Fetch a partition from now on. One that is followed in the same leader epoch keeps its state."""
        log = partition.log
        assert log is not None
        with self._turn:
            known = self._followed.get(partition.topic_partition)
            if known is not None and known.state.leader_epoch == partition.leader_epoch:
                return
            self.failed.discard(partition.topic_partition)
            self._followed[partition.topic_partition] = Followed(partition, _initial_state(partition, log))
            self._stirred.set()

    def forget(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Blocks. Stop fetching these; nothing is appended to them any more when this returns."""
        with self._turn:
            for topic_partition in topic_partitions:
                self._followed.pop(topic_partition, None)
                self.failed.discard(topic_partition)

    @property
    def node(self) -> Node:
        """The leader this one fetches from."""
        return self._endpoint.node

    @property
    def is_dead(self) -> bool:
        """Whether its greenlet ended without being told to."""
        return self._greenlet is not None and self._greenlet.dead and not self._stopped

    @property
    def followed(self) -> list[Partition]:
        """The partitions it fetches."""
        return [followed.partition for followed in self._followed.values()]

    @property
    def is_idle(self) -> bool:
        return not self._followed

    @property
    def max_lag_records(self) -> int:
        """The largest known lag of its partitions."""
        return max((followed.state.lag_records or 0 for followed in self._followed.values()), default=0)

    def lags(self) -> list[tuple[TopicPartition, int]]:
        """The partitions whose lag is known, with it."""
        return [
            (topic_partition, followed.state.lag_records)
            for topic_partition, followed in self._followed.items()
            if followed.state.lag_records is not None
        ]

    # --- the greenlet ----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        """Blocks. Until it is stopped."""
        while not self._stopped:
            try:
                self._prepare()
                ready = self._ready()
                if ready:
                    self._fetch(ready)
                else:
                    self._rest()
            except NetworkError as error:
                if not self._stopped:
                    log_lines.warning("[%s] Error in response for fetch request: %s", self.name, error)
                    self._session.failed(session_is_lost=False)
                    self._delay_all()
            except Exception:
                # A bug of ours: without this greenlet none of its partitions would be fetched any more.
                caught(self.name, "while fetching")
                self._session.failed(session_is_lost=False)
                self._delay_all()

    def _prepare(self) -> None:
        """Blocks. A log without epochs is cut to its high watermark before it is fetched: above it may be anything."""
        with self._turn:
            for topic_partition, followed in list(self._followed.items()):
                log = followed.partition.log
                state = followed.state
                if log is not None and state.last_fetched_epoch < 0 and log.log_end_offset > state.fetch_offset:
                    self._guarded(topic_partition, partial(log.truncate_to, state.fetch_offset))

    def _ready(self) -> dict[TopicPartition, Asked]:
        now_ms = self._clock.monotonic_ms()
        return {
            topic_partition: Asked(followed.state, followed.partition.log.log_start_offset)
            for topic_partition, followed in self._followed.items()
            if followed.partition.log is not None
            and followed.state.is_ready(now_ms)
            and not self._has_to_wait(followed, followed.partition.log)
        }

    def _has_to_wait(self, followed: Followed, log: UnifiedLog) -> bool:
        """Whether the throttle leaves a partition out of the next fetch: never what is known to be at its end."""
        return (
            followed.state.lag_records != 0
            and self._throttle.throttles(log.config, log.topic_partition.partition)
            and self._throttle.is_exceeded()
        )

    def _rest(self) -> None:
        """Blocks. Until the backoff is over, also that of one partition, or something changed."""
        if self._stopped:
            return
        self._stirred.clear()
        until_ms = [followed.state.delayed_until_ms for followed in self._followed.values()]
        delayed_ms = [each for each in until_ms if each is not None]
        over = self._clock.call_at(min([self._clock.monotonic_ms() + self._backoff_ms, *delayed_ms]), self._stirred.set)
        self._stirred.wait()
        over.cancel()

    def _fetch(self, ready: Mapping[TopicPartition, Asked]) -> None:
        """Blocks. One request and what follows from its answer. Raises NetworkError."""
        request: SessionRequest = self._session.next_request(ready)
        response = self._endpoint.fetch(request)
        self.metrics.on_answer(1)
        if response.error_code != ErrorCode.NONE:
            code = ErrorCode(response.error_code)
            log_lines.info(
                "[%s] Node %d was unable to process the fetch request: %s", self.name, self._endpoint.node.id, code.name
            )
            self._session.failed(session_is_lost=code in _SESSION_LOST)
            if code not in _SESSION_LOST:
                self._delay_all()
            return
        self._session.answered(response.session_id)
        names: dict[UUID, str] = {
            asked.state.topic_id: topic_partition.topic
            for topic_partition, asked in ready.items()
            if asked.state.topic_id != NULL_UUID
        }
        for topic_partition, data in partitions_of(response, names):
            with self._turn:
                followed = self._followed.get(topic_partition)
                asked = ready.get(topic_partition)
                if followed is not None and asked is not None and followed.state is asked.state and not self._stopped:
                    self._guarded(topic_partition, partial(self._take, followed, data))
                else:
                    self._session.untold()
        lost, self._out_of_range = self._out_of_range, []
        for followed, state in lost:
            self._look_for_range(followed, state)

    def _guarded(self, topic_partition: TopicPartition, work: Callable[[], object]) -> None:
        """Blocks. Do `work` on one partition; what it raises decides about that partition only."""
        try:
            work()
        except _DAMAGED as error:
            log_lines.error(
                "[%s] Found invalid messages during fetch for partition %s: %s", self.name, topic_partition, error
            )
            self._delay(topic_partition)
        except NetworkError:
            raise
        except KafkaStorageError as error:
            log_lines.error("[%s] Error while processing data for partition %s: %s", self.name, topic_partition, error)
            self._fail(topic_partition)
        except Exception:
            # A bug of ours, on one partition's data: the others continue.
            log_lines.exception(
                "[%s] Unexpected error while processing data for partition %s", self.name, topic_partition
            )
            self._fail(topic_partition)

    def _take(self, followed: Followed, data: PartitionData) -> None:
        """Blocks. Work one partition's answer in."""
        if data.error_code != ErrorCode.NONE:
            self._react(followed, data.error_code)
        elif data.diverging_epoch.epoch >= 0 or data.diverging_epoch.end_offset >= 0:
            self._truncate(followed, data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
        else:
            self._append(followed, data)

    def _append(self, followed: Followed, data: PartitionData) -> None:
        log, state = _log_of(followed), followed.state
        if state.fetch_offset != log.log_end_offset:
            raise AssertionError(
                f"{log.topic_partition}: fetched {state.fetch_offset}, but the log ends at {log.log_end_offset}"
            )
        next_offset, last_epoch = state.fetch_offset, state.last_fetched_epoch
        records = data.records
        if records:
            assert isinstance(records, bytes | bytearray | memoryview), "decoded records are bytes"
            info = followed.partition.append_as_follower(records, state.leader_epoch)
            if info.last_offset >= 0:
                next_offset, last_epoch = info.last_offset + 1, log.latest_epoch
            self.metrics.on_replicated(len(records), is_joining=followed.partition.is_joining)
        if self._throttle.throttles(log.config, log.topic_partition.partition):
            # Also of a partition that is in sync: all of them together shall not exceed the rate.
            self._throttle.record(len(records or b""))
        before = log.high_watermark
        log.update_high_watermark(data.high_watermark)
        if log.log_start_offset < data.log_start_offset <= log.high_watermark:
            log.increment_log_start_offset(data.log_start_offset)
        followed.state = state._replace(
            fetch_offset=next_offset,
            last_fetched_epoch=last_epoch,
            lag_records=max(0, data.high_watermark - next_offset),
            delayed_until_ms=None,
        )
        if log.high_watermark != before:
            self._wake(followed.partition)

    def _truncate(self, followed: Followed, leader_epoch: int, leader_end_offset: int) -> None:
        log, state = _log_of(followed), followed.state
        own = log.end_offset_for(leader_epoch)
        cut = truncation_for(
            leader_epoch=leader_epoch,
            leader_end_offset=leader_end_offset,
            fetch_offset=state.fetch_offset,
            log_end_offset=log.log_end_offset,
            own_epoch=own.leader_epoch,
            own_end_offset=own.end_offset,
        )
        log_lines.info(
            "[%s] Truncating partition %s to offset %d due to diverging epoch",
            self.name,
            log.topic_partition,
            cut.offset,
        )
        if cut.offset < log.high_watermark:
            log_lines.warning(
                "[%s] Truncating %s to offset %d below high watermark %d",
                self.name,
                log.topic_partition,
                cut.offset,
                log.high_watermark,
            )
        log.truncate_to(cut.offset)
        # The cut is at a whole batch: fetch on from where the log really ends.
        followed.state = state._replace(fetch_offset=log.log_end_offset, last_fetched_epoch=log.latest_epoch)
        self._session.untold()

    def _react(self, followed: Followed, code: int) -> None:
        topic_partition = followed.partition.topic_partition
        reaction = reaction_to(
            code, asked_epoch=followed.state.leader_epoch, current_epoch=followed.partition.leader_epoch
        )
        if reaction.looks_for_range:
            self._out_of_range.append((followed, followed.state))
        elif reaction.fails:
            log_lines.info("[%s] Partition %s is fenced, waiting for the next LeaderAndIsr", self.name, topic_partition)
            self._fail(topic_partition)
        else:
            self._delay(topic_partition, back_off_ms(code, self._backoff_ms))

    def _look_for_range(self, followed: Followed, state: FetchState) -> None:
        """Blocks, without the turn. Out of the leader's range: ask where it begins and ends, and get inside."""
        topic_partition = followed.partition.topic_partition
        work: Callable[[], object]
        try:
            end = self._endpoint.offset_at(topic_partition, state.leader_epoch, SpecialTimestamp.LATEST)
            start = self._endpoint.offset_at(topic_partition, state.leader_epoch, SpecialTimestamp.EARLIEST)
            work = partial(self._get_inside, followed, start, end)
        except NetworkError:
            raise
        except BrokerError as error:
            log_lines.info(
                "[%s] Could not fetch the start and end offset of %s from its leader: %s",
                self.name,
                topic_partition,
                error.code.name,
            )
            work = partial(self._delay, topic_partition)
        with self._turn:
            if self._followed.get(topic_partition) is followed and followed.state is state and not self._stopped:
                self._guarded(topic_partition, work)

    def _get_inside(self, followed: Followed, start: int, end: int) -> None:
        """Blocks. Fetch on inside the leader's range, which begins at `start` and ends at `end`."""
        log, state = _log_of(followed), followed.state
        plan = plan_for_range(leader_start_offset=start, leader_end_offset=end, log_end_offset=log.log_end_offset)
        log_lines.warning(
            "[%s] Reset fetch offset for partition %s from %d to %d (leader has %d to %d)",
            self.name,
            log.topic_partition,
            log.log_end_offset,
            plan.fetch_offset,
            start,
            end,
        )
        if plan.starts_anew:
            log.truncate_fully_and_start_at(plan.fetch_offset)
        elif plan.truncates:
            log.truncate_to(plan.fetch_offset)
        followed.state = state._replace(
            fetch_offset=log.log_end_offset,
            last_fetched_epoch=log.latest_epoch,
            lag_records=max(0, end - log.log_end_offset),
        )

    def _delay(self, topic_partition: TopicPartition, for_ms: int | None = None) -> None:
        followed = self._followed.get(topic_partition)
        if followed is not None:
            delay_ms = self._backoff_ms if for_ms is None else for_ms
            followed.state = followed.state.delayed(self._clock.monotonic_ms() + delay_ms)

    def _delay_all(self) -> None:
        for topic_partition in list(self._followed):
            self._delay(topic_partition)
        self._rest()

    def _fail(self, topic_partition: TopicPartition) -> None:
        if self._followed.pop(topic_partition, None) is not None:
            self.failed.add(topic_partition)

    def __repr__(self) -> str:
        return (
            f"{self.name} partitions={len(self._followed)} failed={len(self.failed)} session={self._session.session_id}"
        )


def _initial_state(partition: Partition, log: UnifiedLog) -> FetchState:
    return initial_state(
        topic_id=log.topic_id or NULL_UUID,
        leader_epoch=partition.leader_epoch,
        log_end_offset=log.log_end_offset,
        high_watermark=log.high_watermark,
        latest_epoch=log.latest_epoch,
    )


def _log_of(followed: Followed) -> UnifiedLog:
    log = followed.partition.log
    if log is None:
        raise KafkaStorageError(f"The log of {followed.partition.topic_partition} is offline")
    return log
