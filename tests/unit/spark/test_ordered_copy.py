"""Copies that go on after they were cut off, beside a target whose leader checks sequences."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from kafka_zk.client.errors import DisconnectException
from kafka_zk.client.range_writing.arrivals import Arrivals, LateRecords, ProducerIdentity
from kafka_zk.client.range_writing.sequenced_writer import Overtaken
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import Record
from kafka_zk.spark.jobs.ordered_copy import SPANS
from kafka_zk.spark.jobs.outcome import JobError
from tests.unit.spark.copied_topic import TARGET, Frame, Killed, State, Target, copied, target

__all__ = ["target"]


def numbers(*values: int) -> list[bytes]:
    return [b"%d" % value for value in values]


def cut_off_after(target: Target, appends: int) -> None:
    """The run ends when the leader has taken so many requests, before it hears of the last."""
    left = appends

    def taken() -> None:
        nonlocal left
        left -= 1
        if not left:
            target.after_append = lambda: None
            raise Killed

    target.after_append = taken


def test_a_copy_goes_on_behind_what_arrived(target: Target) -> None:
    state = State()
    cut_off_after(target, 1)
    with pytest.raises(Killed):
        copied(state, Frame(range(10)))
    assert target.values == numbers(0, 1, 2, 3)
    assert copied(state, Frame(range(10)))[0] == ("t", 0, 0, 0, 4)
    assert target.values == numbers(*range(10))


def test_what_the_source_lost_before_a_second_run_is_not_counted_as_copied(target: Target) -> None:
    state = State()
    cut_off_after(target, 1)
    with pytest.raises(Killed):
        copied(state, Frame(range(10)))
    # The cleaner took 0, 1 and 2, which had arrived.
    rows = copied(state, Frame(range(3, 10)))
    assert target.values == numbers(*range(10))
    assert [source for _, _, source, _, count in rows for source in range(source, source + count)] == list(range(10))


def test_foreign_records_between_two_runs_are_not_counted_as_copied(target: Target) -> None:
    state = State()
    cut_off_after(target, 1)
    with pytest.raises(Killed):
        copied(state, Frame(range(10)))
    target.add([b"foreign"] * 3)
    rows = copied(state, Frame(range(10)))
    assert target.values == [*numbers(0, 1, 2, 3), *[b"foreign"] * 3, *numbers(4, 5, 6, 7, 8, 9)]
    assert rows == [("t", 0, 0, 0, 4), ("t", 0, 4, 7, 4), ("t", 0, 8, 11, 2)]


def test_a_task_that_is_tried_again_sends_nothing_twice(target: Target) -> None:
    cut_off_after(target, 2)
    rows = copied(State(), Frame(range(10), tries=2))
    assert target.values == numbers(*range(10))
    assert sum(count for *_, count in rows) == 10


@pytest.mark.parametrize("sent_by_other", [4, 3])
def test_a_stage_that_begins_anew_beside_a_running_task_sends_nothing_twice(target: Target, sent_by_other: int) -> None:
    """Spark numbers the attempts of a stage's second try from 0 again: the number does not tell that there are two."""

    def other_try() -> None:
        target.before_append = lambda: None
        found = target.arrived(TARGET, 0, target.end, ProducerIdentity(1, 0)).count
        if not found:
            target.add(numbers(*range(sent_by_other)), ProducerIdentity(1, 0), 0)
            target.sequences[1] = (0, sent_by_other)

    target.before_append = other_try
    state = State()
    # To a leader the same batch is a repeated one.
    with nullcontext() if sent_by_other == 4 else pytest.raises(Overtaken):
        copied(state, Frame(range(10)))
    copied(state, Frame(range(10)))
    assert target.values == numbers(*range(10))


def test_nothing_of_an_earlier_run_comes_behind_a_new_note(target: Target) -> None:
    state = State()
    cut_off_after(target, 1)
    with pytest.raises(Killed):
        copied(state, Frame(range(10)))
    copied(state, Frame(range(5, 10)))
    with pytest.raises(Overtaken):
        target.append(TARGET, ProducerIdentity(1, 0), 4, [Record(0, -1, None, b"4")], behind=0)


def test_what_came_from_an_earlier_run_behind_a_new_note_is_named(target: Target) -> None:
    state = State()
    cut_off_after(target, 1)
    with pytest.raises(Killed):
        copied(state, Frame(range(10)))
    # The second run has noted, and sent nothing, when the first one's request arrives.
    target.before_append = lambda: (_ for _ in ()).throw(Killed)
    with pytest.raises(Killed):
        copied(state, Frame(range(5, 10)))
    target.before_append = lambda: None
    target.add(numbers(4, 5), ProducerIdentity(1, 0), 4)
    with pytest.raises((JobError, LateRecords), match="offsets 4 to 5 hold records of an earlier run"):
        copied(state, Frame(range(5, 10)))


def test_what_came_late_is_named_by_the_run_that_it_came_before(target: Target) -> None:
    state = State()
    cut_off_after(target, 1)
    with pytest.raises(Killed):
        copied(state, Frame(range(10)))

    def late() -> None:
        target.before_append = lambda: None
        target.add(numbers(4, 5), ProducerIdentity(1, 0), 4)

    target.before_append = late
    with pytest.raises(JobError, match="offsets 4 to 5 hold records of an earlier run"):
        copied(state, Frame(range(5, 10)))


def test_a_target_that_was_made_anew_is_refused(target: Target) -> None:
    state = State()
    copied(state, Frame(range(3)))
    target.topic_id = "2"
    with pytest.raises(JobError, match="topic u of the target was deleted and created again"):
        copied(state, Frame(range(5)))


