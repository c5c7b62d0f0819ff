"""The follower's end of an incremental fetch session.

Role        Pure. Turns what is wanted of each partition into the smallest request that says so.
Invariants  What the leader remembers is what was last sent, minus what was forgotten. After any error of the session
            the next request is full.
Source      Kafka 3.9 FetchSessionHandler.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.following.fetch_state import FetchState
from kafka_zk.replication.serving.fetch_session import INITIAL_EPOCH, NO_SESSION, next_epoch


class Asked(NamedTuple):
    """What the leader remembers of one partition."""

    state: FetchState
    log_start_offset: int


class SessionRequest(NamedTuple):
    """One request: a full one names every partition, an incremental one what changed."""

    session_id: int
    session_epoch: int
    wanted: dict[TopicPartition, Asked]
    forgotten: dict[TopicPartition, FetchState]


class FollowerSession:
    """One leader's session. `session_id` is 0 while there is none."""

    def __init__(self) -> None:
        self.session_id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        self._remembered: dict[TopicPartition, Asked] = {}

    def next_request(self, wanted: Mapping[TopicPartition, Asked]) -> SessionRequest:
        """The request for `wanted`, which holds every partition to fetch now."""
        if self._epoch == INITIAL_EPOCH:
            self._remembered = dict(wanted)
            return SessionRequest(self.session_id, INITIAL_EPOCH, dict(wanted), {})
        changed = {
            topic_partition: asked
            for topic_partition, asked in wanted.items()
            if not _same(self._remembered.get(topic_partition), asked)
        }
        forgotten = {
            topic_partition: asked.state
            for topic_partition, asked in self._remembered.items()
            # A topic recreated under its old name is another topic for the leader.
            if topic_partition not in wanted or wanted[topic_partition].state.topic_id != asked.state.topic_id
        }
        self._remembered = dict(wanted)
        return SessionRequest(self.session_id, self._epoch, changed, forgotten)

    def answered(self, session_id: int) -> None:
        """The leader answered without a top-level error."""
        if session_id == NO_SESSION:
            self.reset()
            return
        self.session_id = session_id
        self._epoch = next_epoch(self._epoch)

    def failed(self, *, session_is_lost: bool) -> None:
        """The request failed. Unless the leader lost the session, the next full request closes it there."""
        if session_is_lost:
            self.session_id = NO_SESSION
        self._epoch = INITIAL_EPOCH

    def untold(self) -> None:
        """What the leader counts as told was not taken, a high watermark among it: the next request is full."""
        self.failed(session_is_lost=False)

    def reset(self) -> None:
        self.session_id = NO_SESSION
        self._epoch = INITIAL_EPOCH


def _same(remembered: Asked | None, asked: Asked) -> bool:
    """Whether the leader would be told nothing new."""
    if remembered is None:
        return False
    before, now = remembered.state, asked.state
    return (
        remembered.log_start_offset == asked.log_start_offset
        and before.topic_id == now.topic_id
        and before.fetch_offset == now.fetch_offset
        and before.leader_epoch == now.leader_epoch
        and before.last_fetched_epoch == now.last_fetched_epoch
    )
