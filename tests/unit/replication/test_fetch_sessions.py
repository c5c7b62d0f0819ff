"""Incremental fetch sessions (KIP-227), by rules and against a simple model."""

from __future__ import annotations

import itertools
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_zk.protocol.errors import ErrorCode, UnknownTopicOrPartition
from kafka_zk.protocol.types import NULL_UUID
from kafka_zk.replication.serving.fetch_context import FetchContext, open_context
from kafka_zk.replication.serving.fetch_session import FetchSessionCache, next_epoch
from kafka_zk.replication.serving.records_view import DivergingEpoch, PartitionFetch, PartitionRead

EVICTION_MS = 120_000


def cache(slots: int = 10) -> FetchSessionCache:
    ids = itertools.count(100)
    return FetchSessionCache(slots, eviction_ms=EVICTION_MS, new_id=lambda: next(ids))


def wants(
    *partitions: int, offset: int = 0, topic: str | None = "t", topic_id: UUID = NULL_UUID
) -> list[PartitionFetch]:
    return [PartitionFetch(topic, topic_id, index, fetch_offset=offset, max_bytes=100) for index in partitions]


def opened(
    sessions: FetchSessionCache,
    session_id: int,
    epoch: int,
    wanted: list[PartitionFetch] | None = None,
    *,
    forgotten: tuple[int, ...] = (),
    version: int = 12,
    follower: bool = False,
    now_ms: int = 0,
    names: dict[UUID, str] | None = None,
) -> FetchContext:
    return open_context(
        sessions,
        session_id=session_id,
        session_epoch=epoch,
        api_version=version,
        wanted=wanted or [],
        forgotten=[("t", index) for index in forgotten],
        from_follower=follower,
        name_of=(names or {}).get,
        now_ms=now_ms,
    )


def read(size_bytes: int = 0, high_watermark: int = 5, log_start: int = 0, error: bool = False) -> PartitionRead:
    if error:
        return PartitionRead(error=UnknownTopicOrPartition())
    answer = PartitionRead(high_watermark=high_watermark, log_start_offset=log_start)
    answer.size_bytes = size_bytes
    return answer


def started(sessions: FetchSessionCache, *partitions: int, follower: bool = False, now_ms: int = 0) -> int:
    """A session whose full answer said high watermark 5; its id."""
    context = opened(sessions, 0, 0, wants(*partitions), follower=follower)
    return context.answer([(fetch, read()) for fetch in context.wanted], now_ms).session_id


def indexes(context: FetchContext) -> list[int]:
    return [fetch.partition for fetch in context.wanted]


def test_epoch_zero_makes_a_session_that_expects_epoch_one() -> None:
    sessions = cache()
    session_id = started(sessions, 0, 1)
    assert session_id == 100
    assert opened(sessions, session_id, 1).error_code is ErrorCode.NONE


def test_epoch_minus_one_makes_no_session_and_closes_the_named_one() -> None:
    sessions = cache()
    session_id = started(sessions, 0)
    context = opened(sessions, session_id, -1, wants(0))
    assert context.answer([(context.wanted[0], read())], 0).session_id == 0
    assert len(sessions) == 0


def test_an_unknown_session_is_refused_with_70_and_a_wrong_epoch_with_71() -> None:
    sessions = cache()
    session_id = started(sessions, 0)
    assert opened(sessions, 999, 1).error_code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert opened(sessions, session_id, 2).error_code is ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_changing_between_names_and_ids_is_refused_with_106() -> None:
    sessions = cache()
    session_id = started(sessions, 0)
    assert opened(sessions, session_id, 1, version=13).error_code is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_an_incremental_request_reads_every_partition_of_the_session() -> None:
    sessions = cache()
    session_id = started(sessions, 0, 1, 2)
    assert indexes(opened(sessions, session_id, 1, wants(3))) == [0, 1, 2, 3]
    assert indexes(opened(sessions, session_id, 2, forgotten=(0, 2))) == [1, 3]


def test_an_incremental_answer_names_only_what_is_news() -> None:
    sessions = cache()
    session_id = started(sessions, 0, 1, 2, 3, 4)
    context = opened(sessions, session_id, 1)
    reads = [read(), read(size_bytes=9), read(high_watermark=6), read(log_start=1), read(error=True)]
    answer = context.answer(list(zip(context.wanted, reads, strict=True)), 0)
    assert answer.included == [False, True, True, True, True]
    assert answer.session_id == session_id


def test_a_partition_that_recovers_from_an_error_is_news() -> None:
    sessions = cache()
    session_id = started(sessions, 0)
    for epoch, this, included in ((1, read(error=True), True), (2, read(), True), (3, read(), False)):
        context = opened(sessions, session_id, epoch)
        assert context.answer([(context.wanted[0], this)], 0).included == [included]


def test_after_a_diverging_answer_the_high_watermark_is_news() -> None:
    """Who truncates first takes no high watermark from that answer."""
    sessions = cache()
    for first_epoch in (0, 1):
        session_id = started(sessions, 0)
        context = opened(sessions, session_id if first_epoch else 0, first_epoch, wants(0))
        diverged = read(high_watermark=9)
        diverged.diverging_epoch = DivergingEpoch(0, 3)
        session_id = context.answer([(context.wanted[0], diverged)], 0).session_id
        for epoch, included in ((first_epoch + 1, True), (first_epoch + 2, False)):
            context = opened(sessions, session_id, epoch)
            answer = context.answer([(context.wanted[0], read(high_watermark=9))], 0)
            assert answer.included == [included]


