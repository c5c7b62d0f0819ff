"""A client's metadata of the cluster, and when it must be refreshed.

Role        Pure: takes responses and times, and says what to request and when. `NetworkClient` sends. May be
            used from several threads: changes are guarded, the content is an immutable `ClusterSnapshot`.
Invariants  A partition's leader epoch never goes back: a response with an older one is ignored,
            unless the topic was recreated.
            Two requests are a backoff apart, whatever the demand; only a new topic is requested at once.
Source      Kafka 3.9 Metadata, ProducerMetadata, ConsumerMetadata; KIP-320, KIP-526.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from kafka_zk.client.addresses import Address
from kafka_zk.client.errors import AuthenticationException
from kafka_zk.client.network.backoff import ExponentialBackoff
from kafka_zk.client.network.cluster_snapshot import ClusterSnapshot, Node, PartitionMetadata, TopicMetadata
from kafka_zk.protocol.errors import ErrorCode, code_of, is_retriable
from kafka_zk.protocol.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from kafka_zk.protocol.types import NULL_UUID, TopicPartition

log = logging.getLogger("org.apache.kafka.clients.Metadata")

_INVALID_METADATA = frozenset(
    {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.NETWORK_EXCEPTION,
     ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH,
     ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.LISTENER_NOT_FOUND}
)  # fmt: skip


class MetadataQuestion(NamedTuple):
    """One Metadata request: the topics (None: all of them), and what its response replaces."""

    topics: Sequence[str] | None
    allow_auto_topic_creation: bool
    number: int
    is_partial: bool


@dataclass(frozen=True, slots=True)
class MetadataSettings:
    """When to request metadata. Times in milliseconds; an unused topic is forgotten after `idle_ms`, None: never."""

    max_age_ms: int
    backoff: ExponentialBackoff
    idle_ms: int | None = None
    allow_auto_topic_creation: bool = True


class ClusterMetadata:
    """Requested topics, leaders with their epochs, and the age of both.

    `listeners` are called with each new snapshot, and when a broker refused this client, in the thread that polls.
    """

    def __init__(self, bootstrap: Sequence[Address], settings: MetadataSettings) -> None:
        self._settings = settings
        self._bootstrap = list(bootstrap)
        self._lock = threading.RLock()
        self._topics: dict[str, int] = {}
        self._new_topics: dict[str, None] = {}
        self._borrowed: Counter[str] = Counter()
        """Topics that callers look at for a while, and how many do."""
        self._all_topics = False
        self._epochs: dict[TopicPartition, int] = {}
        self._wanted = True
        self._number = 0
        self._allowed_ms = 0
        self._last_success_ms: int | None = None
        self._failure_count = 0
        self._unchanged_count = 0
        self._refusal: AuthenticationException | None = None
        self.listeners: list[Callable[[ClusterSnapshot], None]] = []
        self.update_count = 0
        self.snapshot = self._bootstrap_snapshot()

    def __repr__(self) -> str:
        return f"metadata topics={sorted(self._topics)} updates={self.update_count} wanted={self._wanted}"

    # --- what is asked -----------------------------------------------------------------------------------------------

    def add_topic(self, topic: str, now_ms: int) -> bool:
        """Request one more topic, or keep it from being forgotten. Returns whether it is new."""
        with self._lock:
            is_new = topic not in self._topics
            self._topics[topic] = now_ms
            if is_new:
                self._new_topics[topic] = None
                self._allowed_ms = now_ms
            return is_new

    def borrow_topics(self, topics: Collection[str], now_ms: int) -> None:
        """Request these topics, too, until `return_topics`: a program that looks at a topic does not want it for ever,
        and a request may create one that was deleted."""
        with self._lock:
            if not self._requested.issuperset(topics):
                self._allowed_ms = now_ms
            self._borrowed.update(topics)

    def return_topics(self, topics: Collection[str]) -> None:
        """Those that were borrowed."""
        with self._lock:
            self._borrowed -= Counter(topics)

    @property
    def _requested(self) -> set[str]:
        return {*self._topics, *self._borrowed}

    def set_topics(self, topics: Iterable[str], now_ms: int) -> bool:
        """Request exactly these topics. Returns whether one of them is new, so that an update is needed."""
        with self._lock:
            wanted = dict.fromkeys(topics, now_ms)
            grew = self._all_topics or any(topic not in self._topics for topic in wanted)
            self._topics, self._all_topics = wanted, False
            self._new_topics.clear()
            if grew:
                self._wanted = True
                self._allowed_ms = now_ms
            return grew

    def want_all_topics(self) -> None:
        """Request every topic of the cluster from now on: for subscriptions by a pattern."""
        with self._lock:
            self._wanted = self._wanted or not self._all_topics
            self._all_topics = True

    def request_update(self) -> int:
        """Request an update as soon as the backoff allows. Returns the current `update_count`."""
        with self._lock:
            self._wanted = True
            return self.update_count

    def ms_until_update(self, now_ms: int) -> int:
        """Time until the next request is due; 0: now."""
        with self._lock:
            if self._wanted or self._new_topics or self._last_success_ms is None:
                due_ms = 0
            else:
                due_ms = max(0, self._last_success_ms + self._settings.max_age_ms - now_ms)
            return max(due_ms, self._allowed_ms - now_ms)

    def next_question(self) -> MetadataQuestion:
        """The request to send now: only new topics if nothing else is due."""
        with self._lock:
            self._number += 1
            is_partial = bool(self._new_topics) and not self._wanted and not self._all_topics
            topics = list(self._new_topics if is_partial else {**self._topics, **self._borrowed})
            # Topics requested while the response is under way must be requested again.
            self._new_topics.clear()
            self._wanted = False
            return MetadataQuestion(
                None if self._all_topics else topics,
                self._settings.allow_auto_topic_creation,
                self._number,
                is_partial,
            )

    # --- what is known -----------------------------------------------------------------------------------------------

    @property
    def has_answer(self) -> bool:
        """Whether any broker has answered yet."""
        return self._last_success_ms is not None

    def age_ms(self, now_ms: int) -> int:
        """Time since the last full answer; since the clock's start if there was none."""
        return now_ms - (self._last_success_ms or 0)

    def leader_epoch_of(self, partition: TopicPartition) -> int | None:
        """The newest leader epoch seen anywhere."""
        return self._epochs.get(partition)

    def saw_leader_epoch(self, partition: TopicPartition, leader_epoch: int) -> bool:
        """Note an epoch from a response. Returns whether it is newer, so that an update was requested."""
        if leader_epoch < 0:
            return False
        with self._lock:
            if leader_epoch <= self._epochs.get(partition, -1):
                return False
            self._epochs[partition] = leader_epoch
            self._wanted = True
            return True

    # --- answers -----------------------------------------------------------------------------------------------------

    def update(self, question: MetadataQuestion, answer: MetadataResponse, now_ms: int) -> None:
        """Take the response to a request. One without brokers counts as a failure."""
        if not answer.brokers:
            log.warning("Ignoring a metadata response that names no broker")
            self.failed(now_ms)
            return
        with self._lock:
            if not question.is_partial:
                self._last_success_ms = now_ms
            elif self._last_success_ms is None:
                self._last_success_ms, self._wanted = now_ms, True
            self._failure_count = 0
            self._forget_idle(now_ms)
            previous = self.snapshot
            self.snapshot = self._merged(question, answer)
            changed = previous.nodes != self.snapshot.nodes or previous.topics != self.snapshot.topics
            # Responses without news are followed by longer pauses: repeating the request does not help.
            self._unchanged_count = 0 if changed else self._unchanged_count + 1
            # Topics added while this response was under way wait no longer than those added now.
            pause_ms = 0 if self._new_topics else self._settings.backoff.wait_ms(self._unchanged_count)
            self._allowed_ms = now_ms + pause_ms
            self.update_count += 1
        for listener in list(self.listeners):
            listener(self.snapshot)

    def failed(self, now_ms: int) -> None:
        """The request failed: it is repeated after the backoff."""
        with self._lock:
            self._failure_count += 1
            self._allowed_ms = now_ms + self._settings.backoff.wait_ms(self._failure_count)
            self._wanted = True

    def refused(self, reason: AuthenticationException) -> None:
        """A broker does not trust this client, or the other way round: the next caller is told."""
        self._refusal = reason
        for listener in list(self.listeners):
            listener(self.snapshot)

    def raise_if_refused(self) -> None:
        """Raise the AuthenticationException of a broker's refusal, once. Source: Metadata.maybeThrowFatalException."""
        refusal, self._refusal = self._refusal, None
        if refusal is not None:
            raise refusal

    def rebootstrap(self) -> None:
        """Forget the brokers and start again with the bootstrap servers."""
        with self._lock:
            self._wanted = True
            self.snapshot = self._bootstrap_snapshot()

    def _bootstrap_snapshot(self) -> ClusterSnapshot:
        nodes = {-1 - index: Node(-1 - index, address) for index, address in enumerate(self._bootstrap)}
        return ClusterSnapshot(nodes)

    def _forget_idle(self, now_ms: int) -> None:
        idle_ms = self._settings.idle_ms
        if idle_ms is not None:
            self._topics = {topic: used for topic, used in self._topics.items() if used + idle_ms > now_ms}

    def _merged(self, question: MetadataQuestion, answer: MetadataResponse) -> ClusterSnapshot:
        nodes = {
            broker.node_id: Node(broker.node_id, Address(broker.host, broker.port), broker.rack)
            for broker in answer.brokers
        }
        kept, requested = self.snapshot if question.is_partial else ClusterSnapshot({}), self._requested
        topics = {name: topic for name, topic in kept.topics.items() if name in requested}
        errors = {name: code for name, code in kept.topic_errors.items() if name in requested}
        for topic in answer.topics:
            name = topic.name
            if name is None or not (self._all_topics or name in requested):
                continue
            topics.pop(name, None)
            errors.pop(name, None)
            if topic.error_code == ErrorCode.NONE:
                topics[name] = self._topic_metadata(name, topic)
            else:
                errors[name] = code_of(topic.error_code)
                self._note_topic_error(name, errors[name])
        controller_id = answer.controller_id if answer.controller_id in nodes else None
        return ClusterSnapshot(nodes, answer.cluster_id, controller_id, topics, errors)

    def _note_topic_error(self, topic: str, error: ErrorCode) -> None:
        if is_invalid_metadata(error):
            self._wanted = True
        log.warning("Error while fetching metadata for topic %s: %s", topic, error.name)

    def _topic_metadata(self, name: str, topic: MetadataResponseTopic) -> TopicMetadata:
        before = self.snapshot.topics.get(name)
        same = before is not None and _is_same_topic(before.topic_id, topic.topic_id)
        # If the topic was missing in a response, only its id shows that its epochs start again.
        before_id = NULL_UUID if before is None else before.topic_id
        partitions = {}
        for each in sorted(topic.partitions, key=lambda each: each.partition_index):
            if is_retriable(each.error_code):
                self._wanted = True
            partitions[each.partition_index] = self._partition_metadata(
                TopicPartition(name, each.partition_index),
                each,
                before.partitions.get(each.partition_index) if same and before is not None else None,
                may_go_back=topic.topic_id not in (NULL_UUID, before_id),
            )
        return TopicMetadata(name, topic.topic_id, topic.is_internal, partitions)

    def _partition_metadata(
        self,
        partition: TopicPartition,
        answer: MetadataResponsePartition,
        before: PartitionMetadata | None,
        *,
        may_go_back: bool,
    ) -> PartitionMetadata:
        leader_epoch = answer.leader_epoch if answer.leader_epoch >= 0 else None
        if leader_epoch is not None:
            if leader_epoch >= self._epochs.get(partition, -1) or may_go_back:
                self._epochs[partition] = leader_epoch
            elif before is not None:
                return before
        return PartitionMetadata(
            partition.topic,
            partition.partition,
            answer.leader_id if answer.leader_id >= 0 else None,
            leader_epoch,
            tuple(answer.replica_nodes),
            tuple(answer.isr_nodes),
            tuple(answer.offline_replicas),
        )


def is_invalid_metadata(error: ErrorCode) -> bool:
    """Whether an error of a topic or partition means stale metadata (Java's InvalidMetadataException)."""
    return error in _INVALID_METADATA


def _is_same_topic(before: UUID, now: UUID) -> bool:
    """Whether a topic was not deleted and recreated; brokers without topic ids cannot tell."""
    return before == now or NULL_UUID in (before, now)
