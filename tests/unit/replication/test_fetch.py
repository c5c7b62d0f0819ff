"""Fetch, from the handler to slices of the log: limits, waiting, epochs, sessions, followers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_zk.api.data import old_fetchers
from kafka_zk.api.dispatch import Dispatcher
from kafka_zk.api.error_form import Form
from kafka_zk.api.registry import ApiRegistry
from kafka_zk.log.retention import delete_old_segments
from kafka_zk.network.answer_queue import Deferred
from kafka_zk.network.pending import Pending
from kafka_zk.network.request_metrics import RequestMetrics
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.header import encode_request_header
from kafka_zk.protocol.messages.fetch import FETCH_REQUEST
from kafka_zk.protocol.types import NULL_UUID
from kafka_zk.record import batches
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.produced import Origin
from kafka_zk.replication.serving.reading import read
from kafka_zk.replication.serving.records_view import FetchParams, PartitionFetch, ReadUpTo
from tests.unit.log.given import T0, produced

from .broker import Broker, answered, fetch_request, offsets_in, topic_id

FETCH = 1


def code_of(response: Any) -> ErrorCode:
    return ErrorCode(answered(response).error_code)


@pytest.fixture
def led(broker: Broker) -> Broker:
    """Ten batches of one record each at offsets 0 to 9, all committed."""
    broker.lead()
    for _ in range(10):
        broker.produce()
    return broker


def test_a_consumer_reads_what_is_committed(led: Broker) -> None:
    answer = answered(led.fetch(4))
    assert offsets_in(answer) == [4, 5, 6, 7, 8, 9]
    assert (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset) == (10, 10, 0)
    assert answer.aborted_transactions is None


def test_a_fetch_that_began_without_quotas_is_not_charged_for_the_time_before_it(
    led: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    charged_ns: list[int] = []

    def charge(ctx: object, size_bytes: int, local_ns: int) -> int:
        charged_ns.append(local_ns)
        return 0

    read = led.services.replica_manager.fetch
    quotas = SimpleNamespace(fetch_throttle_ms=charge, most_fetch_bytes=lambda ctx: 1 << 30)

    def read_while_the_first_quota_comes(*how: Any) -> Any:
        monkeypatch.setattr(led.services, "quotas", quotas)
        return read(*how)

    monkeypatch.setattr(led.services.replica_manager, "fetch", read_while_the_first_quota_comes)
    led.fetch(4)
    led.fetch(4)
    assert charged_ns[0] == 0 < charged_ns[1] < 60 * 10**9


@pytest.mark.parametrize("version", [12, 9])
def test_a_bug_in_a_late_answer_is_told_to_the_consumer_and_not_to_the_producer(led: Broker, version: int) -> None:
    def fail(ctx: object, size_bytes: int, local_ns: int) -> int:
        raise RuntimeError("a bug in the quotas")

    waiting = led.fetch(10, min_bytes=1, max_wait_ms=60_000, version=version)
    assert isinstance(waiting, Pending)
    quotas: Any = SimpleNamespace(fetch_throttle_ms=fail)
    led.services.quotas = quotas
    assert answered(led.produce()).error_code == ErrorCode.NONE
    assert isinstance(waiting.error, RuntimeError)


def no_memory(*_: Any) -> Any:
    raise MemoryError


class Quotas:
    """What `fails` names does: the handler asks one, dispatch the other."""

    def __init__(self, fails: str = "") -> None:
        if fails:
            setattr(self, fails, no_memory)

    def most_fetch_bytes(self, ctx: object) -> int:
        return 1 << 20

    def fetch_throttle_ms(self, ctx: object, size_bytes: int, local_ns: int) -> int:
        return 0

    def throttle_ms(self, *_: object) -> int:
        return 0


def asked(offset: int, **how: int) -> memoryview:
    body = FETCH_REQUEST.encode(fetch_request(offset, **how), 12)
    return memoryview(bytearray(encode_request_header(FETCH, 12, 7, "c") + body))


@pytest.fixture
def client() -> Any:
    """A connection as dispatch sees one."""
    return SimpleNamespace(
        received_ns=0, sent_stamp=[0, 0], must_authenticate=False, principal="", client_host="", listener_name=""
    )


@pytest.fixture(params=[False, True], ids=["at once", "late"])
def is_late(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.parametrize("version", [12, 9, 2])
def test_an_answer_that_cannot_be_made_keeps_no_segment_open(
    led: Broker, monkeypatch: pytest.MonkeyPatch, version: int, is_late: bool
) -> None:
    """Retention frees nothing that is open."""
    quotas: Any = Quotas(fails="fetch_throttle_ms")
    if version > 2:
        led.services.quotas = quotas
    else:
        monkeypatch.setattr(old_fetchers, "_must_convert", no_memory)
    if is_late:
        waiting = led.fetch(10, min_bytes=1, max_wait_ms=60_000, version=version)
        led.produce()
        assert isinstance(waiting, Pending) and isinstance(waiting.error, MemoryError)
    else:
        with pytest.raises(MemoryError):
            led.fetch(0, version=version)
    assert holders_of(led) == 0


@pytest.mark.interpreted
@pytest.mark.parametrize("step", ["before it is encoded", "behind"])
def test_an_answer_that_dispatch_does_not_hand_on_keeps_no_segment_open(
    led: Broker, client: Any, step: str, is_late: bool
) -> None:
    served = led.registry.get(FETCH)
    assert served is not None
    registry = ApiRegistry()
    quotas: Any = Quotas()
    if step == "behind":
        served = replace(served, variant_of=no_memory)
    else:
        quotas = Quotas(fails="throttle_ms")
    registry.add(served)
    led.services.quotas = quotas
    dispatcher = Dispatcher(led.services, registry, RequestMetrics(led.metrics))
    if is_late:
        waiting = dispatcher.handle(asked(10, max_wait_ms=60_000), client)
        led.produce()
        assert isinstance(waiting, Deferred) and isinstance(waiting.error, MemoryError)
    else:
        with pytest.raises(MemoryError):
            dispatcher.handle(asked(0), client)
    assert holders_of(led) == 0


@pytest.mark.interpreted
def test_an_answer_that_cannot_be_encoded_nor_refused_gives_its_slices_back_once(led: Broker, client: Any) -> None:
    served = led.registry.get(FETCH)
    assert served is not None

    def unwritable(request: Any, ctx: Any) -> Any:
        response = served.handler(request, ctx)
        response.responses[0].topic = None
        return response

    registry = ApiRegistry()
    registry.add(replace(served, handler=unwritable, errors=Form(copied=("no_such_field",))))
    with pytest.raises(AttributeError, match="no_such_field"):
        Dispatcher(led.services, registry).handle(asked(0), client)
    assert holders_of(led) == 0


def holders_of(broker: Broker) -> int:
    """How many slices hold the only segment's file."""
    log = broker.partition().log
    assert log is not None
    return log.active.file._holders