@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_target_that_is_made_anew_while_it_is_written_is_refused(target: Target, before: int) -> None:
    """No leader of the new topic says so: it has no sequences to compare."""
    left = before

    def another() -> None:
        nonlocal left
        if not left:
            target.make_anew()
        left -= 1

    target.before_append = another
    state = State()
    with pytest.raises(JobError, match="topic u of the target was deleted and created again"):
        copied(state, Frame(range(10)))
    target.before_append = lambda: None
    with pytest.raises(JobError, match="topic u of the target was deleted and created again"):
        copied(state, Frame(range(10)))


def test_what_one_topic_had_says_nothing_of_the_next_of_its_name(target: Target) -> None:
    state = State()
    cut_off_after(target, 1)
    with pytest.raises(Killed):
        copied(state, Frame(range(10)))
    arrived = target.arrived

    def last_look(*asked: Any) -> Arrivals:
        found = arrived(*asked)
        target.make_anew()
        return found

    target.arrived = last_look  # type: ignore[method-assign]
    with pytest.raises(JobError, match="topic u of the target was deleted and created again"):
        copied(state, Frame(range(10)))
    assert not target.values


def test_a_target_that_lost_what_it_would_have_to_tell_is_refused(target: Target) -> None:
    state = State()
    cut_off_after(target, 1)
    with pytest.raises(Killed):
        copied(state, Frame(range(10)))
    target.log.clear()
    target.start = target.end = 9
    with pytest.raises(JobError, match="u-0 now starts at offset 9, so it is unknown whether records of this copy"):
        copied(state, Frame(range(10)))


@pytest.mark.parametrize("left", [(), (0,)])
def test_what_newer_values_took_the_place_of_is_not_sent_again_behind_them(target: Target, left: tuple[int]) -> None:
    """The cleaner keeps the last batch of a producer that is known; this one has expired."""
    state = State()
    cut_off_after(target, 2)
    with pytest.raises(Killed):
        copied(state, Frame(range(10)))
    target.add([b"newer"] * 8)
    target.clean({0, 4} - set(left))
    missing = "offsets 4 to 7" if left else "offsets 0 to 7"
    with pytest.raises(JobError, match=f"{missing} of u-0, after the last record of this copy, were deleted"):
        copied(state, Frame(range(10)))
    assert target.values[-8:] == [b"newer"] * 8


def test_holes_before_the_last_arrival_hide_nothing(target: Target) -> None:
    state = State()
    cut_off_after(target, 2)
    with pytest.raises(Killed):
        copied(state, Frame(range(10)))
    target.clean({0})
    copied(state, Frame(range(10)))
    assert target.values == numbers(*range(4, 10))


def test_a_copy_that_is_whole_bears_holes_behind_it(target: Target) -> None:
    state = State()
    copied(state, Frame(range(10)))
    for _ in range(2):
        target.add([b"foreign"])
    target.clean({10})
    assert copied(state, Frame(range(10))) == [("t", 0, 0, 0, 10)]


def test_a_checkpoint_of_an_earlier_version_is_refused(target: Target) -> None:
    with pytest.raises(JobError, match="begun by an earlier version"):
        copied(State({"b.base": "[]"}), Frame(range(3)))


def test_records_without_a_timestamp_are_copied(target: Target) -> None:
    seen: list[int] = []
    append = target.append

    def noted(partition: TopicPartition, *given: Any, behind: int) -> list[tuple[int, int]]:
        seen.extend(each.timestamp for each in given[2])
        return append(partition, *given, behind=behind)

    target.append = noted  # type: ignore[method-assign]
    copied(State(), Frame(range(3)))
    assert seen == [-1, -1, -1]


def test_a_batch_whose_answer_is_lost_is_looked_for_behind_all_that_was_sent_before(target: Target) -> None:
    target.add(numbers(-1))
    copied(State(), Frame(range(10)))
    assert len(target.behinds) > 2
    assert all(behind == end for behind, end in target.behinds)


def test_half_a_batch_of_a_killed_run_is_not_taken_for_the_whole(target: Target) -> None:
    """The first run's half hung in the leader's socket; the answer that the second run's batch is refused is lost."""
    target.largest_batch = 3
    state = State()
    left = 2

    def killed() -> None:
        nonlocal left
        left -= 1
        if not left:
            raise Killed

    target.before_append = killed
    with pytest.raises(Killed):
        copied(state, Frame(range(4)))
    half = target.under_way
    assert half is not None

    def hung_half_arrives() -> None:
        target.before_append = lambda: None
        target.take(half)
        target.after_append = connection_breaks

    def connection_breaks() -> None:
        target.after_append = lambda: None
        raise DisconnectException("gone")

    target.before_append = hung_half_arrives
    with pytest.raises(Overtaken, match=r"another run wrote sequences 0 to 1 .*, where this one sent 0 to 3"):
        copied(state, Frame(range(4)))
    assert copied(state, Frame(range(4))) == [("t", 0, 0, 0, 2), ("t", 0, 2, 2, 2)]
    assert target.values == numbers(0, 1, 2, 3)


def test_a_batch_whose_answer_is_lost_is_not_sent_again(target: Target) -> None:
    def connection_breaks() -> None:
        target.after_append = lambda: None
        # The leader starts anew, and knows nothing of a producer of old records.
        target.sequences.clear()
        raise DisconnectException("gone")

    target.after_append = connection_breaks
    copied(State(), Frame(range(10)))
    assert target.values == numbers(*range(10))


def test_the_table_has_five_columns() -> None:
    assert len(SPANS.split(",")) == 5
