"""A producer that begins again while its last transaction is about to end waits for that, and never for long."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from gevent.event import Event

from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.txn.add_offsets_to_txn import add_offsets_to_txn
from kafka_zk.api.txn.add_partitions_to_txn import add_partitions_to_txn
from kafka_zk.coordinator.transaction.awaited_ends import HELD_MS
from kafka_zk.coordinator.transaction.decisions.requests import ProducerIdAndEpoch
from kafka_zk.coordinator.transaction.markers import RETRY_MS
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.internal_topics import GROUP_METADATA_TOPIC
from kafka_zk.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kafka_zk.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafka_zk.protocol.types import TopicPartition
from tests.unit.coordinator.transaction.transaction_world import OWN, T0, T1, T2, World

OFFSETS = TopicPartition(GROUP_METADATA_TOPIC, 0)


def ending(scene: World, *partitions: TopicPartition, transactional_id: str = "id") -> ProducerIdAndEpoch:
    """A producer whose transaction over partitions of this broker is decided, and whose markers are not replicated."""
    for each in partitions or (T0,):
        scene.leaders.leaders[each] = OWN
    producer = scene.producer(transactional_id)
    scene.adds(producer, *(partitions or (T0,)), transactional_id=transactional_id)
    scene.own.is_behind = True
    assert scene.ends(producer, commit=True, transactional_id=transactional_id).value is ErrorCode.NONE
    assert scene.state(transactional_id) == "PrepareCommit"
    return producer


def test_it_begins_once_the_markers_are_written(scene: World) -> None:
    producer = ending(scene)
    added = scene.adds(producer, T1)
    assert not added.is_done
    scene.own.replicate()
    scene.settle()
    assert added.value is ErrorCode.NONE
    assert scene.state() == "Ongoing" and scene.found().partitions == {T1}
    assert scene.history()[-2:] == ["CompleteCommit", "Ongoing"], "one after the other in the log"
    scene.passes(HELD_MS)
    assert scene.history()[-1] == "Ongoing", "nothing is left to time"


def test_it_is_told_to_come_back_when_the_end_takes_long(scene: World) -> None:
    producer = ending(scene)
    added = scene.adds(producer, T1)
    scene.passes(HELD_MS - 1)
    assert not added.is_done
    scene.passes(1)
    assert added.value is ErrorCode.CONCURRENT_TRANSACTIONS
    scene.own.replicate()
    scene.settle()
    assert scene.state() == "CompleteCommit", "what was refused is not done later"
    assert scene.adds(producer, T1).value is ErrorCode.NONE


def test_it_is_sent_to_the_next_coordinator_at_once(scene: World) -> None:
    producer = ending(scene)
    added = scene.adds(producer, T1)
    scene.resign(scene.partition_of("id"))
    assert added.value is ErrorCode.NOT_COORDINATOR
    scene.own.replicate()
    scene.passes(HELD_MS)
    assert scene.history()[-1] == "PrepareCommit", "which finishes what was decided"


def test_a_partition_that_moves_keeps_the_others_waiting(scene: World) -> None:
    other = next(each for each in "abcdef" if scene.partition_of(each) != scene.partition_of("id"))
    producers = {each: ending(scene, transactional_id=each) for each in ("id", other)}
    moved, stays = (scene.adds(producers[each], T1, transactional_id=each) for each in ("id", other))
    scene.resign(scene.partition_of("id"))
    assert moved.value is ErrorCode.NOT_COORDINATOR and not stays.is_done
    scene.own.replicate()
    scene.settle()
    assert stays.value is ErrorCode.NONE


def test_nothing_is_added_for_a_client_that_is_gone(scene: World) -> None:
    added = scene.adds(ending(scene), T1)
    added.leave(True)
    assert len(scene.coordinator._awaited_ends) == 0
    scene.own.replicate()
    scene.settle()
    assert scene.state() == "CompleteCommit" and not added.is_done


def test_a_client_that_only_sends_no_more_gets_its_answer(scene: World) -> None:
    added = scene.adds(ending(scene), T1)
    added.leave(False)
    scene.own.replicate()
    scene.settle()
    assert added.value is ErrorCode.NONE


def test_a_stop_keeps_nobody_waiting(scene: World) -> None:
    added = scene.adds(ending(scene), T1)
    scene.stop()
    assert added.value is ErrorCode.COORDINATOR_NOT_AVAILABLE


def heard_of(scene: World, task: Callable[[], object] = lambda: None) -> Pending[ErrorCode]:
    """The answer to who waits for an end that the coordinator has heard of. It goes on behind `task`."""
    producer = ending(scene)
    added = scene.adds(producer, T1)
    scene.log.holds_back = True
    scene.own.replicate()
    scene.settle()
    scene.log.holds_back = False
    scene.coordinator._completions.later(task)
    scene.log.release()
    assert scene.state() == "CompleteCommit" and not added.is_done
    return added


def test_a_stop_keeps_nobody_waiting_who_was_about_to_go_on(scene: World) -> None:
    added = heard_of(scene, task=Event().wait)
    scene.stop()
    assert added.value is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_client_that_leaves_before_it_goes_on_has_nothing_added(scene: World) -> None:
    heard_of(scene).leave(True)
    scene.settle()
    assert scene.state() == "CompleteCommit"


def test_who_could_go_on_waits_no_longer_than_others(scene: World) -> None:
    added = heard_of(scene)
    scene.clock.advance(HELD_MS)
    assert added.value is ErrorCode.CONCURRENT_TRANSACTIONS
    scene.settle()
    assert scene.state() == "CompleteCommit", "what was refused is not done later"


@pytest.mark.parametrize("others", [(T2,), (T0, T2)])
def test_nobody_waits_for_another_broker(scene: World, others: tuple[TopicPartition, ...]) -> None:
    scene.leaders.leaders[T0] = OWN
    producer = scene.producer()
    scene.adds(producer, *others)
    scene.leaders.silent = True
    scene.ends(producer, commit=True)
    assert scene.adds(producer, T1).value is ErrorCode.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize("code", [ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.INVALID_PRODUCER_EPOCH])
def test_nobody_waits_for_a_marker_that_is_to_be_tried_again(scene: World, code: ErrorCode) -> None:
    producer = ending(scene)
    scene.own.replicate(code)
    assert scene.adds(producer, T1).value is ErrorCode.CONCURRENT_TRANSACTIONS


def test_nobody_waits_for_a_marker_that_met_a_bug(scene: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(marker: object) -> None:
        raise ValueError("a bug")

    scene.leaders.leaders[T0] = OWN
    producer = scene.producer()
    scene.adds(producer, T0)
    monkeypatch.setattr(scene.own, "write", fail)
    scene.ends(producer, commit=True)
    assert scene.adds(producer, T1).value is ErrorCode.CONCURRENT_TRANSACTIONS


def test_nobody_waits_for_a_last_record_that_is_to_be_stored_again(scene: World) -> None:
    producer = ending(scene)
    scene.log.fails = True
    scene.own.replicate()
    scene.settle()
    assert scene.adds(producer, T1).value is ErrorCode.CONCURRENT_TRANSACTIONS
    scene.log.fails = False
    scene.passes(RETRY_MS * 100)
    assert scene.adds(producer, T1).value is ErrorCode.NONE


def test_the_last_record_is_waited_for_as_the_markers_are(scene: World) -> None:
    producer = ending(scene)
    scene.log.holds_back = True
    scene.own.replicate()
    added = scene.adds(producer, T1)
    assert not added.is_done
    scene.log.holds_back = False
    scene.log.release()
    scene.settle()
    assert added.value is ErrorCode.NONE


def test_nobody_waits_twice(scene: World) -> None:
    producer = ending(scene)
    first, second = scene.adds(producer, T0), scene.adds(producer, T1)
    scene.own.replicate()
    scene.log.holds_back = True
    scene.settle()
    scene.log.release()
    scene.settle()
    assert (first.is_done, second.value) == (False, ErrorCode.CONCURRENT_TRANSACTIONS), "one change at a time"
    scene.log.release()
    assert first.value is ErrorCode.NONE


def test_who_goes_on_and_meets_another_end_is_told_to_come_back(scene: World) -> None:
    added = scene.adds(ending(scene), T1)
    scene.coordinator._awaited_ends.ended(scene.found())
    scene.settle()
    assert added.value is ErrorCode.CONCURRENT_TRANSACTIONS


def test_who_has_waited_is_fenced_as_everybody_else(scene: World) -> None:
    producer = ending(scene)
    added = scene.adds(ProducerIdAndEpoch(producer.producer_id, producer.epoch - 1), T1)
    assert added.value is ErrorCode.PRODUCER_FENCED, "at once"


def test_a_time_that_is_over_when_it_ends_counts_once(scene: World) -> None:
    """A timer that is due runs a moment later; what ended in between goes on all the same."""
    producer = ending(scene)
    due: list[Any] = []
    scene.clock.call_at = lambda deadline_ms, task: due.append(task) or SimpleNamespace(cancel=lambda: None)  # type: ignore[method-assign]
    added = scene.adds(producer, T1)
    scene.own.replicate()
    tasks = scene.coordinator._completions._waiting()
    while len(scene.coordinator._awaited_ends):
        scene.log.holds_back = scene.state() == "CompleteCommit"
        next(tasks)()
    due[0]()
    scene.log.release()
    scene.settle()
    assert added.value is ErrorCode.NONE and scene.state() == "Ongoing"


def test_a_bug_in_what_goes_on_reaches_who_waits(scene: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a bug")

    added = scene.adds(ending(scene), T1)
    monkeypatch.setattr(scene.clock, "wall_ms", fail)
    scene.coordinator._awaited_ends.ended(scene.found())
    scene.settle()
    assert isinstance(added.error, ValueError)


# --- through the APIs -------------------------------------------------------------------------------------------------


def asked(scene: World, producer: ProducerIdAndEpoch, what: str) -> Pending[Any]:
    """The answer of a handler."""
    services: Any = SimpleNamespace(
        authorizer=None,
        transaction_coordinator=scene.coordinator,
        metadata_cache=scene.leaders,
        group_coordinator=SimpleNamespace(partition_for=lambda group_id: OFFSETS.partition),
    )
    client: Any = SimpleNamespace(principal="User:ANONYMOUS", client_host="127.0.0.1")
    ctx = RequestContext(24, 3, 1, "test", client, services)
    who: dict[str, Any] = {
        "transactional_id": "id",
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
    }
    answer: Any
    if what == "offsets":
        answer = add_offsets_to_txn(AddOffsetsToTxnRequest(**who, group_id="group"), ctx)
    else:
        topics = [AddPartitionsToTxnTopic(name="t", partitions=[1] if what == "one" else [1, 2])]
        of_client = {f"v3_and_below_{name}": value for name, value in who.items()}
        answer = add_partitions_to_txn(AddPartitionsToTxnRequest(**of_client, v3_and_below_topics=topics), ctx)
    assert isinstance(answer, Pending)
    return answer


def codes(answer: Any) -> list[ErrorCode]:
    """Of all that was asked for."""
    if isinstance(answer, AddOffsetsToTxnResponse):
        return [ErrorCode(answer.error_code)]
    return [
        ErrorCode(line.partition_error_code)
        for topic in answer.results_by_topic_v3_and_below
        for line in topic.results_by_partition
    ]


APIS = pytest.mark.parametrize(
    ("what", "added"), [("one", {T1}), ("many", {T1, T2}), ("offsets", {OFFSETS})], ids=["one", "many", "offsets"]
)


@APIS
def test_a_request_is_answered_once_it_went_on(scene: World, what: str, added: set[TopicPartition]) -> None:
    answer = asked(scene, ending(scene), what)
    assert not answer.is_done
    scene.own.replicate()
    scene.settle()
    made = answer.result(30_000)
    assert scene.found().partitions == added
    assert codes(made) == [ErrorCode.NONE] * len(added)


@APIS
def test_a_request_whose_connection_closes_adds_nothing(scene: World, what: str, added: set[TopicPartition]) -> None:
    answer = asked(scene, ending(scene), what)
    answer.leave(True)
    scene.own.replicate()
    scene.settle()
    assert scene.state() == "CompleteCommit"
