"""Incremental fetch sessions (KIP-227).

Role        Pure. A session keeps what is wanted of each partition and what was last answered, so that requests name
            only what changed and answers only what is new.
Invariants  A request counts only with the epoch that the session expects next; each counted request moves it on by one.
            Partitions that returned records go to the end, so that none starves behind a busy one.
Source      Kafka 3.9 FetchSession, CachedPartition (maybeUpdateResponseData), FetchMetadata.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from uuid import UUID

from kafka_zk.protocol.types import NULL_UUID
from kafka_zk.replication.serving.records_view import PartitionFetch, PartitionRead

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
NO_SESSION = 0
MAX_EPOCH = 2**31 - 1

PartitionKey = tuple[UUID | str, int]
"""A topic is known by its id in versions with topic ids, by its name before."""


def next_epoch(epoch: int) -> int:
    """The epoch of the next request; it wraps to 1, because 0 asks for a new session."""
    if epoch < 0:
        return FINAL_EPOCH
    return 1 if epoch == MAX_EPOCH else epoch + 1


def key_of(wanted: PartitionFetch) -> PartitionKey:
    return (wanted.topic_id if wanted.topic_id != NULL_UUID else wanted.topic or "", wanted.partition)


class CachedPartition:
    """One partition of a session. `high_watermark` and `log_start_offset` are as last answered, -1 before that."""

    __slots__ = ("high_watermark", "log_start_offset", "wanted")

    def __init__(self, wanted: PartitionFetch) -> None:
        self.wanted = wanted
        self.high_watermark = -1
        self.log_start_offset = -1

    def would_be_news(self, read: PartitionRead) -> bool:
        """Whether an incremental answer must name this partition."""
        return (
            read.size_bytes > 0
            or self.high_watermark != read.high_watermark
            or self.log_start_offset != read.log_start_offset
            or read.answers_at_once
        )

    def is_news(self, read: PartitionRead) -> bool:
        """The same; remembers what the fetcher will know then."""
        news = self.would_be_news(read)
        self.high_watermark = read.high_watermark
        self.log_start_offset = read.log_start_offset
        if read.error is not None or read.diverging_epoch is not None:
            # Whatever follows counts as changed: a follower that must truncate first ignores the high watermark.
            self.high_watermark = -1
        return news


class FetchSession:
    """The partitions of one fetcher, in the order in which they are read."""

    __slots__ = (
        "cached_size",
        "created_ms",
        "epoch",
        "id",
        "last_used_ms",
        "partitions",
        "privileged",
        "uses_topic_ids",
    )

    def __init__(
        self, session_id: int, *, privileged: bool, uses_topic_ids: bool, wanted: Iterable[PartitionFetch], now_ms: int
    ) -> None:
        self.id = session_id
        self.privileged = privileged
        self.uses_topic_ids = uses_topic_ids
        self.partitions = {key_of(fetch): CachedPartition(fetch) for fetch in wanted}
        self.created_ms = self.last_used_ms = now_ms
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.cached_size = len(self.partitions)

    def update(self, wanted: Iterable[PartitionFetch], forgotten: Iterable[PartitionKey]) -> None:
        """Take in what an incremental request changes: partitions added or wanted otherwise, then those to forget."""
        for fetch in wanted:
            cached = self.partitions.get(key_of(fetch))
            if cached is None:
                self.partitions[key_of(fetch)] = CachedPartition(fetch)
            else:
                fetch.topic = fetch.topic or cached.wanted.topic
                cached.wanted = fetch
        for key in forgotten:
            self.partitions.pop(key, None)

    def wanted(self) -> list[PartitionFetch]:
        return [cached.wanted for cached in self.partitions.values()]

    def news(self, reads: Iterable[tuple[PartitionFetch, PartitionRead]]) -> list[bool]:
        """For each partition whether it belongs into an incremental answer."""
        known = [(self.partitions.get(key_of(wanted)), read) for wanted, read in reads]
        return [cached is None or cached.would_be_news(read) for cached, read in known]

    def remember(self, reads: Iterable[tuple[PartitionFetch, PartitionRead]]) -> list[bool]:
        """Note what is about to be answered; for each partition whether it belongs into an incremental answer."""
        news: list[bool] = []
        for wanted, read in reads:
            key = key_of(wanted)
            cached = self.partitions.get(key)
            if cached is None:
                news.append(True)
                continue
            news.append(cached.is_news(read))
            if read.size_bytes > 0:
                del self.partitions[key]
                self.partitions[key] = cached
        return news

    def note_answered(self, wanted: PartitionFetch, read: PartitionRead) -> None:
        """The full answer that opens the session tells the fetcher all this."""
        self.partitions[key_of(wanted)].is_news(read)

    def __repr__(self) -> str:
        return f"session {self.id} epoch={self.epoch} partitions={len(self.partitions)} privileged={self.privileged}"


class FetchSessionCache:
    """The sessions of a broker, at most `max_sessions`.

    A new session may push out one that was unused for `eviction_ms`; else one of lower rank than its own: a
    follower's session ranks above a consumer's, a larger one above a smaller. Of unprivileged newcomers every
    session is safe for its first `eviction_ms`, of followers only followers' sessions are.
    `new_id` draws a positive id; drawn again while it is taken.
    """

    def __init__(self, max_sessions: int, *, eviction_ms: int, new_id: Callable[[], int]) -> None:
        self._max_sessions = max_sessions
        self._eviction_ms = eviction_ms
        self._new_id = new_id
        self._sessions: dict[int, FetchSession] = {}
        self.eviction_count = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[FetchSession]:
        return iter(self._sessions.values())

    def get(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)

    def close(self, session_id: int) -> bool:
        """Remove a session; returns whether it existed."""
        return self._sessions.pop(session_id, None) is not None

    def touch(self, session: FetchSession, now_ms: int) -> None:
        """`session` was used. The order of use is the order of the map."""
        session.last_used_ms = now_ms
        session.cached_size = len(session.partitions)
        if self._sessions.pop(session.id, None) is not None:
            self._sessions[session.id] = session

    def create(
        self, wanted: Iterable[PartitionFetch], *, privileged: bool, uses_topic_ids: bool, now_ms: int
    ) -> FetchSession | None:
        """A new session, which expects epoch 1 next; None when the cache is full of higher ranks."""
        session = FetchSession(
            NO_SESSION, privileged=privileged, uses_topic_ids=uses_topic_ids, wanted=wanted, now_ms=now_ms
        )
        if len(self._sessions) >= self._max_sessions and not self._evict_for(session, now_ms):
            return None
        session.id = self._new_id()
        while session.id in self._sessions or session.id == NO_SESSION:
            session.id = self._new_id()
        self._sessions[session.id] = session
        return session

    @property
    def partition_count(self) -> int:
        """The partitions of all sessions."""
        return sum(session.cached_size for session in self._sessions.values())

    def _evict_for(self, newcomer: FetchSession, now_ms: int) -> bool:
        stalest = next(iter(self._sessions.values()), None)
        if stalest is None:
            return False
        if now_ms - stalest.last_used_ms > self._eviction_ms:
            self._evict(stalest)
            return True
        candidates = [
            session for session in self._sessions.values() if self._may_give_way(session, newcomer.privileged)
        ]
        least = min(candidates, key=_worth, default=None)
        if least is None or _worth(newcomer) < _worth(least):
            return False
        self._evict(least)
        return True

    def _may_give_way(self, session: FetchSession, to_privileged: bool) -> bool:
        is_old = session.last_used_ms - session.created_ms > self._eviction_ms
        return is_old or (to_privileged and not session.privileged)

    def _evict(self, session: FetchSession) -> None:
        del self._sessions[session.id]
        self.eviction_count += 1


def _worth(session: FetchSession) -> tuple[bool, int, int]:
    """Compared as Kafka does: followers above consumers, larger above smaller, then by id (a newcomer has id 0)."""
    return session.privileged, session.cached_size, session.id
