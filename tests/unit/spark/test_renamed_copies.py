"""A `rename` that changes between two runs of one checkpoint: each topic that is copied to is a copy of its own."""

from __future__ import annotations

import json

import pytest

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs import ordered_copy
from kafka_zk.spark.jobs.carried_groups import spans_to
from kafka_zk.spark.jobs.copy_plan import Span
from kafka_zk.spark.jobs.outcome import JobError
from tests.unit.spark.copied_topic import Frame, Killed, State, Target, copied, stand_in

WRONG, RIGHT = "departrues", "departures"


class Topics(dict[str, Target]):
    """A topic of the target by its name; made when it is first written to."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self.state = State()
        self.identities = 0

    def copy(
        self, to: str, *, appends: int | None = None, lost: int | None = None
    ) -> list[tuple[str, int, int, int, int]]:
        """Ten records, or all but `lost`; the run is killed behind so many requests."""
        target = self.setdefault(to, Target())
        # Producer ids are the cluster's.
        target.identities = self.identities
        stand_in(self._patch, target)
        self._patch.setattr(ordered_copy, "topic_ids", lambda *_: {to: target.topic_id})
        left = appends

        def taken() -> None:
            nonlocal left
            left = None if left is None else left - 1
            if left == 0:
                raise Killed

        target.after_append = taken
        try:
            return copied(self.state, Frame([offset for offset in range(10) if offset != lost]), to)
        finally:
            self.identities = target.identities


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Topics:
    return Topics(monkeypatch)


WHOLE = [b"%d" % value for value in range(10)]


def test_a_mistyped_name_can_be_corrected(topics: Topics) -> None:
    with pytest.raises(Killed):
        topics.copy(WRONG, appends=1)
    rows = topics.copy(RIGHT)
    assert [(source + n, place + n) for _, _, source, place, count in rows for n in range(count)] == [
        (n, n) for n in range(10)
    ]
    assert topics[RIGHT].values == WHOLE
    assert topics[WRONG].values == WHOLE[:4]


def test_what_arrived_under_another_name_is_not_taken_for_copied(topics: Topics) -> None:
    with pytest.raises(Killed):
        topics.copy(WRONG, appends=1)
    # The second note of it says what had arrived.
    topics.copy(WRONG, lost=5)
    topics.copy(RIGHT, lost=5)
    assert topics[RIGHT].values == topics[WRONG].values == WHOLE[:5] + WHOLE[6:]


def test_a_name_that_comes_back_goes_on_where_it_was(topics: Topics) -> None:
    with pytest.raises(Killed):
        topics.copy(WRONG, appends=1)
    with pytest.raises(Killed):
        topics.copy(RIGHT, appends=2)
    for name in (WRONG, RIGHT, WRONG):
        topics.copy(name)
        assert topics[name].values == WHOLE


def test_a_topic_of_the_new_name_that_was_made_anew_is_refused(topics: Topics) -> None:
    with pytest.raises(Killed):
        topics.copy(RIGHT, appends=1)
    topics.copy(WRONG)
    topics[RIGHT].make_anew()
    with pytest.raises(JobError, match=f"topic {RIGHT} of the target was deleted and created again"):
        topics.copy(RIGHT)


@pytest.mark.parametrize("has_ids", [True, False])
def test_notes_of_earlier_versions_are_of_the_topic_that_their_ids_name(topics: Topics, has_ids: bool) -> None:
    with pytest.raises(Killed):
        topics.copy(WRONG, appends=1)
    note = json.loads(topics.state["b.note-1"])
    note["partitions"] = [each[:-1] for each in note["partitions"]]
    note["topic_ids"] = note["topic_ids"] if has_ids else {}
    topics.state["b.note-1"] = json.dumps(note)
    for name in (WRONG, RIGHT) if has_ids else (WRONG,):
        topics.copy(name)
        assert topics[name].values == WHOLE


def test_groups_are_carried_by_the_rows_of_their_own_topic() -> None:
    rows = [("t", 0, 0, 0, 10, WRONG), ("t", 0, 10, 0, 5, RIGHT), ("s", 0, 0, 3, 2, "s"), ("s", 0, 2, 5, 2, None)]
    there = {TopicPartition("s", 0): [Span(0, 3, 2), Span(2, 5, 2)]}
    assert spans_to(rows, {"t": RIGHT}) == {TopicPartition("t", 0): [Span(10, 0, 5)], **there}
    assert spans_to(rows, {"t": WRONG}) == {TopicPartition("t", 0): [Span(0, 0, 10)], **there}
    assert spans_to(rows, {}) == there
