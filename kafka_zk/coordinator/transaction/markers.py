"""Sends the markers of decided transactions to the leaders of their partitions, until each has its own.

Role        Acts, through PeerChannels: what waits for one broker goes to it in one request, and one is on its way.
            What this broker leads it writes itself, in background tasks; what is tried again is in one, too, for there
            may be thousands. Nothing else here switches: it is driven by answers and timers.
Invariants  `done` of a transaction is called once, when no partition of it wants a marker any more. It is not called
            if the transaction is no longer wanted: another coordinator has it.
            A partition whose leader is unknown, down or moving is tried again; one that was deleted wants none. What
            the metadata does not have may be news to it: after a start, leaderships come before it. Only ZooKeeper
            says that a partition was deleted.
Differs from Kafka, which takes for deleted what its metadata does not have; and which gives the transaction up where a
            partition knows a newer epoch of the producer, or of the coordinator, until it is loaded anew. It is tried
            again here, rarely: the partition forgets the newer epoch once nobody uses it for producer.id.expiration.ms.
            When the coordinator itself gets a newer epoch it is tried again at once.
Source      Kafka 3.9 TransactionMarkerChannelManager, TransactionMarkerRequestCompletionHandler.
"""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable
from enum import Enum, auto
from functools import partial
from typing import Final, Protocol

from kafka_zk.clock import Clock, Timer
from kafka_zk.coordinator.ownership import Load
from kafka_zk.coordinator.tasks import Tasks
from kafka_zk.coordinator.transaction.ending import Ending
from kafka_zk.coordinator.transaction.marker_writer import Codes
from kafka_zk.giving_way import in_slices
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metadata.peer_channels import PeerChannels
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode, code_of
from kafka_zk.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.errors import ZkError

RETRY_MS = 20
LONGEST_RETRY_MS = 640
"""Until partitions that could not take their marker are tried again; doubled while none takes one."""

REFUSED_RETRY_MS = 60_000
"""Until a partition that knows a newer epoch is tried again."""

MOST_IN_A_REQUEST = 500
"""Partitions, if one transaction has no more: making the request and taking its answer keep the others waiting."""

log = logging.getLogger("kafka.coordinator.transaction.TransactionMarkerChannelManager")


class _Outcome(Enum):
    """What an answer means for the marker of one partition."""

    ENDED = auto()
    AGAIN = auto()
    REFUSED = auto()


OUTCOMES: Final = {
    # Its log holds no transactions at all.
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: _Outcome.ENDED,
    ErrorCode.UNSUPPORTED_VERSION: _Outcome.ENDED,
    ErrorCode.INVALID_PRODUCER_EPOCH: _Outcome.REFUSED,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: _Outcome.REFUSED,
}
"""By the code of a partition, where there was an error; every other one is tried again."""

USUAL: Final = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)
"""What passes while leaders move and replicas catch up: not worth a line in the log."""


