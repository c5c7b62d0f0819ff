"""The client's half of a fetch session: what a request must name, and what the broker remembers.

Role        Pure. One per broker.
Invariants  An incremental request names only what changed since the last one that was answered.
            After any doubt (an error, an answer that names what was not asked) the next request names everything.
Source      FetchSessionHandler, FetchMetadata; KIP-227, KIP-516.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import NULL_UUID, TopicPartition

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1


class Wanted(NamedTuple):
    """How one partition is to be fetched. `leader_epoch` -1: unchecked by the broker."""

    topic_id: UUID
    fetch_offset: int
    max_bytes: int
    leader_epoch: int = -1
    last_fetched_epoch: int = -1


@dataclass(frozen=True, slots=True)
class FetchPlan:
    """One request of the session: partitions to name, partitions to forget."""

    session_id: int
    session_epoch: int
    partitions: Mapping[TopicPartition, Wanted]
    forgotten: Mapping[TopicPartition, UUID] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        return self.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH)


class FetchSession:
    """Between one consumer and one broker."""

    def __init__(self) -> None:
        self.session_id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        self._known: dict[TopicPartition, Wanted] = {}

    def __repr__(self) -> str:
        return f"fetch session {self.session_id} epoch={self._epoch} partitions={len(self._known)}"

    @property
    def topic_names(self) -> dict[UUID, str]:
        """Names of the topics in the session: newer responses name topics by id."""
        return {wanted.topic_id: partition.topic for partition, wanted in self._known.items()}

    def plan(self, wanted: Mapping[TopicPartition, Wanted]) -> FetchPlan:
        """The next request, so that the session holds exactly `wanted`."""
        if self._epoch == INITIAL_EPOCH:
            self._known = dict(wanted)
            return FetchPlan(self.session_id, INITIAL_EPOCH, wanted)
        changed = {partition: want for partition, want in wanted.items() if self._known.get(partition) != want}
        forgotten = {partition: known.topic_id for partition, known in self._known.items() if partition not in wanted}
        # A recreated topic has another id: the old one must be forgotten and the new one named.
        forgotten.update(
            (partition, self._known[partition].topic_id)
            for partition, want in changed.items()
            if self._known.get(partition, want).topic_id not in (want.topic_id, NULL_UUID)
        )
        self._known = dict(wanted)
        return FetchPlan(self.session_id, self._epoch, changed, forgotten)

    def on_answer(self, error_code: int, session_id: int, answered: Iterable[TopicPartition]) -> bool:
        """Take a response; returns whether its partitions may be used."""
        if error_code != ErrorCode.NONE:
            if error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self.session_id = NO_SESSION
            self._epoch = INITIAL_EPOCH
            return False
        named = set(answered)
        was_full = self._epoch == INITIAL_EPOCH
        if not named <= self._known.keys() or (was_full and len(named) < len(self._known)):
            self._epoch = INITIAL_EPOCH
            return False
        self.session_id = session_id
        if session_id == NO_SESSION:
            self._epoch = INITIAL_EPOCH
        elif was_full:
            self._epoch = INITIAL_EPOCH + 1
        else:
            self._epoch = self._epoch % (2**31 - 1) + 1
        return True

    def on_error(self) -> None:
        """No response: the broker's state is unknown, so the next request starts a new session."""
        self._epoch = INITIAL_EPOCH

    def close(self) -> FetchPlan | None:
        """The request that closes the session; None if there is none."""
        if self.session_id == NO_SESSION:
            return None
        return FetchPlan(self.session_id, FINAL_EPOCH, {})
