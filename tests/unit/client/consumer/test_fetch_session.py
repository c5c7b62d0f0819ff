"""Fetch sessions: what the client names and what the broker remembers come out the same."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.client.consumer.fetch_answers import fetch_request
from kafka_zk.client.consumer.fetch_session import FetchPlan, FetchSession, Wanted
from kafka_zk.client.consumer.settings import FetchSettings
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import NULL_UUID, TopicPartition


class Broker:
    """The other half, as KIP-227 says it: what a session of the client's holds now."""

    def __init__(self) -> None:
        self.sessions: dict[int, dict[TopicPartition, Wanted]] = {}
        self.epoch = 0

    def take(self, plan: FetchPlan) -> tuple[int, int]:
        """Error code and session id."""
        if plan.is_full:
            self.sessions.pop(plan.session_id, None)
            self.sessions = {max(self.sessions, default=plan.session_id) + 1: dict(plan.partitions)}
            self.epoch = 1
            return ErrorCode.NONE, next(iter(self.sessions))
        if plan.session_id not in self.sessions:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0
        if plan.session_epoch != self.epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0
        held = self.sessions[plan.session_id]
        for partition in plan.forgotten:
            held.pop(partition, None)
        held.update(plan.partitions)
        self.epoch += 1
        return ErrorCode.NONE, plan.session_id


def want(offset: int, topic_id: int = 1) -> Wanted:
    return Wanted(UUID(int=topic_id), offset, 100)


wishes = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from("ab"), st.integers(0, 3)), st.builds(want, st.integers(0, 3)), min_size=1
)
rounds = st.lists(st.tuples(wishes, st.sampled_from(["answered", "lost", "evicted"])), min_size=1, max_size=12)


@given(rounds)
def test_the_broker_always_fetches_exactly_what_is_wanted(
    history: list[tuple[dict[TopicPartition, Wanted], str]],
) -> None:
    session, broker = FetchSession(), Broker()
    for wanted, fate in history:
        if fate == "evicted":
            broker.sessions.clear()
        plan = session.plan(wanted)
        if fate == "lost":
            session.on_error()
            continue
        error, session_id = broker.take(plan)
        answered = list(plan.partitions if error == ErrorCode.NONE else ())
        usable = session.on_answer(error, session_id, answered)
        assert usable == (error == ErrorCode.NONE)
        if usable:
            assert broker.sessions[session_id] == wanted


def test_an_incremental_request_names_what_changed_and_nothing_else() -> None:
    session = FetchSession()
    a, b = TopicPartition("t", 0), TopicPartition("t", 1)
    session.plan({a: want(0), b: want(0)})
    session.on_answer(0, 77, [a, b])
    plan = session.plan({a: want(0), b: want(5)})
    assert (plan.session_id, plan.session_epoch, dict(plan.partitions), dict(plan.forgotten)) == (
        77,
        1,
        {b: want(5)},
        {},
    )
    session.on_answer(0, 77, [])
    plan = session.plan({b: want(5)})
    assert (plan.session_epoch, dict(plan.partitions), dict(plan.forgotten)) == (2, {}, {a: UUID(int=1)})


def test_a_topic_made_anew_is_forgotten_under_its_old_id() -> None:
    session, a = FetchSession(), TopicPartition("t", 0)
    session.plan({a: want(0, topic_id=1)})
    session.on_answer(0, 77, [a])
    plan = session.plan({a: want(0, topic_id=2)})
    assert (dict(plan.partitions), dict(plan.forgotten)) == ({a: want(0, topic_id=2)}, {a: UUID(int=1)})


def test_a_broker_that_opens_no_session_is_told_everything_each_time() -> None:
    session, a = FetchSession(), TopicPartition("t", 0)
    for _ in range(2):
        assert session.plan({a: Wanted(NULL_UUID, 0, 100)}).session_epoch == 0
        assert session.on_answer(0, 0, [a])
    assert session.close() is None


def test_an_answer_that_names_what_was_not_asked_for_is_not_used() -> None:
    session, a = FetchSession(), TopicPartition("t", 0)
    session.plan({a: want(0)})
    assert not session.on_answer(0, 77, [a, TopicPartition("u", 0)])
    assert session.plan({a: want(0)}).is_full


def test_epochs_wrap_to_one_and_a_closed_session_says_so() -> None:
    session, a = FetchSession(), TopicPartition("t", 0)
    session.plan({a: want(0)})
    session.on_answer(0, 77, [a])
    session._epoch = 2**31 - 1
    session.on_answer(0, 77, [])
    assert session.plan({a: want(0)}).session_epoch == 1
    last = session.close()
    assert last is not None
    assert (last.session_id, last.session_epoch, dict(last.partitions)) == (77, -1, {})


@pytest.mark.parametrize(("version", "forgotten"), [(12, []), (13, [want(0).topic_id])])
def test_a_topic_made_anew_stays_in_a_session_of_names(version: int, forgotten: list[UUID]) -> None:
    """A broker adds what is named and then takes away what is forgotten: by their names the two are the same."""
    session, t0 = FetchSession(), TopicPartition("t", 0)
    session.plan({t0: want(9, topic_id=1)})
    session.on_answer(ErrorCode.NONE, 77, [t0])
    settings = FetchSettings(1, 1 << 20, 500, 1 << 20, 500, True, 0, "", 100)
    request = fetch_request(session.plan({t0: want(0, topic_id=2)}), settings, version)
    assert [len(topic.partitions) for topic in request.topics] == [1]
    assert [topic.topic_id for topic in request.forgotten_topics_data] == forgotten
