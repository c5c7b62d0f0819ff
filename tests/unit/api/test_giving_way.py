"""Large requests give way: between two turns of everybody else only so much is called. Counted, never timed."""

from __future__ import annotations

import contextlib
import gc
import itertools
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import gevent
import pytest

from kafka_zk import giving_way
from kafka_zk.api import dispatch
from kafka_zk.api.all import load
from kafka_zk.api.data import fetch, produce
from kafka_zk.api.dispatch import LARGE_FRAME_BYTES, Dispatcher
from kafka_zk.api.group.list_groups import list_groups
from kafka_zk.api.late_answers import then_apart
from kafka_zk.api.txn.add_partitions_to_txn import FROM_BROKERS
from kafka_zk.coordinator.transaction.coordinator import Initialized
from kafka_zk.network.answer_queue import Deferred
from kafka_zk.network.errors import CloseConnection
from kafka_zk.network.parts import IN_MEMORY
from kafka_zk.network.pending import Pending, completed
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.header import decode_response_header, encode_request_header, response_header_is_flexible
from kafka_zk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafka_zk.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_zk.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_zk.protocol.messages.list_groups import ListGroupsRequest
from kafka_zk.protocol.messages.produce import PartitionProduceData, TopicProduceData
from kafka_zk.protocol.value import list_fields
from tests.support.worst_requests import worst_requests
from tests.unit.coordinator.transaction.transaction_world import world
from tests.unit.replication.broker import Broker, produce_request, records

pytestmark = pytest.mark.interpreted

FRAME_BYTES = 4 * LARGE_FRAME_BYTES
CALLS_PER_TURN = 600
"""A tenth of a millisecond: 128 elements whose declaration says how they are coded, or some that are handled."""

PATIENCE_MS = 60_000

NAMED_COUNT = 20_000
"""Partitions of one request: 80 KB."""

SERVED = tuple(api.name for api in load())


class Client:
    """A connection as dispatch sees one."""

    received_ns = 0
    client_host = "127.0.0.1"
    principal = "User:ANONYMOUS"
    listener_name = "PLAINTEXT"
    must_authenticate = False
    connection_id = "c"

    def __init__(self) -> None:
        self.sent_stamp = [0, 0]