def test_the_aborted_transactions_of_what_was_read_are_known_though_its_segment_goes(broker: Broker) -> None:
    broker.lead()
    log = broker.partition().log
    assert log is not None
    abort = EndTransactionMarker(ControlType.ABORT, 0)
    log.append_as_leader(produced("aborted", producer_id=1, epoch=0, sequence=0, transactional=True), leader_epoch=0)
    marker = build_marker(abort, producer_id=1, producer_epoch=0, timestamp_ms=T0)
    log.append_as_leader(memoryview(marker), leader_epoch=0, origin=Origin.COORDINATOR)
    log.roll()
    log.append_as_leader(produced("later"), leader_epoch=0)
    log.update_high_watermark(log.log_end_offset)
    log.flush()
    wanted = PartitionFetch("t", NULL_UUID, 0, 0, 1 << 20)
    params = FetchParams(-1, 0, 0, 1 << 20, ReadUpTo.LAST_STABLE_OFFSET, leader_only=True)
    found = read(broker.partition(), wanted, params, max_bytes=1 << 20, min_one=True)
    log.increment_log_start_offset(2)
    assert delete_old_segments(log, T0) == 1
    try:
        assert [(each.producer_id, each.first_offset) for each in found.aborted_transactions or ()] == [(1, 0)]
    finally:
        found.release()


