"""Markers reach the leader of each partition, wherever it is by then, and one answer at a time decides what follows."""

from __future__ import annotations

import math
import sys
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk import giving_way
from kafka_zk.coordinator.transaction import markers
from kafka_zk.coordinator.transaction.markers import (
    LONGEST_RETRY_MS,
    MOST_IN_A_REQUEST,
    REFUSED_RETRY_MS,
    RETRY_MS,
    USUAL,
)
from kafka_zk.protocol.errors import ErrorCode, NotEnoughReplicas
from kafka_zk.zk.errors import ConnectionClosed
from tests.unit.coordinator.transaction.transaction_world import OWN, T0, T1, T2, World, both, world

IDS = ["a", "b", "c"]


def decided(scene: World, *partitions, transactional_id: str = "id"):
    """A producer whose transaction over these partitions was committed."""
    producer = scene.producer(transactional_id)
    scene.adds(producer, *partitions, transactional_id=transactional_id)
    assert scene.ends(producer, commit=True, transactional_id=transactional_id).value is ErrorCode.NONE
    return producer


def test_each_leader_gets_its_partitions_in_one_request(scene: World) -> None:
    decided(scene, T0, T1, T2)
    asked = {
        broker: {
            (topic.name, index)
            for marker in request.markers
            for topic in marker.topics
            for index in topic.partition_indexes
        }
        for broker, request in scene.leaders.requests
    }
    assert asked == {1: {T0, T1}, 2: {T2}}


def test_what_comes_while_a_leader_is_asked_goes_to_it_in_one_request(scene: World) -> None:
    scene.leaders.silent = True
    producers = [decided(scene, T0, transactional_id=each) for each in IDS]
    assert len(scene.leaders.requests) == 1, "one request to a broker at a time"
    scene.leaders.speak()
    assert len(scene.leaders.requests) == 2
    assert [marker.producer_id for marker in scene.leaders.requests[1][1].markers] == [
        each.producer_id for each in producers[1:]
    ]
    scene.leaders.speak()
    scene.settle()
    assert [scene.state(each) for each in IDS] == ["CompleteCommit"] * 3


def test_parts_of_one_transaction_that_wait_for_one_leader_each_get_an_answer(scene: World) -> None:
    """One of them came to that leader while it owed an answer to somebody else."""
    scene.leaders.silent = True
    decided(scene, T2, transactional_id="first")
    scene.leaders.leaders[T0] = 2
    scene.leaders.alive.discard(1)
    producer = decided(scene, T0, T1)
    scene.leaders.leaders[T1] = 2
    scene.leaders.changed()
    scene.settle()
    for _ in range(3):
        scene.leaders.speak()
        scene.settle()
    assert scene.state() == "CompleteCommit"
    assert scene.leaders.ends(producer) == both([T0, T1], commit=True)


@pytest.mark.parametrize("code", sorted(USUAL | {ErrorCode.UNKNOWN_SERVER_ERROR}), ids=lambda code: code.name)
def test_what_a_leader_cannot_write_now_is_tried_again(scene: World, code: ErrorCode) -> None:
    scene.leaders.refusals[T1] = [code]
    producer = decided(scene, T0, T1)
    assert scene.state() == "PrepareCommit"
    scene.passes(RETRY_MS)
    assert scene.state() == "CompleteCommit"
    assert sorted(each.partition for each in scene.leaders.markers) == [T0, T1], "and nothing else is"
    assert scene.leaders.ends(producer) == both([T0, T1], commit=True)


def test_a_code_that_nobody_knows_yet_keeps_no_marker_from_being_written(scene: World) -> None:
    """Of a newer broker: what else its answer says counts, too."""
    scene.leaders.refusals[T0] = [999]  # type: ignore[list-item]
    decided(scene, T0, T1)
    scene.passes(RETRY_MS)
    assert scene.state() == "CompleteCommit"
    assert sorted(each.partition for each in scene.leaders.markers) == [T0, T1]


def test_the_leader_is_looked_for_anew_each_time(scene: World) -> None:
    scene.leaders.refusals[T0] = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    decided(scene, T0)
    scene.leaders.leaders[T0] = 2
    scene.passes(RETRY_MS)
    assert [broker for broker, _ in scene.leaders.requests] == [1, 2]
    assert scene.state() == "CompleteCommit"


def test_what_this_broker_leads_it_writes_without_a_request(scene: World) -> None:
    scene.leaders.leaders[T0] = OWN
    producers = [decided(scene, T0, T2, transactional_id=each) for each in IDS]
    assert {broker for broker, _ in scene.leaders.requests} == {2}
    assert [scene.state(each) for each in IDS] == ["CompleteCommit"] * 3
    for each in producers:
        assert scene.leaders.ends(each) == both([T0, T2], commit=True)


