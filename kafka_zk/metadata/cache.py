"""The broker's metadata cache, fed by the controller's UpdateMetadata.

Role        Pure. Answers every question about the cluster without asking anybody. Fed by UpdateMetadata, also when
            this broker is the controller itself; only deletions that it could not hear of come from elsewhere
            (broker/unheard_deletions.py).
Invariants  One immutable snapshot, replaced as a whole: a caller that keeps `snapshot` sees one consistent picture.
            Listeners run after the swap and must not switch.
Source      Kafka 3.9 ZkMetadataCache.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from uuid import UUID

from kafka_zk.metadata.snapshot import (
    EMPTY_SNAPSHOT,
    AliveBroker,
    Node,
    PartitionState,
    Snapshot,
    TopicState,
    Update,
    next_snapshot,
    without_topics,
)
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_zk.protocol.types import NULL_UUID, TopicPartition

ChangeListener = Callable[[Collection[str], Collection[TopicPartition]], None]
"""Called with the names of the topics that an update named, and the partitions that it removed."""


class MetadataCache:
    """The current snapshot, and look-ups in it."""

    __slots__ = ("_listeners", "has_known_topics", "snapshot")

    def __init__(self) -> None:
        self.snapshot: Snapshot = EMPTY_SNAPSHOT
        self.has_known_topics = False
        """Whether there ever was a topic in the picture."""
        self._listeners: list[ChangeListener] = []

    def update(self, request: UpdateMetadataRequest) -> list[TopicPartition]:
        """Apply an UpdateMetadata; returns the partitions it deleted."""
        update = next_snapshot(self.snapshot, request)
        self._show(update)
        return update.deleted_partitions

    def forget(self, topics: Iterable[str]) -> None:
        """Drop partitions that were deleted without an UpdateMetadata."""
        self._show(without_topics(self.snapshot, topics))

    def _show(self, update: Update) -> None:
        self.snapshot = update.snapshot
        self.has_known_topics = self.has_known_topics or bool(update.snapshot.topics)
        for listener in self._listeners:
            listener(update.changed_topics, update.deleted_partitions)

    def on_change(self, listener: ChangeListener) -> None:
        """Call `listener` after every update."""
        self._listeners.append(listener)

    # --- brokers -----------------------------------------------------------------------------------------------------

    @property
    def controller_id(self) -> int:
        """The broker id of the controller, -1 while none is known."""
        return self.snapshot.controller_id

    def alive_brokers(self, listener_name: str) -> list[Node]:
        """The brokers that can be reached on a listener, by id."""
        nodes = (broker.node(listener_name) for _, broker in sorted(self.snapshot.brokers.items()))
        return [node for node in nodes if node is not None]

    def all_alive_brokers(self) -> Iterable[AliveBroker]:
        return self.snapshot.brokers.values()

    def is_alive(self, broker_id: int) -> bool:
        return broker_id in self.snapshot.brokers

    def node(self, broker_id: int, listener_name: str) -> Node | None:
        """A broker on a listener; None when it is not alive or has no such listener."""
        broker = self.snapshot.brokers.get(broker_id)
        return None if broker is None else broker.node(listener_name)

    # --- topics ------------------------------------------------------------------------------------------------------

    def topic(self, name: str) -> TopicState | None:
        return self.snapshot.topics.get(name)

    def topic_name(self, topic_id: UUID) -> str | None:
        return self.snapshot.names_by_id.get(topic_id)

    def topic_id(self, name: str) -> UUID:
        """The id of a topic; the null UUID when the topic, or its id, is unknown."""
        topic = self.snapshot.topics.get(name)
        return NULL_UUID if topic is None else topic.topic_id

    def partition(self, topic: str, index: int) -> PartitionState | None:
        state = self.snapshot.topics.get(topic)
        return None if state is None else state.partitions.get(index)

    def all_topics(self) -> Collection[str]:
        return self.snapshot.topics.keys()

    def __repr__(self) -> str:
        picture = self.snapshot
        return f"controller={picture.controller_id} brokers={sorted(picture.brokers)} topics={len(picture.topics)}"