def test_a_read_committed_consumer_gets_a_list_of_aborted_transactions(led: Broker) -> None:
    answer = answered(led.fetch(4, isolation=1))
    assert offsets_in(answer) == [4, 5, 6, 7, 8, 9]
    assert answer.aborted_transactions == []


def test_the_whole_batch_around_the_offset_is_returned(broker: Broker) -> None:
    broker.lead()
    broker.produce(5)
    assert offsets_in(answered(broker.fetch(3))) == [0, 1, 2, 3, 4]


def test_an_offset_outside_the_log_is_1_with_minus_one_everywhere(led: Broker) -> None:
    for offset in (-1, 11):
        answer = answered(led.fetch(offset))
        assert answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset) == (-1, -1, -1)
        assert answer.records == b""
        assert answer.aborted_transactions is None


def test_a_consumer_between_the_high_watermark_and_the_end_gets_nothing_yet(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    broker.produce(3)
    answer = answered(broker.fetch(1))
    assert (answer.error_code, answer.high_watermark, offsets_in(answer)) == (0, 0, [])


def test_rule_84_the_first_batch_is_returned_whole_however_large(led: Broker) -> None:
    assert offsets_in(answered(led.fetch(0, max_bytes=1, partition_max_bytes=1))) == [0]


def test_later_partitions_get_only_batches_that_fit(broker: Broker) -> None:
    broker.update_metadata({"t": {0: 1, 1: 1}})
    for index in (0, 1):
        broker.lead(index=index)
        broker.produce(1, index=index, size_bytes=100)
    request = fetch_request(0, max_bytes=250)
    request.topics[0].partitions.append(fetch_request(0, index=1).topics[0].partitions[0])
    first, second = broker.call(request, 12).responses[0].partitions
    assert offsets_in(first) == [0]
    assert offsets_in(second) == []


def test_limits_are_hard_up_to_version_2(led: Broker) -> None:
    answer = answered(led.fetch(0, partition_max_bytes=10, version=2))
    assert len(answer.records) <= 10 or isinstance(answer.records, bytes)


def test_unknown_names_are_3_and_unknown_ids_are_100(led: Broker) -> None:
    assert code_of(led.fetch(0, topic="nowhere")) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert code_of(led.fetch(0, index=4)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    answer = answered(led.fetch(0, topic="nowhere", by_id=True, version=13))
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert answer.aborted_transactions == []


def test_topics_are_named_by_id_from_version_13(led: Broker) -> None:
    response = led.fetch(0, by_id=True, version=13)
    assert response.responses[0].topic_id == topic_id("t")
    assert len(offsets_in(answered(response))) == 10


def test_rule_41_epochs_are_checked_before_roles(broker: Broker) -> None:
    broker.lead(replicas=(1, 2), epoch=5)
    broker.order(replicas=(1, 2), leader=2, epoch=6, partition_epoch=1)
    assert code_of(broker.fetch(0, leader_epoch=5, version=10)) is ErrorCode.FENCED_LEADER_EPOCH
    assert code_of(broker.fetch(0, leader_epoch=7, version=10)) is ErrorCode.UNKNOWN_LEADER_EPOCH
    assert code_of(broker.fetch(0, leader_epoch=6, version=10)) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_rule_42_consumers_may_read_from_a_follower_from_version_11_only(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    broker.order(replicas=(1, 2), leader=2, epoch=1, partition_epoch=1)
    assert code_of(broker.fetch(0, version=10)) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert code_of(broker.fetch(0, version=11)) is ErrorCode.NONE


def test_from_version_16_a_wrong_broker_names_the_leader(broker: Broker) -> None:
    broker.update_metadata({"t": {0: 2}})
    response = broker.fetch(0, by_id=True, version=16)
    assert code_of(response) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert answered(response).current_leader.leader_id == 2
    assert [node.node_id for node in response.node_endpoints] == [2]


# --- waiting ---------------------------------------------------------------------------------------------------------


def test_a_fetch_at_the_end_waits_for_the_next_record(led: Broker) -> None:
    pending = led.fetch(10, max_wait_ms=500)
    assert isinstance(pending, Pending) and not pending.is_done
    led.produce()
    assert offsets_in(answered(pending)) == [10]


def test_a_fetch_waits_until_min_bytes_are_there(led: Broker) -> None:
    one = led.partition().leader_log().active.size_bytes // 10
    pending = led.fetch(10, max_wait_ms=500, min_bytes=one * 3)
    for _ in range(2):
        led.produce()
        assert not pending.is_done
    led.produce()
    assert offsets_in(answered(pending)) == [10, 11, 12]


def test_at_the_end_of_max_wait_a_fetch_answers_with_what_there_is(led: Broker) -> None:
    pending = led.fetch(10, max_wait_ms=500, min_bytes=10_000)
    led.produce()
    led.clock.advance(499)
    assert not pending.is_done
    led.clock.advance(1)
    assert offsets_in(answered(pending)) == [10]


def test_a_fetch_in_an_older_segment_does_not_wait_for_what_cannot_come(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"segment.bytes": "200"})
    broker.lead()
    for _ in range(3):
        broker.produce(1, size_bytes=80)
    assert offsets_in(answered(broker.fetch(0, max_wait_ms=500, min_bytes=100_000))) == [0]
    assert isinstance(broker.fetch(2, max_wait_ms=500, min_bytes=100_000), Pending)
    broker.close()


def test_an_error_is_answered_without_waiting(led: Broker) -> None:
    assert code_of(led.fetch(99, max_wait_ms=500)) is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_waiting_fetch_ends_when_leadership_moves(led: Broker) -> None:
    pending = led.fetch(10, max_wait_ms=500, version=10)
    led.order(replicas=(1, 2), leader=2, epoch=1, partition_epoch=1)
    assert code_of(pending) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_waiting_consumer_is_woken_by_the_high_watermark_not_by_the_append(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    pending = broker.fetch(0, max_wait_ms=500)
    broker.produce()
    assert not pending.is_done
    broker.fetch(0, replica=2, by_id=True, version=17)
    assert not pending.is_done
    broker.fetch(1, replica=2, by_id=True, version=17)
    assert offsets_in(answered(pending)) == [0]


# --- sessions --------------------------------------------------------------------------------------------------------


def test_an_incremental_fetch_answers_only_news(led: Broker) -> None:
    first = led.fetch(10, session=(0, 0))
    assert first.session_id > 0
    assert len(first.responses) == 1
    request = fetch_request(10, session=(first.session_id, 1))
    request.topics = []
    assert led.call(request, 12).responses == []
    led.produce()
    request = fetch_request(10, session=(first.session_id, 2))
    request.topics = []
    assert offsets_in(answered(led.call(request, 12))) == [10]


def test_session_errors_stand_at_the_top_with_session_id_zero(led: Broker) -> None:
    response = led.fetch(0, session=(5, 3))
    assert (response.error_code, response.session_id, response.responses) == (70, 0, [])


# --- followers -------------------------------------------------------------------------------------------------------


def follower(broker: Broker, offset: int, **how: Any) -> Any:
    return broker.fetch(offset, by_id=True, version=17, **{"replica": 2, **how})


def test_a_follower_reads_up_to_the_log_end(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    broker.produce(3)
    answer = answered(follower(broker, 0))
    assert offsets_in(answer) == [0, 1, 2]
    assert answer.high_watermark == 0


def test_a_stranger_that_fetches_as_a_follower_is_refused(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    assert code_of(follower(broker, 0, replica=3)) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert code_of(follower(broker, 0, replica=3, leader_epoch=0)) is ErrorCode.UNKNOWN_LEADER_EPOCH


def test_rule_36_a_diverging_fetch_gets_no_records_and_is_no_progress(broker: Broker) -> None:
    partition = broker.lead(replicas=(1, 2), epoch=3)
    broker.produce(5)
    broker.order(replicas=(1, 2), epoch=6, partition_epoch=1)
    broker.produce(5)
    answer = answered(follower(broker, 8, last_epoch=4))
    assert (answer.error_code, answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset) == (0, 3, 5)
    assert answer.records == b""
    assert partition.followers[2].log_end_offset == -1
    assert partition.high_watermark == 0


def test_rule_36_below_the_log_start_is_out_of_range_whatever_the_history(broker: Broker) -> None:
    partition = broker.lead(replicas=(1, 2), isr=(1,), epoch=3)
    broker.produce(5)
    broker.order(replicas=(1, 2), isr=(1,), epoch=6, partition_epoch=1)
    broker.produce(5)
    log = partition.leader_log()
    log.update_high_watermark(10)
    log.increment_log_start_offset(5)
    answer = answered(follower(broker, 2, last_epoch=4))
    assert (code_of(follower(broker, 2, last_epoch=4)), answer.diverging_epoch.epoch) == (
        ErrorCode.OFFSET_OUT_OF_RANGE,
        -1,
    )


def test_the_same_history_does_not_diverge(broker: Broker) -> None:
    broker.lead(replicas=(1, 2), epoch=3)
    broker.produce(5)
    answer = answered(follower(broker, 5, last_epoch=3))
    assert (answer.error_code, answer.diverging_epoch.epoch) == (0, -1)


def test_an_epoch_that_the_leader_does_not_know_is_out_of_range(broker: Broker) -> None:
    broker.lead(replicas=(1, 2), epoch=3)
    assert code_of(follower(broker, 0, last_epoch=9)) is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_client_in_another_rack_is_sent_to_a_follower_in_its_own(tmp_path: Path) -> None:
    selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    broker = Broker(tmp_path, {"replica.selector.class": selector})
    broker.lead(replicas=(1, 2))
    broker.produce(3)
    follower(broker, 0)
    follower(broker, 3)
    elsewhere = answered(broker.fetch(0, rack="rack-2", max_wait_ms=500))
    assert (elsewhere.preferred_read_replica, elsewhere.records) == (2, b"")
    here = answered(broker.fetch(0, rack="rack-1"))
    assert (here.preferred_read_replica, offsets_in(here)) == (-1, [0, 1, 2])
    broker.close()


# --- old versions ----------------------------------------------------------------------------------------------------


def test_fetchers_of_old_versions_get_old_message_sets(led: Broker) -> None:
    for version, magic in ((1, 0), (3, 1)):
        answer = answered(led.fetch(4, version=version))
        assert {batch.header.magic for batch in batches(answer.records)} == {magic}
        assert [batch.header.base_offset for batch in batches(answer.records)] == [4, 5, 6, 7, 8, 9]


def test_down_conversion_can_be_forbidden(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"message.downconversion.enable": "false"})
    broker.lead()
    broker.produce()
    assert code_of(broker.fetch(0, version=3)) is ErrorCode.UNSUPPORTED_VERSION
    assert code_of(broker.fetch(0, version=4)) is ErrorCode.NONE
    broker.close()


def test_zstd_topics_need_version_10(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"compression.type": "zstd"})
    broker.lead()
    broker.produce()
    assert code_of(broker.fetch(0, version=9)) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert code_of(broker.fetch(0, version=10)) is ErrorCode.NONE
    broker.close()


def test_every_slice_that_is_not_answered_is_given_back(led: Broker) -> None:
    file = led.partition().leader_log().active.file
    holders = file._holders
    pending = led.fetch(0, max_wait_ms=500, min_bytes=1_000_000)
    assert isinstance(pending, Pending)
    led.produce()
    assert file._holders == holders
    led.clock.advance(500)
    assert file._holders == holders + 1
    offsets_in(answered(pending))
    assert file._holders == holders