def test_what_this_broker_cannot_write_now_is_tried_again(scene: World) -> None:
    scene.leaders.leaders[T0] = OWN
    scene.leaders.refusals[T0] = [ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND]
    decided(scene, T0)
    assert scene.state() == "PrepareCommit"
    scene.leaders.leaders[T0] = 1
    scene.passes(RETRY_MS)
    assert scene.state() == "CompleteCommit" and len(scene.leaders.requests) == 1


def test_what_is_no_longer_wanted_while_others_are_written_is_not_written(
    scene: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others have turns between many markers, and may take the partition of __transaction_state away."""
    scene.leaders.leaders[T0] = OWN
    writer = scene.coordinator._markers._writer
    write = writer.write
    scene.leaders.refusals[T0] = [ErrorCode.NOT_ENOUGH_REPLICAS] * 3
    # While the first one is written alone, the others wait for each other.
    lost = next(each for each in IDS if scene.partition_of(each) != scene.partition_of("written"))
    first, written, unwanted = (decided(scene, T0, transactional_id=each) for each in ("first", "written", lost))

    def write_and_resign(marker):
        if marker.producer_id == written.producer_id:
            scene.resign(scene.partition_of(lost))
        return write(marker)

    monkeypatch.setattr(writer, "write", write_and_resign)
    scene.passes(RETRY_MS)
    assert scene.leaders.ends(first) == scene.leaders.ends(written) == both([T0], commit=True)
    assert not scene.leaders.ends(unwanted)


def test_an_unexpected_error_in_a_write_keeps_no_other_marker_from_being_written(
    scene: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.leaders.leaders[T0] = scene.leaders.leaders[T1] = OWN
    writer = scene.coordinator._markers._writer
    write, failures = writer.write, [ValueError("a bug")]

    def fail_once(marker):
        if failures:
            raise failures.pop()
        return write(marker)

    monkeypatch.setattr(writer, "write", fail_once)
    decided(scene, T0, transactional_id="a")
    decided(scene, T1, transactional_id="b")
    scene.passes(RETRY_MS)
    assert [scene.state(each) for each in ("a", "b")] == ["CompleteCommit"] * 2


def test_a_leader_that_is_down_is_waited_for(scene: World) -> None:
    scene.leaders.alive.discard(1)
    decided(scene, T0, T2)
    assert scene.coordinator._markers.unknown_destination_count == 1
    scene.passes_slowly(10_000)
    assert scene.state() == "PrepareCommit" and [broker for broker, _ in scene.leaders.requests] == [2]
    scene.leaders.leaders[T0] = 2
    scene.leaders.changed()
    scene.settle()
    assert scene.state() == "CompleteCommit"
    assert scene.coordinator._markers.unknown_destination_count == 0


def test_a_lost_connection_costs_a_retry(scene: World) -> None:
    scene.leaders.cut = True
    decided(scene, T0)
    scene.leaders.cut = False
    scene.passes(RETRY_MS)
    assert scene.state() == "CompleteCommit"


def test_a_leader_that_leaves_keeps_nobody_waiting_however_many_wait_for_it(
    scene: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was silent for long. Nothing can be sent to it any more, and each attempt fails at once."""
    monkeypatch.setattr(markers, "MOST_IN_A_REQUEST", 1)
    ids = [f"id{number}" for number in range(sys.getrecursionlimit() // 2)]
    scene.leaders.silent = True
    for each in ids:
        decided(scene, T0, transactional_id=each)
    scene.leaders.silent, scene.leaders.cut = False, True
    scene.leaders.forget()
    scene.leaders.cut = False
    scene.leaders.leaders[T0] = 2
    scene.passes_slowly(2 * RETRY_MS)
    assert {scene.state(each) for each in ids} == {"CompleteCommit"}


def test_retries_become_rare_while_nothing_is_taken_and_frequent_again_after(scene: World) -> None:
    scene.leaders.cut = True
    decided(scene, T0)
    scene.passes_slowly(10_000)
    assert 10_000 / LONGEST_RETRY_MS < len(scene.leaders.requests) < 10_000 / LONGEST_RETRY_MS + 10
    scene.leaders.cut = False
    scene.passes(LONGEST_RETRY_MS)
    assert scene.state() == "CompleteCommit"
    scene.leaders.refusals[T1] = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    decided(scene, T1, transactional_id="next")
    scene.passes(RETRY_MS)
    assert scene.state("next") == "CompleteCommit"


def test_a_deleted_partition_wants_no_marker(scene: World) -> None:
    producer = scene.producer()
    scene.adds(producer, T0, T1)
    scene.leaders.delete(T0)
    scene.ends(producer, commit=False)
    assert scene.state() == "CompleteAbort"
    assert scene.leaders.ends(producer) == both([T1], commit=False)


def test_a_partition_that_the_metadata_does_not_have_yet_is_waited_for(scene: World) -> None:
    """As after a start: this broker leads partitions before it hears which others there are."""
    producer = scene.producer()
    scene.adds(producer, T0, T2)
    scene.leaders.cut = True
    scene.ends(producer, commit=True)
    partition = scene.partition_of("id")
    scene.resign(partition)
    scene.leaders.cut = False
    known, scene.leaders.leaders = scene.leaders.leaders, {}
    scene.lead(partition)
    scene.passes_slowly(10_000)
    assert scene.state() == "PrepareCommit" and not scene.leaders.markers
    scene.leaders.leaders = known
    scene.passes(LONGEST_RETRY_MS)
    assert scene.state() == "CompleteCommit"
    assert scene.leaders.ends(producer) == both([T0, T2], commit=True)


@pytest.mark.parametrize("error", [ConnectionClosed("gone"), ValueError("a bug")], ids=repr)
def test_while_zookeeper_does_not_answer_no_partition_counts_as_deleted(scene: World, error: Exception) -> None:
    producer = scene.producer()
    scene.adds(producer, T0, T1)
    scene.leaders.delete(T0)
    scene.leaders.zookeeper_errors.append(error)
    scene.ends(producer, commit=True)
    assert scene.state() == "PrepareCommit"
    scene.passes(LONGEST_RETRY_MS)
    assert scene.state() == "CompleteCommit"
    assert scene.leaders.ends(producer) == both([T1], commit=True)


@pytest.mark.parametrize("code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED])
def test_a_partition_that_knows_a_newer_epoch_is_tried_again_rarely(
    scene: World, caplog: pytest.LogCaptureFixture, code: ErrorCode
) -> None:
    """A transaction that can be neither used nor ended for ever: the partition forgets the newer epoch some day."""
    scene.leaders.refusals[T0] = [code] * 3
    decided(scene, T0, T1)
    scene.passes(REFUSED_RETRY_MS - 1)
    assert len(scene.leaders.requests) == 1
    assert scene.state() == "PrepareCommit" and scene.found().partitions == {T0}, "shown as what is left to do"
    scene.passes_slowly(2 * REFUSED_RETRY_MS)
    assert scene.state() == "PrepareCommit"
    scene.passes_slowly(REFUSED_RETRY_MS)
    assert scene.state() == "CompleteCommit"
    assert caplog.text.count("refused its marker") == 1


def test_markers_of_a_lost_partition_are_no_longer_sent(scene: World) -> None:
    scene.leaders.cut = True
    decided(scene, T0)
    scene.resign(scene.partition_of("id"))
    before = len(scene.leaders.requests)
    scene.passes_slowly(10_000)
    assert len(scene.leaders.requests) == before


def test_69_after_a_move_and_back_each_partition_ends_once_more_at_most_and_the_transaction_once(scene: World) -> None:
    """Markers of the former leadership are on their way, and their answers come after the load."""
    scene.leaders.silent = True
    decided(scene, T0)
    partition = scene.partition_of("id")
    scene.resign(partition)
    scene.lead(partition)
    assert len(scene.leaders.requests) == 1, "the broker still owes an answer"
    scene.leaders.speak()
    scene.settle()
    assert scene.state() == "PrepareCommit", "the answer to what an earlier coordinator sent ends nothing"
    scene.leaders.speak()
    scene.settle()
    assert scene.history().count("CompleteCommit") == 1


@given(st.lists(st.sampled_from(["away", "back", "soon", "later", "answer"]), max_size=14))
def test_a_refused_marker_is_sent_by_the_coordinator_of_the_moment_and_once_a_minute(steps: list[str]) -> None:
    """The timers of an earlier one run out all the same, while the partition of __transaction_state is here again."""
    with world() as scene:
        scene.leaders.refusals[T0] = [ErrorCode.TRANSACTION_COORDINATOR_FENCED] * 100
        partition, is_here, sent = scene.partition_of("id"), True, []
        send = scene.leaders.send

        def note_and_send(broker_id: int, request: Any) -> Any:
            assert is_here, "what another broker coordinates is not sent"
            sent.extend((marker.coordinator_epoch, scene.clock.monotonic_ms()) for marker in request.markers)
            return send(broker_id, request)

        scene.leaders.send = note_and_send  # type: ignore[method-assign]
        decided(scene, T0)
        for step in steps:
            count = len(sent)
            if step == "away" and is_here:
                scene.resign(partition)
                is_here = False
            elif step == "back" and not is_here:
                is_here = True
                scene.lead(partition)
            elif step == "soon":
                scene.passes(REFUSED_RETRY_MS // 3)
            elif step == "later":
                scene.passes_slowly(REFUSED_RETRY_MS)
            elif step == "answer" and is_here:
                scene.leaders.silent = not scene.leaders.silent
                scene.leaders.speak()
            assert all(epoch == scene.epochs[partition] for epoch, _ in sent[count:]), f"one of {sent} is stale"
        for (epoch, at_ms), (next_epoch, next_ms) in pairwise(sent):
            assert epoch != next_epoch or next_ms - at_ms >= REFUSED_RETRY_MS
        if not is_here:
            is_here = True
            scene.lead(partition)
        scene.leaders.silent = False
        scene.leaders.speak()
        scene.settle()
        scene.leaders.refusals.clear()
        scene.passes_slowly(REFUSED_RETRY_MS)
        assert scene.history().count("CompleteCommit") == 1
        assert [each.coordinator_epoch for each in scene.leaders.markers] == [scene.epochs[partition]]


@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.INVALID_PRODUCER_EPOCH])
def test_a_stop_while_a_marker_waits_for_its_replicas_leaves_it_to_the_next_start(
    scene: World, caplog: pytest.LogCaptureFixture, code: ErrorCode
) -> None:
    scene.leaders.leaders[T0], scene.leaders.silent, scene.own.is_behind = OWN, True, True
    producer = decided(scene, T0, T2)
    stopped, requests = scene.own, len(scene.leaders.requests)
    assert (len(stopped.written), requests) == (1, 1)
    scene.stop()
    caplog.clear()
    # Connections are closed behind it, and the replicas are waited for until the ReplicaManager stops.
    scene.leaders.forget()
    stopped.replicate(code)
    scene.leaders.changed()
    scene.clock.advance(2 * REFUSED_RETRY_MS)
    assert (len(stopped.written), len(scene.leaders.requests)) == (1, requests)
    assert scene.coordinator._completions.is_idle, "nothing is left to a greenlet that is gone"
    assert scene.history()[-1] == "PrepareCommit" and not caplog.messages
    scene.leaders.silent = False
    scene.start_again()
    assert scene.history()[-1] == "CompleteCommit"
    assert scene.leaders.ends(producer) == both([T0, T2], commit=True)


def test_a_last_record_that_is_refused_to_a_stopped_coordinator_is_not_tried_again(
    scene: World, caplog: pytest.LogCaptureFixture
) -> None:
    scene.leaders.silent = True
    decided(scene, T0)
    scene.log.holds_back = True
    scene.leaders.speak()
    scene.settle()
    (last,) = scene.log.held
    scene.stop()
    caplog.clear()
    last.refuse(NotEnoughReplicas())
    assert not scene.coordinator._waiting_to_store and not caplog.messages


@pytest.mark.interpreted
def test_thousands_that_are_tried_again_at_once_keep_nobody_waiting(
    scene: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others have a turn between two of them, and no request has all. Counted, never timed."""
    monkeypatch.setattr(giving_way, "SLICE_S", -math.inf)
    scene.leaders.cut = True
    count = 2 * MOST_IN_A_REQUEST
    transactions = [f"id-{number}" for number in range(count)]
    for each in transactions:
        decided(scene, T0, transactional_id=each)
    scene.leaders.alive.discard(1)
    scene.passes(LONGEST_RETRY_MS)
    assert scene.coordinator._markers.unknown_destination_count == count
    scene.leaders.alive.add(1)
    scene.leaders.cut, scene.leaders.silent = False, True
    scene.leaders.requests.clear()
    calls = [0]
    monkeypatch.setattr(giving_way._turn, "pause", lambda: calls.append(0))

    def note(frame: FrameType, event: str, _: Any) -> None:
        calls[-1] += event == "call"

    sys.setprofile(note)
    try:
        scene.coordinator._markers._look_for_leaders()
    finally:
        sys.setprofile(None)
    assert len(calls) > count and max(calls) < 50
    while scene.leaders.requests[-1][1].markers:
        known = len(scene.leaders.requests)
        scene.leaders.speak()
        if len(scene.leaders.requests) == known:
            break
    scene.settle()
    sizes = [len(request.markers) for _, request in scene.leaders.requests]
    assert sizes == [1, MOST_IN_A_REQUEST, MOST_IN_A_REQUEST - 1]
    assert {scene.state(each) for each in transactions} == {"CompleteCommit"}


def test_each_that_was_refused_has_its_own_minute(scene: World) -> None:
    scene.leaders.refusals[T0] = [ErrorCode.INVALID_PRODUCER_EPOCH] * 4
    for each in IDS:
        decided(scene, T0, transactional_id=each)
    scene.passes(REFUSED_RETRY_MS // 2)
    decided(scene, T0, transactional_id="late")
    scene.passes(REFUSED_RETRY_MS // 2)
    assert [scene.state(each) for each in (*IDS, "late")] == ["CompleteCommit"] * 3 + ["PrepareCommit"]
    scene.passes(REFUSED_RETRY_MS // 2)
    assert scene.state("late") == "CompleteCommit"