class Turns:
    """Ends a turn at every look at the clock, and counts the calls between them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.longest: tuple[int, str] = (0, "")
        self._calls = 0
        monkeypatch.setattr(giving_way, "TURN_NS", 0)
        monkeypatch.setattr(giving_way._turn, "pause", self._end)

    def _end(self) -> None:
        frame = sys._getframe(2)
        self.longest = max(self.longest, (self._calls, f"up to {frame.f_code.co_qualname}:{frame.f_lineno}"))
        self._calls = 0
        self.count += 1

    def watch(self, work: Callable[[], Any]) -> Any:
        """What `work` returns. `longest` is then the most calls of one turn, the last one included, and its end."""

        def note(frame: FrameType, event: str, _: Any) -> None:
            if event == "call" and frame.f_globals.get("__name__") != giving_way.__name__:
                self._calls += 1

        self._calls = 0
        sys.setprofile(note)
        try:
            return work()
        finally:
            sys.setprofile(None)
            self.longest = max(self.longest, (self._calls, "up to the end"))


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path)
    made.update_metadata({"t": {0: 1}, "__consumer_offsets": {0: 1}})
    made.lead()
    dead = SimpleNamespace(state="Dead", protocol_type="", protocol="", members=[])
    coordinator: Any = SimpleNamespace(
        partition_for=lambda _: 0,
        describe_group=lambda _: (ErrorCode.NONE, dead),
        commit_offsets=lambda *_, **__: completed({}),
    )
    made.services.group_coordinator = coordinator
    transactions: Any = SimpleNamespace(
        partition_for=lambda _: 0,
        add_partitions=lambda *_: completed(ErrorCode.NONE),
        verify_partitions=lambda _, __, partitions: dict.fromkeys(partitions, ErrorCode.NONE),
        end_transaction=lambda *_, **__: completed(ErrorCode.NONE),
        init_producer_id=lambda *_, **__: completed(Initialized(ErrorCode.NONE, 0, 0)),
        describe=lambda _: ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
        all_transactions=list,
    )
    made.services.transaction_coordinator = transactions
    nobody: Any = SimpleNamespace(is_active=False, active_controller=None)
    made.services.controller = nobody
    yield made
    made.close()


def frame_of(key: int, version: int, body: bytes) -> memoryview:
    return memoryview(bytearray(encode_request_header(key, version, 7, "client") + body))


def test_a_turn_that_is_entered_again_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for each element of a request: the clock of the turn does not begin anew with each of them."""
    now_ns, pauses = itertools.count(0, giving_way.TURN_NS // 4), []
    monkeypatch.setattr(giving_way, "_now", now_ns.__next__)
    monkeypatch.setattr(giving_way._turn, "pause", lambda: pauses.append(1))
    with giving_way.InTurns(large=False):
        for _ in range(100):
            with giving_way.InTurns(large=False):
                giving_way.give_way()
    assert len(pauses) > 10


@pytest.mark.parametrize("name", SERVED)
def test_the_worst_requests_give_way(broker: Broker, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    served = next(api for api in broker.registry if api.name == name)
    dispatcher = Dispatcher(broker.services, broker.registry)
    client: Any = Client()
    version = served.request.max_version
    for worst in worst_requests(served.request, version, "t", FRAME_BYTES):
        frame = frame_of(served.key, version, worst.body)
        turns = Turns(monkeypatch)
        # A produce that asks for no answer.
        with contextlib.suppress(CloseConnection):
            turns.watch(lambda frame=frame: dispatcher.handle(frame, client))
        assert turns.count > 10, worst.name
        assert turns.longest[0] <= CALLS_PER_TURN, (worst.name, turns.longest)


@pytest.mark.parametrize("version", [3, 4], ids=["of a client", "of a broker"])
def test_very_many_partitions_for_a_coordinator_that_loads_are_refused_in_turns(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """A thousand partitions, each named again and again: every one has an answer."""
    broker.update_metadata({"t": dict.fromkeys(range(1000), 1)})
    topics = [AddPartitionsToTxnTopic(name="t", partitions=[index % 1000 for index in range(NAMED_COUNT)])]
    if version < FROM_BROKERS:
        request = AddPartitionsToTxnRequest(v3_and_below_transactional_id="id", v3_and_below_topics=topics)
    else:
        asked = AddPartitionsToTxnTransaction(transactional_id="id", producer_id=0, producer_epoch=0, topics=topics)
        request = AddPartitionsToTxnRequest(transactions=[asked])
    served = next(api for api in broker.registry if api.name == "AddPartitionsToTxn")
    frame = frame_of(served.key, version, served.request.encode(request, version))
    with world() as scene:
        broker.services.transaction_coordinator = scene.coordinator
        partition = scene.partition_of("id")
        scene.resign(partition)
        scene.log.led.add(partition)
        scene.epochs[partition] += 1
        scene.coordinator.leadership.on_leadership_change([scene._led(partition)], [])
        assert scene.state("id") == "COORDINATOR_LOAD_IN_PROGRESS"
        client: Any = Client()
        turns = Turns(monkeypatch)
        answer = turns.watch(lambda: Dispatcher(broker.services, broker.registry).handle(frame, client))
        assert isinstance(answer, Deferred)
        parts = answer.result(PATIENCE_MS)
    assert turns.count > 1000
    assert turns.longest[0] <= CALLS_PER_TURN, turns.longest
    answered = b"".join(bytes(part) for part in parts)[4:]
    position = decode_response_header(answered, response_header_is_flexible(served.key, version))[1]
    response: Any = served.response.decode(answered, version, position)
    if version < FROM_BROKERS:
        (topic,) = response.results_by_topic_v3_and_below
    else:
        ((topic,),) = (each.topic_results for each in response.results_by_transaction)
    codes = [each.partition_error_code for each in topic.results_by_partition]
    assert codes == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * NAMED_COUNT


def described(broker: Broker) -> list[Any]:
    """Twenty groups in one answer of 360 bytes; when refused, of 260."""
    served = next(api for api in broker.registry if api.name == "DescribeGroups")
    client: Any = Client()
    body = served.request.encode(DescribeGroupsRequest(groups=["g"] * 20), 5)
    parts = Dispatcher(broker.services, broker.registry).handle(frame_of(served.key, 5, body), client)
    assert isinstance(parts, list)
    answer = b"".join(bytes(part) for part in parts)[4:]
    position = decode_response_header(answer, response_header_is_flexible(served.key, 5))[1]
    response: Any = served.response.decode(answer, 5, position)
    return list(response.groups)


def test_an_answer_that_is_too_large_is_refused_in_words(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "MAX_ANSWER_BYTES", 300)
    assert {group.error_code for group in described(broker)} == {ErrorCode.INVALID_REQUEST}


def test_a_refusal_that_is_too_large_ends_the_connection(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "MAX_ANSWER_BYTES", 100)
    with pytest.raises(CloseConnection, match="larger than 100 bytes"):
        described(broker)


def test_a_fetch_answer_that_is_too_large_keeps_no_segment_open(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.produce()
    partition = broker.partition()
    assert partition.log is not None
    file = partition.log.active.file
    served = next(api for api in broker.registry if api.name == "Fetch")
    topics = [FetchTopic(topic="t", partitions=[FetchPartition(partition=0, partition_max_bytes=1 << 20)])]
    topics += [
        FetchTopic(topic=f"{number:05}" + "x" * 1000, partitions=[FetchPartition(partition=0)]) for number in range(40)
    ]
    request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, session_epoch=-1, topics=topics)
    frame = frame_of(served.key, 11, served.request.encode(request, 11))
    assert len(frame) > LARGE_FRAME_BYTES
    monkeypatch.setattr(dispatch, "MAX_ANSWER_BYTES", 10_000)
    client: Any = Client()
    with pytest.raises(CloseConnection):
        Dispatcher(broker.services, broker.registry).handle(frame, client)
    assert file._holders == 0


@pytest.mark.parametrize("version", [9, 11], ids=["of an old version", "of a new one"])
def test_a_large_fetch_that_waited_is_answered_in_turns_and_not_by_who_ends_its_wait(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    served = next(api for api in broker.registry if api.name == "Fetch")
    topics = [FetchTopic(topic="t", partitions=[FetchPartition(partition=0, partition_max_bytes=1 << 20)])]
    topics.append(FetchTopic(topic="unknown", partitions=[FetchPartition(partition=index) for index in range(1000)]))
    request = FetchRequest(max_wait_ms=60_000, min_bytes=1, max_bytes=1 << 20, session_epoch=-1, topics=topics)
    frame = frame_of(served.key, version, served.request.encode(request, version))
    assert len(frame) > LARGE_FRAME_BYTES
    client: Any = Client()
    turns = Turns(monkeypatch)
    told_in: list[int] = []

    def noted(*arguments: Any, tell: Callable[..., Any] = fetch._partition_data) -> Any:
        told_in.append(turns.count)
        return tell(*arguments)

    monkeypatch.setattr(fetch, "_partition_data", noted)
    answer = Dispatcher(broker.services, broker.registry).handle(frame, client)
    assert isinstance(answer, Deferred)
    broker.produce()
    assert not told_in
    parts = [part for part in answer.result(PATIENCE_MS) if not isinstance(part, IN_MEMORY)]
    assert len(set(told_in)) == len(told_in) == 1001
    for part in parts:
        part.release()


def test_a_produce_to_very_many_partitions_is_answered_in_turns_and_not_by_who_acknowledges_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = Broker(tmp_path)
    broker.update_metadata({"t": {0: 1}})
    broker.lead(replicas=(1, 2), isr=(1, 2))
    served = next(api for api in broker.registry if api.name == "Produce")
    request = produce_request(records(), acks=-1, timeout_ms=PATIENCE_MS)
    unknown = [PartitionProduceData(index=index, records=records()) for index in range(produce.MANY)]
    request.topic_data.append(TopicProduceData(name="unknown", partition_data=unknown))
    client: Any = Client()
    turns = Turns(monkeypatch)
    told_in: list[int] = []

    def noted(*arguments: Any, tell: Callable[..., Any] = produce._failed) -> Any:
        told_in.append(turns.count)
        return tell(*arguments)

    monkeypatch.setattr(produce, "_failed", noted)
    frame = frame_of(served.key, 9, served.request.encode(request, 9))
    answer = Dispatcher(broker.services, broker.registry).handle(frame, client)
    assert isinstance(answer, Deferred)
    broker.fetch(1, replica=2)
    assert not told_in
    answer.result(PATIENCE_MS)
    assert len(set(told_in)) == len(told_in) == produce.MANY
    broker.close()


def test_only_who_said_so_is_switched(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = Turns(monkeypatch)
    giving_way.give_way()
    assert turns.count == 0
    with giving_way.InTurns(large=False):
        giving_way.give_way()
    giving_way.give_way()
    assert turns.count == 1


def test_who_enters_turns_inside_of_turns_goes_on_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = Turns(monkeypatch)
    with giving_way.InTurns(large=False):
        with giving_way.InTurns(large=True):
            pass
        giving_way.give_way()
    giving_way.give_way()
    assert turns.count == 1


def test_an_answer_that_is_ready_early_is_made_at_once_and_a_late_one_apart() -> None:
    made_in: list[Any] = []

    def build(value: int) -> int:
        made_in.append(gevent.getcurrent())
        return 10 // value

    early = then_apart(completed(5), build)
    assert early.value == 2
    assert isinstance(then_apart(completed(0), build).error, ZeroDivisionError)
    waited: Pending[int] = Pending()
    late = then_apart(waited, build)
    waited.complete(2)
    assert not late.is_done
    assert late.result() == 5
    assert [each is gevent.getcurrent() for each in made_in] == [True, True, False]


def test_no_collection_walks_the_objects_of_a_large_request() -> None:
    assert gc.isenabled()
    with giving_way.InTurns(large=True):
        assert not gc.isenabled()
        with giving_way.InTurns(large=True):
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_cycles_are_collected_although_large_requests_follow_on_each_other_without_a_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Cycle:
        def __init__(self) -> None:
            self.itself = self

    monkeypatch.setattr(giving_way, "MOST_UNSEEN", 1000)
    left = []
    overlapping = giving_way.InTurns(large=True)
    with overlapping:
        for _ in range(50):
            left += [weakref.ref(Cycle()) for _ in range(100)]
            with giving_way.InTurns(large=True):
                assert not gc.isenabled()
        alive = sum(cycle() is not None for cycle in left)
    assert alive <= 1000
    assert gc.isenabled()


def test_what_comes_while_a_large_request_waits_is_looked_at_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(giving_way, "MOST_UNSEEN", 1000)
    monkeypatch.setattr(giving_way, "TURN_NS", 0)
    stays = []
    with giving_way.InTurns(large=True):
        for _ in range(50):
            stays += [[] for _ in range(100)]
            giving_way.give_way()
            assert gc.get_count()[0] <= 1000
    assert gc.isenabled()


def test_taking_apart_leaves_what_others_keep() -> None:
    request = DescribeGroupsRequest(groups=[f"g{number}" for number in range(1000)])
    kept = request.groups
    giving_way.take_apart(request, list_fields)
    assert len(kept) == 1000
    del kept
    giving_way.take_apart(request, list_fields)
    assert request.groups == []


def test_letting_go_empties_what_is_given_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    many: tuple[Any, ...] = (list(range(1000)), set(range(1000)), dict.fromkeys(range(1000)))
    turns = Turns(monkeypatch)
    with giving_way.InTurns(large=False):
        giving_way.let_go(*many)
    assert [len(each) for each in many] == [0, 0, 0]
    assert turns.count == 3 * 4


def test_a_large_request_that_waited_is_freed_in_turns(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    served = next(api for api in broker.registry if api.name == "DeleteRecords")
    body = next(worst_requests(served.request, 2, "t", FRAME_BYTES)).body
    requests: list[Any] = []
    sizes: list[int] = []
    decoded = dispatch.Route(served, 2, None).decode_in_turns

    def decode(*arguments: Any) -> Any:
        found = decoded(*arguments)
        requests.append(found[0])
        sizes.append(len(found[0].topics))
        return found

    dispatcher = Dispatcher(broker.services, broker.registry)
    client: Any = Client()
    monkeypatch.setattr(dispatch.Route, "decode_in_turns", property(lambda _: decode, lambda *_: None), raising=False)
    answer = dispatcher.handle(frame_of(served.key, 2, body), client)
    assert sizes[0] > 1000
    assert isinstance(answer, Deferred)
    answer.result()
    assert requests[0].topics == []


def test_however_long_a_filter_of_groups_is_it_is_as_small_as_what_groups_bear(broker: Broker) -> None:
    asked: list[Any] = []
    broker.services.group_coordinator.list_groups = lambda *given: asked.append(given) or (ErrorCode.NONE, [])
    ctx: Any = SimpleNamespace(services=broker.services, may=lambda *_: True)
    unknown = [f"s{number}" for number in range(1000)]
    list_groups(ListGroupsRequest(states_filter=[*unknown, "STABLE"], types_filter=unknown), ctx)
    list_groups(ListGroupsRequest(), ctx)
    (states, types), nothing = asked
    assert {"stable"} < states and len(states) == 2
    assert len(types) == 1
    assert nothing == (set(), set())
