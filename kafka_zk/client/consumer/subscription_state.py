"""What a consumer reads: topics, a pattern or partitions, and the position of each partition.

Role        Pure. Owned by the thread that calls the consumer.
Invariants  Topics, a pattern and partitions assigned by the program exclude each other.
            A partition is fetched only with a valid position, and not while it is paused.
            A partition that stays assigned keeps its position.
Source      SubscriptionState, SubscriptionState.FetchPosition; KIP-320.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from kafka_zk.client.consumer.errors import IllegalState
from kafka_zk.protocol.types import TopicPartition


class SubscriptionType(Enum):
    """How partitions come to this consumer."""

    NONE = "none"
    TOPICS = "topics"
    PATTERN = "pattern"
    ASSIGNED = "assigned"


class ResetStrategy(Enum):
    """Where to begin without a position; the value is the timestamp of ListOffsets."""

    LATEST = -1
    EARLIEST = -2
    NONE = 0


class FetchPosition(NamedTuple):
    """The next offset to read, and the leader epoch of the record before; None: unknown, unchecked."""

    offset: int
    leader_epoch: int | None = None


class FetchState(Enum):
    """The state of a position."""

    INITIALIZING = "initializing"  # there is none: a committed offset is looked for
    AWAIT_RESET = "await reset"  # there is none that is any good: it is looked up by its strategy
    AWAIT_VALIDATION = "await validation"  # the leader changed: it is asked whether the log was cut off
    FETCHING = "fetching"


@dataclass(slots=True)
class PartitionState:
    """One assigned partition. Log offsets are None until a fetch returns them."""

    state: FetchState = FetchState.INITIALIZING
    position: FetchPosition | None = None
    strategy: ResetStrategy | None = None
    checked_leader_epoch: int | None = None
    paused: bool = False
    pending_revocation: bool = False
    retry_at_ms: int = 0
    high_watermark: int | None = None
    log_start_offset: int | None = None
    last_stable_offset: int | None = None
    preferred_replica: int | None = None
    preferred_until_ms: int = 0

    @property
    def may_be_fetched(self) -> bool:
        return self.state is FetchState.FETCHING and not self.paused and not self.pending_revocation


class SubscriptionState:
    """Requested topics or partitions, and the assigned partitions."""

    def __init__(self, default_strategy: ResetStrategy) -> None:
        self.type = SubscriptionType.NONE
        self.topics: frozenset[str] = frozenset()
        self.pattern: re.Pattern[str] | None = None
        self.default_strategy = default_strategy
        self._partitions: dict[TopicPartition, PartitionState] = {}
        self.version = 0

    def __repr__(self) -> str:
        return f"{self.type.value} topics={sorted(self.topics)} partitions={len(self._partitions)}"

    # --- what is asked for -------------------------------------------------------------------------------------------

    def subscribe(self, topics: Iterable[str]) -> bool:
        """Read topics with a group. Returns whether they changed."""
        self._become(SubscriptionType.TOPICS)
        return self._change_topics(frozenset(topics))

    def subscribe_to(self, pattern: re.Pattern[str]) -> None:
        """Read every topic that matches as a whole; `match_topics` finds them."""
        self._become(SubscriptionType.PATTERN)
        self.pattern = pattern

    def match_topics(self, existing: Iterable[str], is_internal: Callable[[str], bool]) -> bool:
        """Choose the topics of the pattern among those that exist. Returns whether they changed."""
        assert self.pattern is not None, "there is no pattern"
        matching = (name for name in existing if self.pattern.fullmatch(name) and not is_internal(name))
        return self._change_topics(frozenset(matching))

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions, without group assignment."""
        self._become(SubscriptionType.ASSIGNED)
        self._replace(partitions)

    def assign_from_group(self, partitions: Iterable[TopicPartition]) -> None:
        """Take over the group leader's assignment."""
        if not self.is_auto_assigned:
            raise IllegalState(
                f"Attempt to dynamically assign partitions while manual assignment in use: {self.type.value}"
            )
        self._replace(partitions)

    def unsubscribe(self) -> None:
        self.type = SubscriptionType.NONE
        self.topics, self.pattern = frozenset(), None
        self._partitions.clear()
        self.version += 1

    @property
    def is_auto_assigned(self) -> bool:
        return self.type in (SubscriptionType.TOPICS, SubscriptionType.PATTERN)

    def _become(self, wanted: SubscriptionType) -> None:
        if self.type not in (SubscriptionType.NONE, wanted):
            raise IllegalState("Subscription to topics, partitions and pattern are mutually exclusive")
        self.type = wanted

    def _change_topics(self, topics: frozenset[str]) -> bool:
        changed = topics != self.topics
        self.topics = topics
        return changed

    def _replace(self, partitions: Iterable[TopicPartition]) -> None:
        kept = self._partitions
        self._partitions = {partition: kept.get(partition) or PartitionState() for partition in partitions}
        for state in self._partitions.values():
            # Partitions that were about to be revoked but stay are read again.
            state.pending_revocation = False
        self.version += 1

    # --- what is assigned --------------------------------------------------------------------------------------------

    @property
    def assigned(self) -> list[TopicPartition]:
        return list(self._partitions)

    def is_assigned(self, partition: TopicPartition) -> bool:
        return partition in self._partitions

    def of(self, partition: TopicPartition) -> PartitionState:
        """Raises IllegalState for a partition that is not assigned."""
        try:
            return self._partitions[partition]
        except KeyError:
            raise IllegalState(f"No current assignment for partition {partition}") from None

    def get(self, partition: TopicPartition) -> PartitionState | None:
        return self._partitions.get(partition)

    def where(self, wanted: Callable[[PartitionState], bool]) -> list[TopicPartition]:
        """The assigned partitions that match a condition."""
        return [partition for partition, state in self._partitions.items() if wanted(state)]

    def in_state(self, wanted: FetchState) -> list[TopicPartition]:
        return self.where(lambda state: state.state is wanted)

    def consumed(self) -> dict[TopicPartition, FetchPosition]:
        """Every known position: what a commit without offsets commits."""
        return {
            partition: state.position for partition, state in self._partitions.items() if state.position is not None
        }

    def mark_pending_revocation(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop fetching partitions that are about to be revoked."""
        for partition in partitions:
            self.of(partition).pending_revocation = True

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self.of(partition).paused = True

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self.of(partition).paused = False

    # --- positions ---------------------------------------------------------------------------------------------------

    def seek(self, partition: TopicPartition, position: FetchPosition) -> None:
        """Continue from there; if the leader epoch is known, the position is validated first."""
        state = self.of(partition)
        state.position, state.strategy = position, None
        state.state = FetchState.FETCHING if position.leader_epoch is None else FetchState.AWAIT_VALIDATION
        state.checked_leader_epoch = None
        state.retry_at_ms = 0

    def advance(self, partition: TopicPartition, position: FetchPosition) -> None:
        """The program has received everything below."""
        self.of(partition).position = position

    def complete_validation(self, partition: TopicPartition, leader_epoch: int | None) -> None:
        """The position is valid under the leader of this epoch."""
        state = self.of(partition)
        state.checked_leader_epoch = leader_epoch
        if state.state is FetchState.AWAIT_VALIDATION:
            state.state, state.retry_at_ms = FetchState.FETCHING, 0

    def check_leader(self, partition: TopicPartition, leader_epoch: int | None) -> None:
        """The metadata names a leader epoch: a position from another one must be validated."""
        state = self.of(partition)
        if state.position is None or state.state is not FetchState.FETCHING:
            return
        if leader_epoch is None or state.checked_leader_epoch == leader_epoch:
            return
        state.preferred_replica = None
        if state.position.leader_epoch is None:
            state.checked_leader_epoch = leader_epoch
        else:
            state.state = FetchState.AWAIT_VALIDATION

    def request_reset(self, partition: TopicPartition, strategy: ResetStrategy | None = None) -> None:
        """Give the position up and look for a new one; None: by auto.offset.reset."""
        state = self.of(partition)
        state.strategy = self.default_strategy if strategy is None else strategy
        state.state, state.position = FetchState.AWAIT_RESET, None
        state.preferred_replica, state.retry_at_ms = None, 0

    def complete_reset(self, partition: TopicPartition, strategy: ResetStrategy, position: FetchPosition) -> None:
        """An offset was found; ignored if the program has called seek meanwhile."""
        state = self._partitions.get(partition)
        if state is not None and state.state is FetchState.AWAIT_RESET and state.strategy is strategy:
            state.position, state.strategy = position, None
            state.state, state.checked_leader_epoch = FetchState.FETCHING, position.leader_epoch
            state.retry_at_ms = 0

    def retry_later(self, partitions: Collection[TopicPartition], at_ms: int) -> None:
        for partition in partitions:
            state = self._partitions.get(partition)
            if state is not None:
                state.retry_at_ms = at_ms

    def reset_missing(self) -> list[TopicPartition]:
        """Reset the partitions without a position; returns those that have no reset strategy."""
        without: list[TopicPartition] = []
        for partition in self.in_state(FetchState.INITIALIZING):
            if self.default_strategy is ResetStrategy.NONE:
                without.append(partition)
            else:
                self.request_reset(partition)
        return without

    def lag(self, partition: TopicPartition, *, read_committed: bool) -> int | None:
        """Readable records not read yet; None while that is not known."""
        state = self._partitions.get(partition)
        if state is None or state.position is None:
            return None
        end = state.last_stable_offset if read_committed else state.high_watermark
        return None if end is None else max(0, end - state.position.offset)
