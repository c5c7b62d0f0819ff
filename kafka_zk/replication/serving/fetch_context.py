"""The session context of a fetch: sessionless, a new session, the next step of one, or an error.

Role        Pure. Tells the handler which partitions to read, and which of the reads belong into the answer.
Invariants  An incremental step has consumed its epoch when its context is made, also if the answer is throttled.
Source      Kafka 3.9 FetchManager.newContext, FetchContext and its four kinds.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final
from uuid import UUID

from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.replication.serving.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    FetchSession,
    FetchSessionCache,
    PartitionKey,
    next_epoch,
)
from kafka_zk.replication.serving.records_view import PartitionFetch, PartitionRead

TOPIC_IDS_FROM = 13
"""From this version of Fetch on topics are named by their ids."""

MANY_PARTITIONS: Final = 64
"""From this many on a fetch is walked in turns."""


class SessionAnswer:
    """The session part of an answer, and for each read whether it belongs into it."""

    __slots__ = ("error_code", "included", "session_id")

    def __init__(self, error_code: ErrorCode, session_id: int, included: Sequence[bool]) -> None:
        self.error_code = error_code
        self.session_id = session_id
        self.included = included


class FetchContext:
    """One request. With `error_code` set there is nothing to read."""

    __slots__ = (
        "_cache",
        "_creates",
        "_expected_epoch",
        "_privileged",
        "_session",
        "_uses_topic_ids",
        "error_code",
        "wanted",
    )

    def __init__(
        self,
        cache: FetchSessionCache,
        wanted: list[PartitionFetch],
        *,
        error_code: ErrorCode = ErrorCode.NONE,
        session: FetchSession | None = None,
        creates: bool = False,
        privileged: bool = False,
        uses_topic_ids: bool = False,
    ) -> None:
        self._cache = cache
        self.wanted = wanted
        self.error_code = error_code
        self._session = session
        self._expected_epoch = 0 if session is None else session.epoch
        self._creates = creates
        self._privileged = privileged
        self._uses_topic_ids = uses_topic_ids

    @property
    def session(self) -> FetchSession | None:
        """The session that this request is a step of; None for full fetches."""
        return self._session

    def answer(self, reads: Sequence[tuple[PartitionFetch, PartitionRead]], now_ms: int) -> SessionAnswer:
        """Decide which of `reads` are sent, and under which session id."""
        session = self._session
        if session is not None:
            if session.epoch != self._expected_epoch:
                # Another request moved the session on while this one waited.
                return SessionAnswer(ErrorCode.INVALID_FETCH_SESSION_EPOCH, session.id, ())
            return SessionAnswer(ErrorCode.NONE, session.id, session.remember(reads))
        everything = [True] * len(reads)
        if not self._creates:
            return SessionAnswer(ErrorCode.NONE, NO_SESSION, everything)
        created = self._cache.create(
            [wanted for wanted, _ in reads],
            privileged=self._privileged,
            uses_topic_ids=self._uses_topic_ids,
            now_ms=now_ms,
        )
        if created is None:
            return SessionAnswer(ErrorCode.NONE, NO_SESSION, everything)
        for wanted, read in reads:
            created.note_answered(wanted, read)
        return SessionAnswer(ErrorCode.NONE, created.id, everything)

    def would_include(self, reads: Sequence[tuple[PartitionFetch, PartitionRead]]) -> Sequence[bool]:
        """What `answer` would return for `reads`, without changing anything."""
        session = self._session
        if session is None:
            return [True] * len(reads)
        if session.epoch != self._expected_epoch:
            return [False] * len(reads)
        return session.news(reads)

    def throttled_answer(self) -> SessionAnswer:
        """The empty answer of a fetcher over its quota. An incremental step keeps its session; no session is made."""
        session = self._session
        if session is None:
            return SessionAnswer(ErrorCode.NONE, NO_SESSION, ())
        if session.epoch != self._expected_epoch:
            return SessionAnswer(ErrorCode.INVALID_FETCH_SESSION_EPOCH, session.id, ())
        return SessionAnswer(ErrorCode.NONE, session.id, ())


def open_context(
    cache: FetchSessionCache,
    *,
    session_id: int,
    session_epoch: int,
    api_version: int,
    wanted: list[PartitionFetch],
    forgotten: Iterable[PartitionKey],
    from_follower: bool,
    name_of: Callable[[UUID], str | None],
    now_ms: int,
) -> FetchContext:
    """The context of a request. Epoch -1: no session; 0: a new one; else the next step of `session_id`."""
    uses_topic_ids = api_version >= TOPIC_IDS_FROM
    if wanted[1:]:
        wanted = _once_each(wanted)
    if session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        if session_id != NO_SESSION:
            cache.close(session_id)
        return FetchContext(
            cache,
            wanted,
            creates=session_epoch == INITIAL_EPOCH,
            privileged=from_follower,
            uses_topic_ids=uses_topic_ids,
        )
    session = cache.get(session_id)
    if session is None:
        return FetchContext(cache, [], error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    if session.epoch != session_epoch:
        return FetchContext(cache, [], error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
    if session.uses_topic_ids != uses_topic_ids:
        return FetchContext(cache, [], error_code=ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
    session.update(wanted, forgotten)
    if not session.partitions:
        cache.close(session_id)
        return FetchContext(cache, wanted)
    cache.touch(session, now_ms)
    session.epoch = next_epoch(session.epoch)
    in_session = session.wanted()
    for fetch in in_session:
        if fetch.topic is None:
            # The id may have become known since.
            fetch.topic = name_of(fetch.topic_id)
    return FetchContext(cache, in_session, session=session)


def _once_each(wanted: list[PartitionFetch]) -> list[PartitionFetch]:
    """Blocks in turns where there are many.

    A partition named again takes the place of the first and the values of the last, as in Kafka's linked map.
    """
    walked = wanted if len(wanted) < MANY_PARTITIONS else in_turns(wanted)
    once = {(fetch.topic or fetch.topic_id, fetch.partition): fetch for fetch in walked}
    return wanted if len(once) == len(wanted) else list(once.values())