def test_partitions_that_returned_records_go_to_the_end() -> None:
    sessions = cache()
    session_id = started(sessions, 0, 1, 2)
    context = opened(sessions, session_id, 1)
    context.answer(list(zip(context.wanted, [read(size_bytes=9), read(), read()], strict=True)), 0)
    assert indexes(opened(sessions, session_id, 2)) == [1, 2, 0]


def test_a_session_without_partitions_closes() -> None:
    sessions = cache()
    session_id = started(sessions, 0)
    context = opened(sessions, session_id, 1, forgotten=(0,))
    assert context.answer([], 0).session_id == 0
    assert len(sessions) == 0


def test_a_throttled_step_keeps_its_session_and_has_used_its_epoch() -> None:
    sessions = cache()
    session_id = started(sessions, 0)
    assert opened(sessions, session_id, 1).throttled_answer().session_id == session_id
    assert opened(sessions, session_id, 1).error_code is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert opened(sessions, session_id, 2).error_code is ErrorCode.NONE


def test_a_throttled_full_fetch_makes_no_session() -> None:
    sessions = cache()
    assert opened(sessions, 0, 0, wants(0)).throttled_answer().session_id == 0
    assert len(sessions) == 0


def test_an_unknown_topic_id_stays_in_the_session_until_its_name_is_known() -> None:
    sessions, topic_id = cache(), UUID(int=7)
    context = opened(sessions, 0, 0, wants(0, topic=None, topic_id=topic_id), version=13)
    session_id = context.answer([(context.wanted[0], read(error=True))], 0).session_id
    assert opened(sessions, session_id, 1, version=13).wanted[0].topic is None
    assert opened(sessions, session_id, 2, version=13, names={topic_id: "t"}).wanted[0].topic == "t"


def test_the_epoch_wraps_to_one() -> None:
    assert next_epoch(2**31 - 1) == 1
    assert next_epoch(0) == 1
    assert next_epoch(-1) == -1


def test_a_full_cache_refuses_consumers_while_every_session_is_fresh() -> None:
    sessions = cache(slots=1)
    assert started(sessions, 0) != 0
    assert started(sessions, 0, 1, 2) == 0


def test_a_session_unused_for_two_minutes_gives_way() -> None:
    sessions = cache(slots=1)
    old = started(sessions, 0, 1, 2)
    assert started(sessions, 0, now_ms=EVICTION_MS) == 0
    assert started(sessions, 0, now_ms=EVICTION_MS + 1) not in (0, old)
    assert sessions.eviction_count == 1


def test_a_follower_pushes_a_consumer_out_but_not_another_follower() -> None:
    sessions = cache(slots=1)
    assert started(sessions, 0, 1, 2) != 0
    assert started(sessions, 0, follower=True) != 0
    assert started(sessions, 0, 1, 2, follower=True) == 0


def test_an_old_small_session_in_use_gives_way_to_a_larger_one() -> None:
    sessions = cache(slots=1)
    session_id = started(sessions, 0)
    opened(sessions, session_id, 1, now_ms=EVICTION_MS + 1)
    assert started(sessions, 0, now_ms=EVICTION_MS + 2) == 0
    assert started(sessions, 0, 1, now_ms=EVICTION_MS + 2) != 0


STEPS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 3), max_size=2, unique=True),
        st.lists(st.integers(0, 3), max_size=1),
        st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["data", "watermark", "error"])), max_size=3),
    ),
    max_size=12,
)


@settings(max_examples=60)
@given(STEPS)
def test_what_the_fetcher_puts_together_equals_what_full_answers_would_say(
    steps: list[tuple[list[int], list[int], list[tuple[int, str]]]],
) -> None:
    """Model: the fetcher keeps the last answer of each partition; it must always equal the broker's present state."""
    sessions = cache()
    marks = dict.fromkeys(range(4), 5)
    broken: set[int] = set()
    session_id, epoch = started(sessions, 0, 1, 2, 3), 1
    in_session, seen = {0, 1, 2, 3}, dict.fromkeys(range(4), 5)
    for added, forgotten, events in steps:
        with_data: set[int] = set()
        for index, kind in events:
            if kind == "error":
                broken ^= {index}
            else:
                marks[index] += 1
                with_data |= {index} if kind == "data" else set()
        in_session = (in_session | set(added)) - set(forgotten)
        context = opened(sessions, session_id, epoch, wants(*added), forgotten=tuple(forgotten))
        assert context.error_code is ErrorCode.NONE
        assert set(indexes(context)) == (in_session or set(added))
        if not in_session:
            return
        reads = [
            read(error=True) if i in broken else read(size_bytes=9 if i in with_data else 0, high_watermark=marks[i])
            for i in indexes(context)
        ]
        answer = context.answer(list(zip(context.wanted, reads, strict=True)), 0)
        for fetch, result, included in zip(context.wanted, reads, answer.included, strict=True):
            if included:
                seen[fetch.partition] = result.high_watermark
            assert seen[fetch.partition] == result.high_watermark
        epoch += 1