class Markers:
    """Those of one transaction, in the epoch that its `coordinator` has when they are sent; `sent_epoch`: the last one.

    `ending` is told what becomes of them, and says whether they still are wanted.
    """

    __slots__ = (
        "coordinator",
        "ending",
        "is_commit",
        "producer_epoch",
        "producer_id",
        "remaining",
        "sent_epoch",
        "transactional_id",
        "was_refused",
    )

    def __init__(
        self,
        transactional_id: str,
        *,
        producer_id: int,
        producer_epoch: int,
        coordinator: Load,
        is_commit: bool,
        partitions: Iterable[TopicPartition],
        ending: Ending,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator = coordinator
        self.is_commit = is_commit
        self.remaining = set(partitions)
        self.ending = ending
        self.was_refused = False
        self.sent_epoch = -1

    def __repr__(self) -> str:
        end = "commit" if self.is_commit else "abort"
        return (
            f"markers to {end} {self.transactional_id} (producer {self.producer_id} epoch {self.producer_epoch}) in "
            f"{sorted(self.remaining)}"
        )


class Writer(Protocol):
    """MarkerWriter."""

    def write(self, marker: WritableTxnMarker) -> Pending[Codes]: ...


Gone = Callable[[Collection[TopicPartition]], Collection[TopicPartition]]
"""Those that were deleted, or are being deleted. Blocks, raises ZkError."""

_Part = tuple[Markers, list[TopicPartition]]
"""Some partitions of one transaction, all led by one broker."""


class MarkerSender:
    """One for a broker, `broker_id`; `writer` writes to its own partitions, in the greenlet of `tasks`.

    `gone` is asked in the greenlet of `questions`: ZooKeeper may be unreachable, and nothing else waits for it.
    """

    def __init__(
        self,
        *,
        broker_id: int,
        writer: Writer,
        tasks: Tasks,
        gone: Gone,
        questions: Tasks,
        peers: PeerChannels,
        metadata_cache: MetadataCache,
        clock: Clock,
    ) -> None:
        self._broker_id = broker_id
        self._writer = writer
        self._tasks = tasks
        self._gone = gone
        self._questions = questions
        self._peers = peers
        self._metadata_cache = metadata_cache
        self._clock = clock
        self._waiting: defaultdict[int, deque[_Part]] = defaultdict(deque)
        self._busy: set[int] = set()
        """Brokers that have not answered yet."""
        self._homeless: list[_Part] = []
        """Whose leader is unknown or down."""
        self._unknown: list[_Part] = []
        """Which the metadata does not have; the next question asks about them."""
        self._again: list[_Part] = []
        self._refused: deque[tuple[int, _Part]] = deque()
        """When they are tried again, the next ones first."""
        self._retry_timer: Timer | None = None
        self._refused_timer: Timer | None = None
        self._retry_ms = RETRY_MS
        self._is_looking = False
        """A task that looks for leaders has not begun yet."""
        self._is_stopped = False
        metadata_cache.on_change(lambda _changed, _deleted: self._look_soon())

    @property
    def unknown_destination_count(self) -> int:
        """How many transactions wait for a leader to send to."""
        return len(self._homeless)

    def stop(self) -> None:
        """Send nothing any more. Whoever loads a transaction next has all its markers written once more."""
        self._is_stopped = True
        for timer in (self._retry_timer, self._refused_timer):
            if timer is not None:
                timer.cancel()

    def send(self, markers: Markers) -> None:
        """Have every partition get its marker. `done` may be called at once."""
        if markers.remaining:
            self._route(markers, sorted(markers.remaining))
        else:
            markers.ending.done()

    def elected(self, state_partition: int) -> None:
        """The coordinator of that partition has a new epoch: soon try again what was refused in an older one. Does not
        switch."""
        others: deque[tuple[int, _Part]] = deque()
        for due_ms, part in self._refused:
            if part[0].coordinator.partition == state_partition:
                self._again.append(part)
            else:
                others.append((due_ms, part))
        if len(others) < len(self._refused):
            self._refused = others
            self._await_retry()

    def _route(self, markers: Markers, partitions: Iterable[TopicPartition]) -> None:
        by_broker: dict[int, list[TopicPartition]] = {}
        own: list[TopicPartition] = []
        homeless: list[TopicPartition] = []
        unknown: list[TopicPartition] = []
        for partition in partitions:
            state = self._metadata_cache.partition(*partition)
            if state is None:
                unknown.append(partition)
            elif self._peers.node(state.leader) is None:
                homeless.append(partition)
            elif state.leader == self._broker_id:
                own.append(partition)
            else:
                by_broker.setdefault(state.leader, []).append(partition)
        if own:
            self._tasks.later(partial(self._write_here, markers, own))
        if by_broker or homeless or unknown:
            markers.ending.delayed()
        for broker_id, led in by_broker.items():
            self._waiting[broker_id].append((markers, led))
        if homeless:
            self._homeless.append((markers, homeless))
            self._await_retry()
        if unknown:
            self._unknown.append((markers, unknown))
            if len(self._unknown) == 1:
                self._questions.later(self._look_for_deleted)
        for broker_id in by_broker:
            self._send_next(broker_id)

    def _send_next(self, broker_id: int) -> None:
        """Send all that waits for a broker, unless it has not answered yet."""
        waiting = self._waiting[broker_id]
        if broker_id in self._busy or self._is_stopped:
            return
        sent: dict[int, _Part] = {}
        later: list[_Part] = []
        count = 0
        while waiting and count < MOST_IN_A_REQUEST:
            part = waiting.popleft()
            if not part[0].ending.is_wanted():
                continue
            # A producer has one answer in a request: of what a coordinator sent before it was away, the rest waits.
            if part[0].producer_id in sent:
                later.append(part)
            else:
                sent[part[0].producer_id] = part
                count += len(part[1])
        waiting.extend(later)
        if not sent:
            return
        self._busy.add(broker_id)
        request = WriteTxnMarkersRequest(markers=[_marker(*part) for part in sent.values()])
        self._peers.send(broker_id, request).on_complete(lambda answer: self._answered(broker_id, sent, answer))

    def _write_here(self, markers: Markers, partitions: list[TopicPartition]) -> None:
        """Blocks while they are written. What becomes of them is taken once they are replicated."""
        if not markers.ending.is_wanted():
            return
        part = (markers, partitions)
        try:
            written = self._writer.write(_marker(markers, partitions))
        except Exception:
            self._try_again(part)
            raise
        if written.is_done:
            self._take(part, written.value)
        else:
            written.on_complete(partial(self._written_here, part))

    def _written_here(self, part: _Part, written: Pending[Codes]) -> None:
        self._take(part, written.value)

    def _try_again(self, part: _Part) -> None:
        """Soon, with whatever else could not be written."""
        part[0].ending.delayed()
        self._again.append(part)
        self._await_retry()

    def _answered(self, broker_id: int, sent: dict[int, _Part], answer: Pending[WriteTxnMarkersResponse]) -> None:
        self._busy.discard(broker_id)
        if self._is_stopped:
            return
        if answer.error is not None:
            # What waits for it, too: if the broker is gone, each next request would fail at once, within this call.
            failed = [*sent.values(), *self._waiting.pop(broker_id, ())]
            log.info("Sending %d markers to broker %d again: %s", len(failed), broker_id, answer.error)
            self._again.extend(failed)
            self._await_retry()
            return
        for result in answer.value.markers:
            part = sent.pop(result.producer_id, None)
            if part is not None:
                codes = {
                    TopicPartition(topic.name, each.partition_index): code_of(each.error_code)
                    for topic in result.topics
                    for each in topic.partitions
                }
                self._take(part, codes)
        if sent:
            # It left some out: as if it had not answered those.
            self._again.extend(sent.values())
            self._await_retry()
        self._send_next(broker_id)

    def _take(self, part: _Part, codes: dict[TopicPartition, ErrorCode]) -> None:
        markers, partitions = part
        if self._is_stopped or not markers.ending.is_wanted():
            return
        ended: list[TopicPartition] = []
        again: list[TopicPartition] = []
        refused: list[TopicPartition] = []
        for partition in partitions:
            code = codes.get(partition, ErrorCode.UNKNOWN_SERVER_ERROR)
            if code is ErrorCode.NONE:
                ended.append(partition)
                continue
            outcome = OUTCOMES.get(code, _Outcome.AGAIN)
            if outcome is _Outcome.REFUSED and markers.sent_epoch < markers.coordinator.leader_epoch:
                # The coordinator was elected once more while they were under way.
                again.append(partition)
                continue
            (ended if outcome is _Outcome.ENDED else again if outcome is _Outcome.AGAIN else refused).append(partition)
            if outcome is _Outcome.REFUSED and not markers.was_refused:
                log.error("%s refused its marker: %s. Trying again each minute: %r", partition, code.name, markers)
            elif outcome is _Outcome.AGAIN and code not in USUAL:
                log.error("%s did not take its marker: %s. Trying again: %r", partition, code.name, markers)
        if again:
            self._try_again((markers, again))
        if refused:
            markers.ending.delayed()
            markers.was_refused = True
            self._refused.append((self._clock.monotonic_ms() + REFUSED_RETRY_MS, (markers, refused)))
            if self._refused_timer is None:
                self._await_refused()
        self._end(markers, ended)

    def _end(self, markers: Markers, partitions: list[TopicPartition]) -> None:
        if not partitions:
            return
        self._retry_ms = RETRY_MS
        markers.remaining.difference_update(partitions)
        if markers.ending.is_wanted():
            markers.ending.written(partitions)
            if not markers.remaining:
                markers.ending.done()

    def _await_retry(self) -> None:
        if self._retry_timer is None and not self._is_stopped:
            self._retry_timer = self._clock.call_at(
                self._clock.monotonic_ms() + self._retry_ms, lambda: self._tasks.later(self._retry)
            )

    def _retry(self) -> None:
        """Blocks."""
        self._retry_timer = None
        self._retry_ms = min(2 * self._retry_ms, LONGEST_RETRY_MS)
        again, self._again = self._again, []
        self._route_all(again)
        self._look_for_leaders()

    def _await_refused(self) -> None:
        self._refused_timer = self._clock.call_at(self._refused[0][0], lambda: self._tasks.later(self._retry_refused))

    def _retry_refused(self) -> None:
        """Blocks."""
        self._refused_timer = None
        now_ms = self._clock.monotonic_ms()
        due: list[_Part] = []
        while self._refused and self._refused[0][0] <= now_ms:
            due.append(self._refused.popleft()[1])
        if self._refused:
            self._await_refused()
        self._route_all(due)

    def _look_soon(self) -> None:
        if self._homeless and not self._is_looking:
            self._is_looking = True
            self._tasks.later(self._look_for_leaders)

    def _look_for_leaders(self) -> None:
        """Blocks. Look for those that were unknown or down, as the metadata is now."""
        self._is_looking = False
        homeless, self._homeless = self._homeless, []
        self._route_all(homeless)

    def _look_for_deleted(self) -> None:
        """Blocks. Those that were deleted want no marker; the others are looked for in the metadata again."""
        parts, self._unknown = self._unknown, []
        gone: Collection[TopicPartition] = ()
        try:
            gone = frozenset(self._gone({each for _, partitions in parts for each in partitions}))
        except ZkError as error:
            log.warning("Could not check which partitions without metadata were deleted: %s", error)
        finally:
            # After an unexpected error, too.
            for markers, partitions in parts:
                self._take_unknown(markers, partitions, gone)

    def _take_unknown(
        self, markers: Markers, partitions: list[TopicPartition], gone: Collection[TopicPartition]
    ) -> None:
        deleted = [partition for partition in partitions if partition in gone]
        if len(deleted) < len(partitions):
            self._again.append((markers, [partition for partition in partitions if partition not in gone]))
            self._await_retry()
        if deleted:
            log.info("No markers for %s of %r: these partitions were deleted", deleted, markers.transactional_id)
            self._end(markers, deleted)

    def _route_all(self, parts: Iterable[_Part]) -> None:
        """Blocks."""
        waiting = deque(parts)
        try:
            for _ in in_slices(range(len(waiting))):
                markers, partitions = waiting[0]
                if markers.ending.is_wanted():
                    self._route(markers, partitions)
                waiting.popleft()
        finally:
            # Of an unexpected error, too: the first one of these, and what follows it, is tried again.
            self._again.extend(waiting)
            if waiting:
                self._await_retry()


def _marker(markers: Markers, partitions: list[TopicPartition]) -> WritableTxnMarker:
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for topic, index in partitions:
        by_topic[topic].append(index)
    markers.sent_epoch = markers.coordinator.leader_epoch
    return WritableTxnMarker(
        producer_id=markers.producer_id,
        producer_epoch=markers.producer_epoch,
        transaction_result=markers.is_commit,
        topics=[WritableTxnMarkerTopic(name=name, partition_indexes=indexes) for name, indexes in by_topic.items()],
        coordinator_epoch=markers.sent_epoch,
    )
